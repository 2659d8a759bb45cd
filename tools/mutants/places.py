"""Where faults are drawn from: places where a wrong number would not be seen, each with the tests that hold it.

These are files, or single tests of one.
"""

from __future__ import annotations

RANDOM = "tests/base/test_random_robots.py"  # of whose two thousand robots some are enough
BASE = (
    "tests/base/test_rules.py",
    "tests/base/test_limits.py",
    "tests/base/test_facts.py",
    "tests/base/test_lettered_robots.py",
    "tests/base/test_perturbed_robots.py",
    "tests/base/test_loops.py",
    "tests/base/test_merged_sets.py",
    *(f"{RANDOM}::test_every_method_finds_the_rank_and_the_same_space[{start}]" for start in (0, 400, 800)),
    f"{RANDOM}::test_numeric_method_and_regrouped_torques[0]",
    f"{RANDOM}::test_zero_gravity_needs_the_completion",
)
SPREAD = (
    "tests/identification/test_noise.py",
    "tests/identification/test_coverage.py",
    "tests/identification/test_evidence.py",
    "tests/identification/test_noise_coverage.py",
)
AUDIT = (
    "tests/identification/test_audit.py",
    "tests/identification/test_audit_thresholds.py",
    "tests/identification/test_audit_motion.py",
    "tests/identification/test_audit_values.py",
    "tests/identification/test_commands.py::test_an_audit_says_what_the_commands_are_like",
)
LOADS = ("tests/identification/test_payload.py", "tests/identification/test_payload_body.py", *SPREAD[:2])
PLACES: dict[str, tuple[str, ...]] = {
    "base/closed_form.py": BASE,
    "base/mlc.py": BASE,
    "base/numeric.py": BASE,
    "base/sets.py": BASE,
    "base/certificate.py": BASE,
    "base/derive.py": BASE,
    "identification/evidence/intervals.py": SPREAD,
    "identification/evidence/noise.py": SPREAD,
    "identification/evidence/plausibility.py": ("tests/identification/test_plausibility.py", *SPREAD[2:]),
    "identification/evidence/verdict.py": ("tests/identification/test_verdict_limits.py", *SPREAD[2:]),
    "identification/loads/payload.py": LOADS,
    "identification/loads/gains.py": LOADS,
    "identification/logs/repair.py": (*AUDIT, "tests/identification/test_recording.py"),
    "identification/audits/time.py": AUDIT,
    "identification/audits/values.py": AUDIT,
    "identification/audits/motion.py": AUDIT,
    "robot/formats/snap.py": ("tests/robot/test_snap.py", "tests/robot/test_urdf.py"),
    "simulation/online_payload.py": ("tests/simulation/test_online_payload.py",),
    "simulation/change.py": ("tests/simulation/test_online_payload.py",),
}


def module_name(file: str) -> str:
    """Name of the module of a source."""
    return "minertia." + file.removesuffix(".py").replace("/", ".")
