"""Results in sentences: what a certificate says, what a class means."""

from __future__ import annotations

from minertia.base.grouping import BaseParameters

CLASS_WORDS = {
    "alone": "can be found by itself",
    "combination": "shows only in sums with others",
    "none": "never shows in any joint effort",
}


def certificate_sentences(base: BaseParameters) -> tuple[str, ...]:
    """What was checked and what came out, one sentence each."""
    c = base.certificate
    verdict = "so none is missing and none is superfluous" if c.rank == base.count else "which contradicts the set"
    doubt = "the rank is beyond doubt" if c.is_clear else "the rank is doubtful: look for nearly aligned axes"
    return (
        f"Rank: at {c.states} random states (seed {c.seed}) the regressor over all {len(base.columns)} standard "
        f"parameters has rank {c.rank} for {base.count} base parameters, {verdict}.",
        f"Gap: the smallest singular value that counts is {c.gap:.1e} times the largest that does not; {doubt}.",
        "Reconstruction: efforts computed from the base parameters differ from those of all standard parameters "
        f"by at most {c.error:.1e} of the largest regressor entry.",
        _numeric_sentence(base),
    )


def _numeric_sentence(base: BaseParameters) -> str:
    numeric = [name for name, flag in zip(base.names, base.is_numeric, strict=True) if flag]
    if not numeric:
        return "Relations: all of them follow from the rules; none had to be added numerically."
    names = ", ".join(numeric[:8]) + (f" and {len(numeric) - 8} more" if len(numeric) > 8 else "")
    return f"Relations: {len(numeric)} hold coefficients found numerically, for this robot's numbers only ({names})."
