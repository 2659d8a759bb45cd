"""From a motion on the simulated robot to its parameters: the log of a run is that of the robot that was simulated."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from minertia import Campaign, Identification, identify, inverse_dynamics, read_robot
from minertia.excitation.transfer import Transfer
from minertia.robot.files import write_robot
from minertia.robot.robot import Robot
from minertia.running.driver import Driver, JointReading
from minertia.running.guard import Guard
from minertia.running.ladder import climb
from minertia.running.simulated import SimulatedRobot
from minertia.simulation.plant import Imperfections
from tests.conftest import Run
from tests.journeys.stated import BUNDLED, stated

pytest.importorskip("mujoco")
PERFECT = Imperfections()
FEW = 3.0  # deviations within which 99 of 100 values are
MOST = 4.5  # deviations within which all are


def offs(found: Identification) -> dict[str, float]:
    """How many stated deviations each contributing value is from the truth, the robot's own parameters."""
    true = found.linear.nominal()
    return {
        p.name: (p.value - float(b)) / p.deviation
        for p, b in zip(found.parameters, true, strict=True)
        if p.name not in found.estimate.not_excited and p.kind != "fixed"
    }


def journey(run: Run, folder: Path, robot: Robot, seed: int = 0) -> Identification:
    """`excite`, `run` on the simulated robot, `identify`, on the files that the commands leave."""
    file = folder / "robot.toml"
    write_robot(robot, file)
    limits = [robot.joints[j].limits for j in robot.independent]
    fastest = ",".join(str(min(2.0, own.velocity or 2.0)) for own in limits)
    asked = ["--limits", f"velocity={fastest}", "--limits", "acceleration=8"]
    if any(own.lower is None for own in limits):
        reach = [0.3 if robot.joints[j].kind == "prismatic" else 2.0 for j in robot.independent]
        asked += ["--limits", "position=" + ",".join(map(str, reach))]
    search = ("--duration", 6, "--harmonics", 5, "--starts", 1, "--samples", 100, "--seed", seed)
    code, _, err = run("excite", file, *asked, *search, "--out", folder / "motion")
    assert code == 0, err
    code, _, err = run("run", file, folder / "motion", "--speeds", "100", "--out", folder / "run")
    assert code == 0, err
    return identify(Campaign(robot, folder / "run" / "run-100.csv"))


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.slow) for name in ("scara", "five_bar")), "puma560_physical"]
)
def test_a_simulated_run_gives_the_robot_back(run: Run, tmp_path: Path, name: str) -> None:
    found = journey(run, tmp_path, stated(name))
    off = offs(found)
    assert len(off) >= 15 and max(map(abs, off.values())) < MOST, off
    assert found.training.relative < 0.03, "noise of 1 %, and what a short motion leaves"


@pytest.mark.slow
def test_every_bundled_robot_comes_back(run: Run, tmp_path: Path) -> None:
    pooled: dict[str, float] = {}
    for name in BUNDLED:
        (tmp_path / name).mkdir()
        found = journey(run, tmp_path / name, stated(name))
        assert found.training.relative < 0.1, name
        pooled |= {f"{name}: {parameter}": off for parameter, off in offs(found).items()}
    sizes = np.abs([*pooled.values()])
    beyond = {name: off for name, off in pooled.items() if abs(off) > FEW}
    assert len(pooled) > 500
    assert len(beyond) <= 0.01 * len(pooled), beyond
    assert sizes.max() < MOST, beyond


def test_the_commands_of_the_how_to_find_its_mass(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    limits = [
        part for limit in ("position=0.2", "velocity=0.3", "acceleration=2", "jerk=20") for part in ("--limits", limit)
    ]
    search = ("--duration", 4, "--harmonics", 3, "--starts", 1, "--samples", 60, "--from", 0.05, "--export-rate", 250)
    assert run("excite", "emps", *limits, *search, "--out", "motion")[0] == 0
    assert run("run", "emps", "motion", "--speeds", "50,100", "--out", "rehearsed")[0] == 0
    code, out, err = run("identify", "emps", "rehearsed/run-100.csv", "--validate", "rehearsed/run-050.csv", "--json")
    assert code == 0, err
    mass = next(p for p in json.loads(out)["parameters"] if p["name"] == "MR1")
    assert abs(mass["value"] - 95.1089) < FEW * mass["deviation"]
    assert abs(mass["value"] - 95.1089) < 0.01 * 95.1089
    assert mass["deviation"] < 0.005 * 95.1089


# ---------------------------------------------------------------------- what a row says


class Direct(Driver):
    """The simulated robot without its socket; hush: it is not told velocities."""

    is_simulated = True  # its time goes on with the commands

    def __init__(self, robot: SimulatedRobot, *, hush: bool = False) -> None:
        self.robot, self.period, self.hush = robot, robot.period, hush

    def read(self) -> JointReading:
        state = self.robot.state()
        return JointReading(state["t"], np.array(state["q"]), np.array(state["effort"]))

    def command(self, q: np.ndarray, qd: np.ndarray) -> None:
        self.robot.step(q, None if self.hush else qd)

    def stop(self) -> None:
        """Nothing of it is wanted here."""

    def close(self) -> None:
        """Nor of this."""


def residuals(robot: Robot, way: Transfer, period: float, *, hush: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Logged efforts less those of the logged motion, and the former (N, n), while every joint moves."""
    simulated = SimulatedRobot(robot, way.at(0.0)[0][0], period=period, imperfections=PERFECT)
    (log,) = climb(
        Direct(simulated, hush=hush), way, Guard(robot.coordinate_names, np.full(robot.n, 0.1)), speeds=[1.0]
    )
    assert not log.aborted and log.effort is not None
    q, h = log.q, period  # central differences of sixth order
    at = [q[k : len(q) - 6 + k] for k in range(7)]
    qd = (45 * (at[4] - at[2]) - 9 * (at[5] - at[1]) + at[6] - at[0]) / (60 * h)
    qdd = (270 * (at[4] + at[2]) - 27 * (at[5] + at[1]) + 2 * (at[6] + at[0]) - 490 * at[3]) / (180 * h**2)
    wanted = np.asarray(inverse_dynamics(robot, at[3], qd, qdd))
    slow = (np.abs(qd) < 0.02 * np.abs(qd).max(axis=0)).any(axis=1)
    keep = np.convolve(slow, np.ones(15), "same") < 0.5
    return (log.effort[3:-3] - wanted)[keep], log.effort[3:-3][keep]


@pytest.mark.parametrize("period", [0.002, pytest.param(0.008, marks=pytest.mark.slow), 0.02])
@pytest.mark.parametrize("name", ["emps", "planar2r", "parallelogram_arm"])
def test_efforts_belong_to_positions_and_times_at_every_rate(name: str, period: float) -> None:
    """Neither a skew of half a period nor an alias of what the servo does within one is in the log."""
    robot = stated(name)
    here = np.array([0.0, 0.3, 0.6, 0.2, 0.4, 0.1][: robot.n])
    way = Transfer(np.array([here, here + 0.3, here]), np.array([0.0, 0.7, 1.4]))
    rest, effort = residuals(robot, way, period)
    assert len(rest) > 20
    size = np.sqrt(np.mean(effort**2, axis=0))
    assert (np.abs(rest) < 2e-3 * size).all(), np.abs(rest).max(axis=0) / size


def test_a_robot_that_is_told_no_velocities_has_right_efforts_too() -> None:
    robot, here = stated("planar2r"), np.zeros(2)
    rest, effort = residuals(robot, Transfer(np.array([here, here + 0.3]), np.array([0.0, 0.7])), 0.008, hush=True)
    assert np.sqrt(np.mean(rest**2)) < 0.03 * np.sqrt(np.mean(effort**2))


def test_it_holds_its_posture_before_it_is_asked() -> None:
    robot, here = read_robot("puma560_physical"), np.array([0.0, 0.4, -1.0, 0.0, 0.3, 0.0])
    told = SimulatedRobot(robot, here, imperfections=PERFECT).state()
    held = np.asarray(inverse_dynamics(robot, here, np.zeros(6), np.zeros(6)))
    np.testing.assert_allclose(told["effort"], held, atol=1e-9)


def test_its_sensors_are_those_that_are_stated() -> None:
    robot, here = read_robot("emps"), np.array([0.0123456789])
    simulated = SimulatedRobot(robot, here)
    told = [simulated.state() for _ in range(400)]
    assert told[0]["q"][0] == pytest.approx(0.012346, abs=1e-12), "steps of 1e-6 m"
    noise = np.std([state["effort"][0] for state in told])
    # 1 % of the efforts under velocities up to 1 m/s and accelerations up to 4 m/s2
    usual = np.sqrt((95.1089 * 4) ** 2 / 3 + 203.5034**2 / 3 + 20.3935**2)
    assert noise == pytest.approx(0.01 * usual, rel=0.2)
