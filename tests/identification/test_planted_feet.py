"""How many values feet that never lift hide: the numbers of the warnings against numerical ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.identification.campaigns.floating import contact_jacobian, hidden_by, positions, projections
from minertia.identification.problem.linear import linear_model
from minertia.options import ContactOptions
from tests.identification.planted_legs import contacts, quadruped
from tests.identification.planted_standing import PlantedStanding


def rank_of_planted(robot: mi.Robot, feet: Sequence[ContactOptions], *, measured: bool, samples: int = 60) -> int:
    """Numerical rank of the equations of all coordinates while feet are at rest under gravity of any direction."""
    rng = np.random.default_rng(0)
    q, v, dv = (rng.normal(size=(samples, robot.n + 6 * k)) for k in (0, 1, 1))
    level = np.broadcast_to(np.eye(3), (samples, 3, 3))

    def jacobian(q: np.ndarray) -> np.ndarray:
        return np.concatenate([contact_jacobian(robot, foot, positions(q), level) for foot in feet], axis=1)

    J, step = jacobian(q), 1e-5
    back = np.linalg.pinv(J)
    v = v - (back @ (J @ v[:, :, None]))[:, :, 0]
    rate = (jacobian(q + step * v[:, 6:]) - jacobian(q - step * v[:, 6:])) / (2 * step)
    gravity, push = rng.normal(size=(samples, 3)), []
    for foot in feet:
        push += [gravity, 0 * gravity] if foot.kind == "surface" else [gravity]
    wanted = np.concatenate(push, axis=1)[:, :, None] - rate @ v[:, :, None]
    dv = dv + (back @ (wanted - J @ dv[:, :, None]))[:, :, 0]
    dv[:, :3] += np.cross(v[:, 3:6], v[:, :3])
    v[:, :3] = 0.0
    Y = linear_model(robot, ()).columns(positions(q), v, dv)
    Y = Y if measured else projections(J, np.ones(robot.n_velocity)) @ Y
    size = np.linalg.norm(Y, axis=(0, 1))
    s = np.linalg.svd(Y.reshape(-1, Y.shape[2]) / np.maximum(size, 1e-5 * size.max()), compute_uv=False)
    return int(np.sum(s > 1e-4 * s[0]))


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("kind", ["points", pytest.param("surfaces", marks=pytest.mark.slow)])
def test_counts_of_what_planted_feet_hide(kind: str, measured: bool, tmp_path: Path) -> None:
    if kind == "points":
        robot, feet = quadruped(), contacts(forces=measured)
    else:
        pytest.importorskip("mujoco")
        planted = PlantedStanding.drawn("humanoid", 0)
        robot, feet = planted.robot(tmp_path), planted.contacts(forces=measured)
    hidden = sum(hidden_by(foot, is_measured=measured)[0] for foot in feet)
    assert rank_of_planted(robot, feet, measured=measured) == 10 + 7 * robot.n - hidden


def test_a_written_robot_says_that_contact_points_change(tmp_path: Path) -> None:
    told = [note.text for note in mi.write_robot(quadruped(), tmp_path / "legs.urdf")]
    assert sum("such as `at` of a [[contact]], differ" in text for text in told) == 1
    again = mi.write_robot(mi.read_robot(tmp_path / "legs.urdf", base="floating"), tmp_path / "again.urdf")
    assert not any("[[contact]]" in note.text for note in again)
