"""Control in the plant: what published experiments found must be found again (needs MuJoCo)."""

from __future__ import annotations

import numpy as np
import pytest

from minertia import read_robot
from minertia.dynamics import model as dynamics
from minertia.excitation.fourier import Fourier
from minertia.io.errors import Infeasible
from minertia.simulation.control_model import control_model
from minertia.simulation.moves import joint_move, point_to_point

pytest.importorskip("mujoco")
from minertia.simulation.plant import Plant
from minertia.simulation.tracking import (
    Gains,
    compare_feedback,
    compare_update_rates,
    open_loop_moves,
    two_tasks,
)

POSTURE = np.array([0, 1.2, -1.5, 0, 0, 0])


@pytest.fixture(scope="module")
def puma():
    return read_robot("puma560_physical")


@pytest.fixture(scope="module")
def plant(puma):
    return Plant(puma, period=2e-3, substeps=2)


@pytest.fixture(scope="module")
def identified(puma):
    """Parameters with errors of 2 %, as an identification leaves them."""
    rng = np.random.default_rng(0)
    values = puma.parameter_vector(True, True) * (1 + 0.02 * rng.normal(size=len(puma.columns(True, True))))
    return control_model(puma.with_parameters(values))


def test_control_model_is_the_dynamics(puma):
    model = control_model(puma)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 6))
    tau = model.rigid(q, qd, qdd) + model.friction(q, qd, qdd)
    np.testing.assert_allclose(tau, dynamics.inverse_dynamics(puma, q, qd, qdd), atol=1e-9)
    D = model.mass_matrix(q)
    np.testing.assert_allclose(D, dynamics.mass_matrix(puma, q), atol=1e-10)
    parts = D @ qdd + model.velocity(q, qd) + model.gravity(q)
    np.testing.assert_allclose(parts, model.rigid(q, qd, qdd), atol=1e-9)


def test_computed_torque_beats_pd_on_every_joint(plant, identified):
    family = Fourier(2.0, 3)
    motion = family.from_free(POSTURE, 0.3 * np.random.default_rng(1).normal(size=(6, family.free)))
    table = compare_feedback(plant, identified, motion.sample(1001))
    best, gravity, alone = (table.row(name).rms for name in ("computed torque", "PD + gravity", "PD alone"))
    assert all(a < 0.5 * b for a, b in zip(best, gravity, strict=True))
    assert sum(gravity) < sum(alone)
    assert "computed torque" in str(table) and len(table.to_dict()["rows"]) == 3


@pytest.mark.parametrize("groups", [([0, 1, 2],), pytest.param(([0], [1], [2]), marks=pytest.mark.slow)], ids=len)
def test_open_loop_as_published(puma, identified, groups):
    """Fast moves of 90 degrees stay within 10 %; slow ones need gravity compensation on line."""
    plant = Plant(puma, period=4e-3, substeps=4)
    for table in open_loop_moves(plant, identified, POSTURE, groups, speed=np.pi):
        assert max(table.row("computed").relative) < 0.10
    for table in open_loop_moves(plant, identified, POSTURE, [g for g in groups if 1 in g], speed=np.pi / 6):
        assert max(table.row("gravity on-line").largest) < 0.5 * max(table.row("computed").largest)


def test_error_grows_with_the_background_period(plant, puma):
    family = Fourier(1.5, 3)
    motion = family.from_free(POSTURE, 0.3 * np.random.default_rng(1).normal(size=(6, family.free)))
    table = compare_update_rates(plant, control_model(puma), motion.sample(751), (1, 10, 60))
    errors = [sum(row.rms[:3]) for row in table.rows]
    assert errors[0] < errors[1] < errors[2]
    with pytest.raises(Infeasible):
        two_tasks(control_model(puma), Gains(), 0)


def test_moves():
    trajectory = joint_move([0.0, 1.0], [1], np.pi / 2, np.pi)
    assert np.abs(trajectory.qd).max() == pytest.approx(np.pi, rel=1e-3)
    np.testing.assert_allclose(trajectory.q[-1], [0, 1 + np.pi / 2])
    np.testing.assert_allclose(trajectory.qdd[[0, -1]], 0, atol=1e-9)
    with pytest.raises(Infeasible):
        point_to_point([0], [1], 0)
    with pytest.raises(Infeasible):
        joint_move([0], [0], 1.0, 0.0)
