"""Commands read robots, logs and models alike: the same options, and a model's folder in place of its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import minertia as mi
from minertia.cli.options import told
from minertia.cli.root import _parser
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.io.schema import option_of
from minertia.robot.files import read_robot
from minertia.robot.options import RobotOptions
from tests.arm import recorded_arm
from tests.conftest import Run
from tests.test_cli_width import QUICK

ROBOT = {"--base", "--gravity", "--hold", "--prim"}
LOG = {"--topic", "--gains", "--columns", "--drop-torn"}
READS = {
    **dict.fromkeys(("base", "show", "convert", "rehearse", "run", "generate", "count"), ROBOT),
    **dict.fromkeys(("check", "identify", "significance", "payload", "excite", "campaign new"), ROBOT | LOG),
    **dict.fromkeys(("validate", "compare", "watch"), LOG),  # models have their robot
    **dict.fromkeys(("calibrate", "wrench"), ROBOT | {"--columns"}),  # tables of poses: no bags, no efforts
    # no robot and no log of their own: a list, models, and stores whose types say how logs are read
    **dict.fromkeys(("robots", "score", "sample", "studio", "demo", "doctor"), set[str]()),
    "servo": {"--columns", "--drop-torn"},  # its index names the logs; none of a bag, and no efforts
    **dict.fromkeys(
        (
            f"fleet {name}"
            for name in ("add", "compact", "check", "drift", "report", "alarm", "event", "publish", "prune", "migrate")
        ),
        set[str](),
    ),
    "fleet fit": {"--columns"},  # another option: which columns of the records are fitted
}


def commands() -> dict[str, Any]:
    """Every command by its name."""
    found = {}
    for name, one in _parser().commands.items():
        inner = getattr(one, "commands", {})
        found |= {f"{name} {word}": own for word, own in inner.items()} or {name: one}
    return found


def test_commands_that_read_the_same_have_the_same_options() -> None:
    found = commands()
    assert found.keys() == READS.keys()
    for name, one in found.items():
        flags = {flag for given in one.params for flag in given.opts}
        assert flags & (ROBOT | LOG) == READS[name], name


@pytest.mark.parametrize(
    ("cls", "name"), [(RobotOptions, "base"), (RobotOptions, "gravity"), (RobotOptions, "hold"), (RobotOptions, "prim"),
                      (ColumnMap, "topic"), (ColumnMap, "drop_torn"), (Drive, "gains")]
)  # fmt: skip
def test_one_declaration_has_their_help(cls: type, name: str) -> None:
    one = option_of(cls, name)
    texts = {given.help for own in commands().values() for given in own.params if f"--{one.command}" in given.opts}
    assert texts == {told(one)}


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = recorded_arm(tmp_path_factory.mktemp("arm"))
    found = mi.identify(folder / "arm.urdf", folder / "a.csv", effects=["viscous", "coulomb"])
    (folder / "result").mkdir()
    found.model().save(folder / "result" / "model.toml")
    return folder


PLACES: dict[str, tuple[object, ...]] = {
    "show": ("show", "ARM/result"),
    "check": ("check", "ARM/result"),
    "check log": ("check", "ARM/b.csv", "--robot", "ARM/result"),
    "base": ("base", "ARM/result"),
    "convert": ("convert", "ARM/result", "OUT.toml"),
    "count": ("count", "ARM/result", "--programs", "inverse_dynamics"),
    "generate": ("generate", "ARM/result", "--programs", "inverse_dynamics", "--out", "OUT"),
    "identify": ("identify", "ARM/result", "ARM/b.csv", "--effects", "viscous,coulomb", "--prior", "ARM/result",
                 "--estimator", "ridge"),
    "significance": ("significance", "ARM/result", "ARM/b.csv", "--effects", "viscous,coulomb"),
    "campaign new": ("campaign", "new", "ARM/result", "ARM/b.csv"),
    "validate": ("validate", "ARM/result", "ARM/b.csv"),
    "compare": ("compare", "ARM/result", "ARM/result"),
    "sample": ("sample", "ARM/result", "--n", "2", "--out", "OUT"),
    "payload": ("payload", "ARM/result", "ARM/loaded.csv"),
    "payload robot": ("payload", "ARM/a.csv", "ARM/loaded.csv", "--robot", "ARM/result"),
    "watch": ("watch", "ARM/result", "--normal", "ARM/b.csv", "ARM/c.csv"),
    "calibrate": ("calibrate", "ARM/result", "--plan", "8", "--measure", "point"),
    "excite": ("excite", "ARM/result", *QUICK, "--out", "OUT"),
    "rehearse": ("rehearse", "ARM/result", *QUICK[4:], "--out", "OUT"),
}  # fmt: skip
LONG = ("significance", "excite", "rehearse")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in PLACES])
def test_a_models_folder_stands_for_the_model(run: Run, arm: Path, tmp_path: Path, name: str) -> None:
    line = [str(word).replace("ARM", str(arm)).replace("OUT", str(tmp_path / "out")) for word in PLACES[name]]
    code, _, err = run(*line)
    assert code in (0, 1) and "Traceback" not in err, err


@pytest.mark.parametrize(("count", "said"), [("1", "1 robot, each physically"), ("3", "3 robots, each physically")])
def test_few_samples_have_no_scatter(run: Run, arm: Path, tmp_path: Path, count: str, said: str) -> None:
    """Of three, intervals would hardly ever hold the most probable value."""
    code, out, _ = run("sample", arm / "result", "--n", count, "--out", tmp_path / "out")
    assert code == 0 and said in out and "at least 100 samples; draw more with --n" in out
    assert "share of the prior" not in out


# ---------------------------------------------------------------------- what the options do


def test_gravity_base_and_hold_reach_the_robot(run: Run, arm: Path, tmp_path: Path) -> None:
    robot = arm / "arm.urdf"
    assert json.loads(run("show", robot, "--gravity", 0, 0, 9.81, "--json")[1])["gravity"] == [0, 0, 9.81]
    assert json.loads(run("base", robot, "--base", "floating", "--json")[1])["columns"][0] == "XX0"
    code, _, err = run("base", robot, "--floating", "--json")
    assert code == 0 and "write --base floating" in err
    assert run("convert", robot, tmp_path / "one.toml", "--hold", "elbow=0.3")[0] == 0
    assert read_robot(tmp_path / "one.toml").n == 1
    lines = run("campaign", "new", robot, arm / "a.csv", "--gravity", 0, 0, 9.81, "--base", "fixed")[1].splitlines()
    assert 'base = "fixed"' in lines and any(line.startswith("gravity = [0, 0, 9.81]") for line in lines)


def test_options_take_precedence_over_a_campaigns(run: Run, arm: Path, tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(f'format = 1\nrobot = "{arm}/arm.urdf"\n[logs]\ntrain = ["{arm}/a.csv"]\n')
    found = read_campaign(file, robot=RobotOptions(gravity=(0.0, 0.0, 9.81), hold={"elbow": None}))
    assert found.robot.gravity == (0.0, 0.0, 9.81) and found.robot.n == 1
    validate = ("validate", arm / "result", arm / "b.csv", "--json", "--gains")
    left = [json.loads(run(*validate, gains)[1])["validation"][0]["relative"] for gains in ("1,1", "2,2")]
    assert left[0] < 0.1 and left[1] == pytest.approx(0.5, abs=0.05)  # half of what is twice as large


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (("check", "ARM/a.csv", "--hold", "elbow"), "--hold: name the robot of the log with --robot"),
        (("check", "ARM/arm.urdf", "--gains", "1,1"), "--gains: this applies to a log"),
        (("payload", "ARM/result", "ARM/loaded.csv", "--gravity", "0", "0", "0"), "--gravity: the model is that of"),
        (("excite", "ARM/arm.urdf", "--topic", "/joints"), "--topic: this applies to the logs of --after"),
        (("identify", "ARM/arm.urdf", "ARM/a.csv", "--gains", "1,2,3"), "gains"),
        (("show", "ARM/arm.urdf", "--base", "flying"), "--base must be"),
    ],
)
def test_options_without_effect_are_refused(run: Run, arm: Path, line: tuple[str, ...], sentence: str) -> None:
    code, _, err = run(*(word.replace("ARM", str(arm)) for word in line))
    assert code == 2 and sentence in err, err
