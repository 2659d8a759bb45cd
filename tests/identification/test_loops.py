"""Identification of robots with loops: passive joints move by closing, and their friction shows at the coordinates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.identification.closed_loop.groups import require_simple
from minertia.identification.logs.recording import Recording
from minertia.robot.robot import Robot
from tests.loop_robots import five_bar, four_bar

DRIVES = {"IA": 0.2, "FV": 0.3, "FC": 0.1, "OFF": 0.05}
EFFECTS = ("rotor", "viscous", "coulomb", "offset", "FV2", "FV3")


def with_friction(robot: Robot) -> Robot:
    return replace(robot, effects=tuple({"FV": 0.2} if joint.is_passive else DRIVES for joint in robot.joints))


def recording(robot: Robot, k: int, size: float = 1.0) -> Recording:
    """Sums of sines of the coordinates, efforts by the projected dynamics."""
    t = np.arange(0, 12, 0.02)
    phase = k + np.arange(robot.n)[:, None] + np.arange(3)
    w = 2 * np.pi * np.array([0.09, 0.31, 0.73]) * (1 + 0.1 * k)
    a = size * np.array([2.2, 0.5, 0.2])
    angle = t[:, None, None] * w + phase
    q, qd, qdd = ((f * a).sum(axis=2) for f in (np.sin(angle), w * np.cos(angle), -(w**2) * np.sin(angle)))
    return Recording(t, q, mi.inverse_dynamics(robot, q, qd, qdd), qd, qdd)


def test_a_four_bar_is_identified_with_friction_of_its_passive_joints(tmp_path: Path) -> None:
    true = with_friction(four_bar())
    known = true.without_effects(["rotors", "friction"])
    found = mi.identify(known, [recording(true, 0)], validate=[recording(true, 3)], effects=EFFECTS, estimator="wls")
    values = {p.name: p.value for p in found.parameters}
    assert len(values) == 13
    assert [values["FV2"], values["FV3"]] == pytest.approx([0.2, 0.2], abs=0.01)
    model = found.model()
    model.save(tmp_path / "model.toml")
    again = mi.read_model(tmp_path / "model.toml").robot
    assert again.open_cuts
    q = np.linspace(-1, 1, 7)[:, None]
    wanted = mi.inverse_dynamics(true, q, q, q)
    assert np.allclose(mi.inverse_dynamics(again, q, q, q), wanted, atol=1e-3 * np.abs(wanted).max())


def test_more_motors_than_coordinates_are_identified_from_all_of_their_efforts() -> None:
    true = replace(five_bar(), joints=tuple(replace(j, has_motor=j.name == "hinge3") for j in five_bar().joints))
    true = replace(true, effects=tuple({"IA": 0.2} if j.has_motor or not j.is_passive else {} for j in true.joints))
    log = recording(true, 0, 0.15).select(slice(0, 250))
    G = mi.dynamics.actuation_matrix(true, log.q)
    preload = np.linalg.svd(np.swapaxes(G, 1, 2))[2][:, -1] * (2.0 + np.sin(log.t))[:, None]
    motors = np.linalg.pinv(np.swapaxes(G, 1, 2)) @ log.tau[:, :, None]
    tau = mi.dynamics.coordinate_efforts(true, log.q, motors[:, :, 0] + preload)
    bare = true.without_effects(["rotors"])
    found = mi.identify(bare, [replace(log, tau=tau)], effects=("rotor", "IA4"), estimator="wls")
    values = {p.name: p.value for p in found.parameters}
    assert true.joints[3].has_motor and values["IA4"] == pytest.approx(0.2, abs=0.01)


@pytest.mark.slow
def test_effects_are_chosen_and_set_ups_tried_only_where_loops_close() -> None:
    """Other signs and zeros of the joints would take the loop apart; they are no explanation and no error."""
    true = with_friction(five_bar())
    found = mi.identify(true, [recording(true, 0, 0.15)])
    assert found.verdict.word == "good"
    assert not any(name in p.name for p in found.parameters for name in ("FV2", "FC2", "IA2"))


@pytest.mark.parametrize("name, said", [("five_bar", "has closed loops"), ("palletiser", "as in a parallelogram")])
def test_fits_of_commands_say_what_robots_with_loops_need(name, said):
    with pytest.raises(mi.MinertiaError, match=f"{said}.*log its motors' efforts"):
        require_simple(mi.read_robot(name))
