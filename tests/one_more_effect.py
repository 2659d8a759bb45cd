"""Run by `test_one_more_effect.py` with three more rows in the table of effects.

Everything that computes with effects must have them: nothing here or in the package is told of them but by their rows.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import minertia
from minertia import Campaign, read_robot
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.dynamics.model import forward_dynamics, inverse_dynamics
from minertia.fleet.columns import column_set
from minertia.fleet.levels import DRY, Levels
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.logs import LoopLog
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.terms import robot_effects
from minertia.options import Command
from minertia.robot.robot import Robot
from minertia.simulation.plant import Plant
from tests.codegen.compiled import COMPILERS, call, library
from tests.identification.motions import fourier_motion
from tests.identification.test_commands import BODIES, GAINS, commands

VALUES = {"IA1": 0.2, "IA2": 0.1, "FV1": 1.0, "FV2": 0.5, "FC1": 1.0, "FC2": 0.5, "OFF1": 0.4, "OFF2": -0.3}
ADDED = {"XSQ1": 0.4, "XRC2": 0.6, "XHS1": 3.0}  # what test_one_more_effect.py adds
ARM = replace(read_robot("planar2r"), name="planar", gravity=(0.0, -9.81, 0.0))
ROBOT = ARM.with_parameters(BODIES | VALUES | ADDED, {"XRC2": {"teeth": 5.0}})
LAW = Command(**GAINS, delay=0.0, leave_out_contact=False)
CAMPAIGN = Campaign(ARM.with_parameters(BODIES), effects=robot_effects(ROBOT), command=LAW)
PERIOD = 0.01


def efforts(folder: Path) -> None:
    """Identified from a log of efforts, saved, read, and generated as C that computes the same."""
    motion = fourier_motion(ROBOT, 1200, 1)
    motion = replace(motion, tau=np.asarray(inverse_dynamics(ROBOT, motion.q, motion.qd, motion.qdd)))
    result = minertia.identify(ROBOT, [motion], effects=robot_effects(ROBOT), estimator="wls")
    result.model().save(folder / "model.toml")
    found = minertia.read_robot(folder / "model.toml")
    for name, value in ADDED.items():
        assert abs(found.effect_values[name] / value - 1) < 0.03, (name, found.effect_values[name])
    wanted = np.asarray(inverse_dynamics(found, motion.q, motion.qd, motion.qdd))
    minertia.generate(found, folder, programs=["inverse_dynamics"])
    program = build(Setting(found, rotors=True, friction=True), "inverse_dynamics")
    given = {"q": motion.q, "qd": motion.qd, "qdd": motion.qdd}
    for compiler in COMPILERS[:1]:
        made = call(library(folder, found.name, compiler), found.name, program, given)["tau"]
        assert np.abs(made - wanted).max() < 1e-9 * np.abs(wanted).max()


def log_of(theta: np.ndarray, seed: int) -> tuple[LoopLog, Recording]:
    """Commands of the arm, and its simulated log at a step that no fit takes."""
    t = PERIOD * np.arange(400)
    u = commands(t, seed)
    plain = LoopLog("log", None, PERIOD, np.zeros_like(u), u, None, u[0], np.zeros(2), 0.0, 0)  # type: ignore[arg-type]
    found = simulated(loop_model(CAMPAIGN, PERIOD), theta, plain, 80, slopes=False)
    assert found is not None
    q = found.q + 1e-4 * np.random.default_rng(seed).normal(size=u.shape)
    return plain, Recording(t=t, q=q, channels={"command": u})


def servo(folder: Path) -> None:
    """Fitted to commands, with derivatives that are differences, and kept by the saved model."""
    model = loop_model(CAMPAIGN, PERIOD)
    assert set(ADDED) <= set(model.names)
    theta = np.array([(VALUES | ADDED)[name] for name in model.names])
    plain, log = log_of(theta, 0)
    carried = simulated(model, theta, plain, 10)
    assert carried is not None
    slopes = carried.slopes[0]
    for name in ADDED:
        k = model.names.index(name)
        step = 1e-6 * np.eye(len(theta))[k]
        ends = [simulated(model, theta + way * step, plain, 10, slopes=False) for way in (1, -1)]
        assert ends[0] is not None and ends[1] is not None
        wanted = (ends[0].q - ends[1].q) / 2e-6
        off = np.abs(slopes.values[:, :, slopes.columns.index(k)] - wanted)
        assert np.abs(wanted).max() > 1e-4 and np.quantile(off, 0.99) < 1e-4 * np.abs(wanted).max(), name
    result = minertia.identify(replace(CAMPAIGN, train=(log,), validate=(log_of(theta, 1)[1],)))
    found = {p.name: p for p in result.parameters}
    for name, value in ADDED.items():
        assert abs(found[name].value - value) < 5 * found[name].deviation < 0.5 * value, found[name]
    result.model().save(folder / "servo.toml")
    again = minertia.validate(folder / "servo.toml", log_of(theta, 1)[1])[0]
    assert again.relative < 1.1 * result.validation[0].relative


def plant() -> None:
    """Applied by the simulated robot: one short step accelerates as forward dynamics does."""
    q, qd = np.array([0.5, -0.7]), np.array([0.8, -0.6])
    for robot in (ROBOT, *(ROBOT.without_effects([name]) for name in ADDED)):
        simulator = Plant(robot, period=1e-5)
        simulator.place(q, qd)
        simulator.step(np.zeros(2))
        found = (simulator.qd - qd) / 1e-5
        wanted = np.asarray(forward_dynamics(robot, q, qd, np.zeros(2)))
        assert np.abs(found - wanted).max() < 2e-3 * np.abs(wanted).max(), (found, wanted)


def fleet(robot: Robot) -> None:
    """Kept in records of fleets where the row says so, as a coefficient of each robot."""
    layout = column_set(robot).layout
    assert {"XRC1@3", "XRC1@5", "XRC2@5", "XSQ1", "XSQ2"} <= set(layout.names) and "XHS1" not in layout.names
    assert "XSQ1" in Levels.of(layout).robot and "XRC" in DRY


if __name__ == "__main__":
    out = Path(sys.argv[1])
    fleet(ROBOT)
    plant()
    efforts(out)
    servo(out)
