"""Verbs take a robot, the path of its file, a bundled name, or an identified model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minertia as mi
from tests.arm import recorded_arm

SMALL, WHOLE = "planar2r", "puma560_physical"  # without masses, and with them
Q = np.linspace(0.3, -0.4, 6)
VERBS: dict[str, Callable[[Any], Any]] = {
    "check_robot": lambda robot: len(mi.check_robot(robot)),
    "base_parameters": lambda robot: mi.base_parameters(robot).names,
    "derive_symbolic": lambda robot: str(mi.base.derive_symbolic(robot)),
    "inverse_dynamics": lambda robot: mi.inverse_dynamics(robot, Q, Q, Q).tolist(),
    "forward_dynamics": lambda robot: mi.forward_dynamics(robot, Q, Q, Q).tolist(),
    **{
        name: lambda robot, name=name: np.asarray(getattr(mi.dynamics, name)(robot, Q)).tolist()
        for name in ("mass_matrix", "gravity_torques", "potential_energy", "jacobian", "actuation_matrix")
    },
    "coordinate_efforts": lambda robot: mi.dynamics.coordinate_efforts(robot, Q, Q).tolist(),
    "passive_start": lambda robot: mi.dynamics.passive_start(robot, Q).tolist(),
    "motion_limits": lambda robot: mi.motion_limits(robot, velocity=1.0).velocity.tolist(),
    "generate": lambda robot: dict(mi.generate(robot, None, programs="gravity").counts["gravity"]),
    "build_program": lambda robot: mi.codegen.build_program(robot, "gravity").name,
    "show": lambda robot: mi.show(robot).title,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_bundled_name_and_a_path_are_robots(verb: str, tmp_path: Path) -> None:
    name = SMALL if verb == "derive_symbolic" else WHOLE
    robot = mi.read_robot(name)
    mi.write_robot(name, tmp_path / "same.toml")
    wanted = VERBS[verb](robot)
    for given in (name, tmp_path / "same.toml", str(tmp_path / "same.toml")):
        assert VERBS[verb](given) == wanted
    for given in (None, 3, [robot]):
        with pytest.raises(mi.MinertiaError):
            VERBS[verb](given)


def test_a_model_is_a_robot_with_what_was_identified(tmp_path: Path) -> None:
    folder = recorded_arm(tmp_path)
    asked = mi.Campaign(folder / "arm.urdf", folder / "a.csv", effects=("viscous", "coulomb"))
    model = mi.identify(asked).model()
    motion = (Q[:2], Q[:2], Q[:2])
    for found in (mi.generate(model, None, programs="inverse_dynamics"), mi.generate(model.robot, None)):
        assert {"FV1", "FC1", "FV2", "FC2"} <= set(found.effects)
    assert mi.inverse_dynamics(model, *motion) == pytest.approx(mi.inverse_dynamics(model.robot, *motion))
    model.save(tmp_path / "model.toml")
    same = mi.compare(tmp_path / "model.toml", model)
    assert not same.apart
