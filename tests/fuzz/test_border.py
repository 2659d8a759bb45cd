"""The public functions on what no one should give them: a result, or one sentence, and never a warning."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minertia as mi
from minertia.codegen.generate import count_programs, generate
from minertia.codegen.options import CodeModel
from minertia.excitation.excite import excite
from minertia.excitation.limits import motion_limits
from minertia.io.errors import InputError, MinertiaError, SingularMass
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot
from minertia.simulation.rehearsal import rehearse
from tests.fuzz.guard import assert_reads_or_says
from tests.identification.logs import motion
from tests.test_house_rules import SPACES, public

PUMA = mi.read_robot("puma560")
TAKES_NAMES = {"identify", "draft_campaign", "read_campaign"}
STATES: dict[str, int] = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "gravity_torques": 1, "velocity_torques": 2, "mass_matrix": 1,
    "kinetic_energy": 2, "potential_energy": 1, "torque_regressor": 3, "coriolis_matrix": 2, "jacobian": 1,
    "forward_kinematics": 1, "momentum_regressor": 2, "power_regressor": 2, "slotine_li_regressor": 4,
    "slotine_li_torques": 4, "inverse_dynamics_derivatives": 3, "forward_dynamics_derivatives": 3,
    "actuation_matrix": 1, "coordinate_efforts": 2, "passive_start": 1,
}  # fmt: skip


def odd_values() -> Iterator[Any]:
    ones = np.ones(6)
    yield from (None, 5, -1, True, "abc", b"abcdef", object(), len, {}, set(), [], [1] * 6, (1,) * 6, 10**400)
    yield from (ones, ones[:5], np.ones((3, 6)), np.ones((0, 6)), np.zeros(0), np.array(1.0), np.ones((2, 2, 6)))
    yield from (np.ones((6, 6)).T, np.ones((2, 12))[:, ::2], np.ones(12)[::2], np.ma.masked_array(ones))
    yield from (ones * 1j, ones.astype(object), np.array(["a"] * 6), ones.astype(bool), ones.astype("f2"))
    yield from (ones.astype("g"), np.array(["2020"] * 6, "M8[D]"), ones * np.nan, ones * np.inf, ones * 1e308)
    yield from ([[1] * 6, [1] * 5], [None] * 6, ["a"] * 6, [[]] * 6, [10**400] * 6, iter([1] * 6))


@pytest.mark.parametrize("name", STATES)
def test_states_of_every_kind(name: str) -> None:
    function: Callable[..., Any] = getattr(mi.dynamics, name)
    for place in range(STATES[name]):
        for odd in odd_values():
            given: list[Any] = [np.ones(6)] * STATES[name]
            given[place] = odd
            assert_reads_or_says(lambda given=given: function(PUMA, *given))


def test_parameters_gravity_and_columns_of_every_kind() -> None:
    state = [np.ones(6)] * 3
    full = PUMA.parameters()
    for odd in (*odd_values(), [{}] * 6, [{"M": 1.0}] * 6, full[:5], [x | {"M": "a"} for x in full]):
        assert_reads_or_says(lambda odd=odd: mi.inverse_dynamics(PUMA, *state, parameters=odd))
        assert_reads_or_says(lambda odd=odd: mi.inverse_dynamics(PUMA, *state, gravity=odd))
        assert_reads_or_says(lambda odd=odd: mi.dynamics.torque_regressor(PUMA, *state, columns=odd))
    huge = [x | dict.fromkeys(x, 1e308) for x in full]
    assert_reads_or_says(lambda: mi.inverse_dynamics(PUMA, *state, parameters=huge))


def test_every_public_function_that_takes_a_robot_says_how_to_read_one(tmp_path: Path) -> None:
    """Those that do not read the robot themselves name the function that does."""
    state = [np.ones(6)] * 4
    calls: dict[str, Callable[[Any], Any]] = {
        **{name: lambda r, name=name: getattr(mi.dynamics, name)(r, *state[: STATES[name]]) for name in STATES},
        "base_parameters": mi.base_parameters,
        "check_robot": mi.check_robot,
        "write_robot": lambda r: mi.write_robot(r, tmp_path / "r.toml"),
        "audit": lambda r: mi.audit(mi.Recording(**{k: v for k, v in motion(2).items() if k in ("t", "q")}), r),
        "derive_symbolic": mi.base.derive_symbolic,
        "read_blocks": lambda r: list(mi.identification.read_blocks("run.csv", r)),
        "read_recording": lambda r: mi.read_recording("run.csv", r),
        "excite": excite,
        "motion_limits": motion_limits,
        "generate": lambda r: generate(r, None),
        "count_programs": count_programs,
        "rehearse": rehearse,
        "build_program": lambda r: mi.codegen.build_program(r, "inverse_dynamics"),
        "to_mujoco": mi.to_mujoco,
        "to_pinocchio": mi.to_pinocchio,
        "calibrate": lambda r: mi.calibrate(r, "readings.csv"),
        "geometric_base_parameters": mi.calibration.geometric_base_parameters,
        "plan_postures": lambda r: mi.calibration.plan_postures(r, 10),
        "rehearse_calibration": mi.calibration.rehearse_calibration,
        "wrench": lambda r: mi.wrench(r, "poses.csv"),
    }
    functions = {name: value for space in SPACES for name, value in public(space).items() if callable(value)}
    takes_robot = {name for name, function in functions.items() if _takes_robot(function)}
    assert takes_robot - TAKES_NAMES <= set(calls), "a public function is missing here"
    for name in calls:
        for wrong in ("puma650", Path("arm.urdf")):  # no bundled name, and no file
            with pytest.raises(MinertiaError, match=str(wrong)):
                calls[name](wrong)
        with pytest.raises(InputError, match="robot must be a Robot, not int; read_robot reads one"):
            calls[name](5)


def _takes_robot(function: Any) -> bool:
    return not inspect.isclass(function) and "robot" in inspect.signature(function).parameters


def test_logs_and_models_by_name() -> None:
    for call, reader in (
        (lambda: mi.audit("run.csv"), r"read_recording\('run.csv'\)"),
        (lambda: mi.identification.repair_log("run.csv"), r"read_recording\('run.csv'\)"),
        (lambda: mi.identification.filter_log("run.csv"), r"read_recording\('run.csv'\)"),
        (lambda: mi.build_problem("run.toml"), r"read_campaign\('run.toml'\)"),
        (lambda: mi.significance("run.toml"), r"read_campaign\('run.toml'\)"),
        (lambda: mi.identify_gains("run.toml", "run.csv", None), r"read_campaign\('run.toml'\)"),
        (lambda: mi.solve("run.toml"), r"build_problem\('run.toml'\)"),
        (lambda: mi.judge(5, 5), "problem must be a Problem, not int; build_problem reads one"),
        (lambda: mi.write_model("model.toml", "other.toml"), r"read_model\('model.toml'\)"),
        (lambda: mi.identify(PUMA, 5), "a log must be the path of a file, a recording or a motion, not int"),
        (lambda: mi.identify(PUMA, [None]), "a log must be the path of a file, a recording or a motion, not NoneType"),
        (lambda: mi.identify(5, "run.csv"), "a campaign must be a robot, a path or the name of a bundled robot"),
        (lambda: mi.identify_payload("run.csv", "loaded.csv"), "'run.csv' is not an identified model"),
    ):
        with pytest.raises(InputError, match=reader):
            call()
    for log in ("run.csv", ["run.csv"], [Path("run.csv")]):
        with pytest.raises(mi.MinertiaError, match="run.csv: there is no such file"):
            mi.identify(PUMA, log)


NO_LOGS: tuple[Any, ...] = (
    None, 5, [None], [5], {}, set(), b"run.csv", np.ones(3), "", [""], "no-such.csv", ["no-such.csv"], Path("no.csv"),
    len,
)  # fmt: skip


@pytest.mark.parametrize("odd", NO_LOGS, ids=[str(k) for k in range(len(NO_LOGS))])
def test_identify_takes_logs_or_says_what_they_are(odd: object) -> None:
    for robot in (PUMA, "puma560"):
        assert assert_reads_or_says(lambda robot=robot: mi.identify(robot, odd)) is not None
    assert assert_reads_or_says(lambda: mi.identify(odd, "run.csv")) is not None  # type: ignore[arg-type]


# ---------------------------------------------------------------------- joints without inertia


def without_inertia(*joints: int) -> Robot:
    """The PUMA 560 with nothing at some joints (from 1)."""
    return PUMA.with_parameters({f"{symbol}{j}": 0.0 for j in joints for symbol in (*LINK_SYMBOLS, "IA")})


def test_forward_dynamics_names_the_joints_without_inertia(tmp_path: Path) -> None:
    state = [np.full((3, 6), 0.3)] * 3
    for joints in ((6,), (5, 6)):
        robot = without_inertia(*joints)
        names = [robot.coordinate_names[j - 1] for j in joints]
        for call in (
            lambda robot=robot: mi.forward_dynamics(robot, *state),
            lambda robot=robot: mi.forward_dynamics(robot, *(x[0] for x in state)),
            lambda robot=robot: generate(
                robot, tmp_path, programs=["forward_dynamics"], model=CodeModel(rotors=True, friction=True)
            ),
        ):
            with pytest.raises(SingularMass, match="no mass or inertia") as caught:
                call()
            assert f"'{names[-1]}'" in str(caught.value)
    found = mi.forward_dynamics(without_inertia(3), *state)  # what it carries has inertia
    assert np.isfinite(found).all()


def test_forward_dynamics_goes_on_where_something_is_not_a_number() -> None:
    state = [np.full((3, 6), 0.3) for _ in range(3)]
    state[0][1, 2] = np.nan
    found = mi.forward_dynamics(PUMA, *state)
    assert np.isnan(found[1]).any() and np.isfinite(found[[0, 2]]).all()
