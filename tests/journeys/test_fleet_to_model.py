"""From logs of a fleet to an alarm and to models, each figure held against what was planted.

Six two-link arms whose second link is heavier than their file says; each has friction of its own that wanders from day
to day.  On one day dry friction of one elbow grows by two fifths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia.dynamics.model import inverse_dynamics
from minertia.fleet.fleet import Fleet
from minertia.identification.model_file import read_model
from minertia.robot.files import read_robot
from tests.arm import ARM, FRICTION
from tests.conftest import Run

ROBOTS = ("A1", "A2", "A3", "A4", "A5", "A6")
WORN, JOINT, WEAR = "A3", "elbow", 0.4
LEARNT, WORE, DAYS = 10, 12, 17
START = datetime(2026, 3, 2, 6, tzinfo=UTC).timestamp()
FLEET = """format = 1
[types.arm]
robot = "arm.urdf"
filter = { cutoff_hz = 20.0 }
rest = 0.3
[[robots]]
id = "A?"
"""


def day(number: int) -> str:
    return f"{datetime.fromtimestamp(START + 86_400 * number, UTC):%Y-%m-%d}"


def friction(
    robot: str, number: int | None, rng: np.random.Generator | None = None, wander: float = 0.01
) -> dict[str, float]:
    """Planted friction of a robot on a day; number None: before any wear, without what days do."""
    own = np.random.default_rng(ROBOTS.index(robot))
    values = {name: value * float(np.exp(0.1 * own.normal())) for name, value in FRICTION.items()}
    if rng is not None:
        values = {name: value * (1 + wander * rng.normal()) for name, value in values.items()}
    if robot == WORN and number is not None and number >= WORE:
        values["FC2"] *= 1 + WEAR
    return values


class Plant:
    """The true arms of a folder, and their logs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "arm.urdf").write_text(ARM.format(name="arm"), "utf-8")
        (folder / "FLEET.toml").write_text(FLEET, "utf-8")
        robot = read_robot(folder / "arm.urdf")
        own = dict(zip(robot.columns(), robot.parameter_vector(), strict=True))
        self.inertial = own | {name: 1.4 * value for name, value in own.items() if name.endswith("2")}
        self.robot = robot

    def log(
        self,
        robot: str,
        number: int,
        hours: float = 0.0,
        *,
        seconds: float = 8.0,
        rate: float = 100.0,
        wander: float = 0.01,
        noise: float = 0.02,
    ) -> Path:
        """One log: the robot's own program, noise [N m] and friction of the day; wander: its part that days change."""
        rng = np.random.default_rng([ROBOTS.index(robot), number, int(hours)])
        truth = self.robot.with_parameters({**self.inertial, **friction(robot, number, rng, wander)})
        t, phase = np.arange(round(seconds * rate)) / rate, 0.3 + 0.7 * ROBOTS.index(robot) + hours
        q, qd, qdd = np.zeros((3, len(t), 2))
        for k, (size, w) in enumerate(((0.5, 1.7), (0.35, 3.1), (0.2, 5.3))):
            angle = w * t[:, None] + phase + k + np.array([0.0, 1.3])
            q, qd, qdd = q + size * np.sin(angle), qd + size * w * np.cos(angle), qdd - size * w**2 * np.sin(angle)
        tau = inverse_dynamics(truth, q, qd, qdd) + noise * rng.normal(size=q.shape)
        columns: dict[str, Any] = {"t": t + START + 86_400 * number + 3600 * hours}
        for j in range(2):
            warm = 30.0 + rng.normal()
            columns |= {f"q{j + 1}": q[:, j], f"tau{j + 1}": tau[:, j], f"temperature{j + 1}": np.full(len(t), warm)}
        path = self.folder / ("logs" if not hours else "kept") / f"robot={robot}" / f"{day(number)}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(path, np.column_stack(list(columns.values())), "%.9f", ",", header=",".join(columns), comments="")
        return path


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    made = Plant(tmp_path_factory.mktemp("plant"))
    for robot in ROBOTS:
        for number in range(DAYS):
            made.log(robot, number)
    yield made


def test_a_worn_joint_is_named_and_models_predict_its_robot(plant: Plant, run: Run, tmp_path: Path) -> None:
    store = ("--store", tmp_path / "store")
    code, out, err = run("fleet", "add", plant.folder / "logs", "--fleet", plant.folder / "FLEET.toml", *store,
                         "--workers", 0)  # fmt: skip
    assert code == 0 and f"{len(ROBOTS) * DAYS} logs added" in out, err

    # the alarm: robot, joint, what and day
    code, out, _ = run("fleet", "drift", *store, "--learning", LEARNT, "--json")
    (alarm,) = json.loads(out)["alarms"]
    assert code == 1 and (alarm["robot"], alarm["joint"], alarm["what"]) == (WORN, JOINT, "dry friction")
    assert alarm["since"][0] <= day(WORE) <= alarm["since"][1]
    assert abs(alarm["change"] - WEAR) < 3 * alarm["deviation"]

    # values of all robots before, and of the worn one since
    fit = ("fleet", "fit", *store, "--columns", "FV,FC,OFF", "--models", "--out")
    assert run(*fit, tmp_path / "before", "--days", f":{day(WORE - 1)}")[0] == 0
    assert run(*fit, tmp_path / "since", "--robot", WORN, "--days", f"{day(WORE)}:")[0] == 0
    said = json.loads((tmp_path / "before" / "fit-arm.json").read_text("utf-8"))
    found = {own["robot"]: own["values"] for own in said["robots"]}
    ratios = [
        (found[robot][name]["value"] - value) / found[robot][name]["deviation"]
        for robot in ROBOTS
        for name, value in friction(robot, None).items()
    ]
    assert np.max(np.abs(ratios)) < 4.5 and np.mean(np.abs(ratios) < 3) > 0.9
    model = Fleet.open(tmp_path / "store").stored_type().type.column_set.model
    planted = dict(zip(model.names, model.values(plant.inertial), strict=True))
    for name, own in said["type"]["values"].items():
        assert abs(own["value"] - planted[name]) < 4 * own["deviation"] + 1e-3 * max(planted.values()), name
    worn = read_model(tmp_path / "since" / f"model-{WORN}.toml")
    value, deviation = (worn.parameters[worn.linear.index("FC2")][key] for key in ("value", "deviation"))
    assert abs(value - friction(WORN, DAYS)["FC2"]) < 3.5 * deviation < 0.5 * WEAR * value

    # the models predict a motion that nobody has fitted: the worn elbow only by what was learnt since
    kept = plant.log(WORN, DAYS, hours=3.0)
    noise = 0.02  # N m, before the filter
    left = {}
    for which in ("before", "since"):
        code, out, err = run("validate", tmp_path / which / f"model-{WORN}.toml", kept, "--json")
        assert code == 0, err
        left[which] = {own["joint"]: own["rmse"] for own in json.loads(out)["validation"][0]["per_joint"]}
    assert left["since"][JOINT] < 1.2 * noise
    assert left["before"][JOINT] > 0.8 * WEAR * friction(WORN, None)["FC2"]


@pytest.mark.parametrize("cutoff, rate", [(5.0, 100.0), (5.0, 500.0), (10.0, 200.0)])
def test_dry_friction_is_that_of_the_robot_whatever_the_filter(
    run: Run, tmp_path: Path, cutoff: float, rate: float
) -> None:
    """No speed is left out (`rest` of a thousandth): columns of dry friction are filtered as the efforts are."""
    plant = Plant(tmp_path / "plant")
    text = FLEET.replace("cutoff_hz = 20.0", f"cutoff_hz = {cutoff}").replace("rest = 0.3", "rest = 0.001")
    (plant.folder / "FLEET.toml").write_text(text, "utf-8")
    for number in range(3):
        plant.log("A1", number, seconds=20.0, rate=rate, wander=0.0, noise=0.005)
    store = ("--store", tmp_path / "store")
    code, _, err = run("fleet", "add", plant.folder / "logs", "--fleet", plant.folder / "FLEET.toml", *store,
                       "--workers", 0)  # fmt: skip
    assert code == 0, err
    assert run("fleet", "fit", *store, "--columns", "FV,FC,OFF", "--out", tmp_path / "fit")[0] == 0
    (own,) = json.loads((tmp_path / "fit" / "fit-arm.json").read_text("utf-8"))["robots"]
    for name, value in friction("A1", None).items():
        assert own["values"][name]["value"] == pytest.approx(value, rel=0.02), name
