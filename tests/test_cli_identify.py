"""`minertia identify` and its family as a user runs them: on made logs everywhere, on real ones where they are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from minertia.cli.campaigns import repeated
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.estimators import ESTIMATORS
from minertia.robot.effects import WORDS
from minertia.robot.files import read_robot
from tests import inside
from tests.arm import ARM, FRICTION, LOAD, recorded_arm, simulated
from tests.identification.logs import table, write_csv
from tests.pages import page_data, page_text
from tests.shared import SHARED, needs_shared

ROOT = Path(__file__).parents[1]
KEYS = {"format", "robot", "estimator", "count", "condition", "parameters", "not_excited", "ladder", "training",
        "validation", "physical", "verdict"}  # fmt: skip
VALUE_KEYS = {"name", "value", "deviation", "relative_deviation", "class"}


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    """A folder with a robot, three logs of it and one with a load."""
    return recorded_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def identified(arm, tmp_path_factory) -> tuple[dict, Path]:
    """What identify prints, and the folder that it writes; nobody changes them."""
    out = tmp_path_factory.mktemp("identified") / "out"
    words = ("identify", "arm.urdf", "a.csv", "b.csv", "--validate", "c.csv", "--out", str(out), "--json")
    done = inside.command([*words], arm)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), out


# ---------------------------------------------------------------------- identify


def test_every_option_of_automatic_choices_is_listed(identified):
    data, out = identified
    choices = data["choices"]
    assert {c["choice"] for c in choices} == {"cut-off", "delay", "effects", "estimator"}
    assert [c["option"] for c in choices if c["choice"] == "estimator" and c["selected"]] == [data["estimator"]]
    assert all(c["selected"] != bool(c["reason"]) for c in choices)
    added = [c["gain"] for c in choices if c["selected"] and " at " in c["option"]]
    assert added == [step["gain"] for step in data["ladder"]["steps"]]
    (section,) = page_data((out / "report.html").read_text(encoding="utf-8"))["view"]["sections"]
    assert section["title"] == "Automatic choices" and len(section["rows"]) == len(choices)


def test_explain_prints_what_was_tried(arm):
    words = ("identify", "arm.urdf", "a.csv", "--effects", "viscous,coulomb", "--cutoff", "8")
    explained = inside.command([*words, "--explain"], arm)
    assert explained.returncode == 0, explained.stderr
    told = explained.stdout.partition("Automatic choices")[2]
    assert "wls" in told and "selected" in told and "cut-off" not in told.partition("choice ")[2]


def test_result_has_the_promised_keys(identified):
    data, _ = identified
    assert set(data) == KEYS | {"choices", "exports"} and data["robot"] == "arm" and data["estimator"] == "wls"
    assert all(set(p) == VALUE_KEYS for p in data["parameters"])
    assert data["count"] == len(data["parameters"]) + len(data["not_excited"])
    assert set(data["training"]) == {"relative", "rmse", "per_joint"}
    assert [v["log"] for v in data["validation"]] == ["c.csv"]
    assert [p["joint"] for p in data["validation"][0]["per_joint"]] == ["shoulder", "elbow"]
    assert data["verdict"]["good"] and data["verdict"]["reasons"]
    assert data["training"]["relative"] < 0.02 and data["validation"][0]["relative"] < 0.02


def test_true_values_are_found(identified):
    data, _ = identified
    found = {p["name"]: p for p in data["parameters"]}
    for name, true in FRICTION.items():
        assert abs(found[name]["value"] - true) < 5 * found[name]["deviation"] + 0.01 * true


def test_the_folder_holds_every_file(identified):
    data, out = identified
    assert {p.name for p in out.iterdir()} == {"model.toml", "report.html", "result.json", "robot.mjcf", "robot.urdf"}
    assert json.loads((out / "result.json").read_text()) == data
    robot, model = read_robot(out / "robot.urdf"), tomllib.loads((out / "model.toml").read_text())
    assert model["physical"] and robot.effects[0]["FV"] == pytest.approx(0.6, rel=0.05)
    assert model["campaign"]["evaluation"]["cutoff_hz"] > 0 and model["campaign"]["filter"]["cutoff_hz"] > 0


def test_what_a_urdf_loses_is_said_and_stands_beside_it(run, arm, tmp_path):
    """Rotor inertia and offset, which the log shows: named with what they cost, and in the MJCF for MuJoCo."""
    drives = {"IA1": 0.2, "IA2": 0.1, "FV1": 0.6, "FV2": 0.3, "FC1": 0.8, "FC2": 0.4, "OFF1": 0.5, "OFF2": -0.2}
    truth = read_robot(arm / "arm.urdf").with_parameters(drives)
    write_csv(tmp_path / "geared.csv", table(simulated(truth, 0.1), q="q", tau="tau"))
    args = ("identify", arm / "arm.urdf", tmp_path / "geared.csv", "--physical", "--out", tmp_path / "out")
    code, _, err = run(*args, "--effects", "rotor,viscous,coulomb,offset")
    assert code == 0, err
    found = re.search(r"robot.urdf: read by \w+ it leaves ([\d.]+) % of geared.csv \(the model ([\d.]+) %\)", err)
    assert found and float(found[1]) > 3 * float(found[2]) and "no place for rotor, offset" in err, err
    mujoco = pytest.importorskip("mujoco")
    robot = read_robot(tmp_path / "out" / "model.toml", target="mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "robot.mjcf"))
    assert robot.effects[0]["IA"] > 0 and model.dof_armature == pytest.approx(
        [e.get("IA", 0.0) for e in robot.effects], abs=1e-12
    )
    assert "it has no place for rotor, offset" in (tmp_path / "out" / "report.html").read_text()


def test_cubic_friction_is_told_as_by_convert(run, arm, tmp_path):
    """Both say that older MuJoCo lacks cubic friction; a URDF has no symbols of its own, of which convert told."""
    truth = read_robot(arm / "arm.urdf").with_parameters({"FV1": 0.6, "FV2": 0.3})
    motion = simulated(truth, 0.1)
    speed = np.gradient(motion["q"], motion["t"], axis=0)
    log, out = tmp_path / "fast.csv", tmp_path / "out"
    write_csv(log, table(motion | {"tau": motion["tau"] + 0.05 * speed**3}, q="q", tau="tau"))
    args = ("identify", arm / "arm.urdf", log, "--effects", "viscous,cubic", "--out", out)
    told = [run(*args)[2], run("convert", out, tmp_path / "again.mjcf")[2]]
    assert all("cubic friction is written as a polynomial damping" in text for text in told), told
    told += [run("convert", arm / "arm.urdf", tmp_path / f"again.{end}", "--force")[2] for end in ("urdf", "mjcf")]
    assert not any("symbol" in text for text in told), told


def test_numbers_of_parameters_are_explained(run, arm, tmp_path):
    """A joint that never moves: its parameters are counted, and told once not to be identifiable."""
    motion = simulated(read_robot(arm / "arm.urdf"), 0.1)
    motion["q"][:, 1] = 0.3
    write_csv(tmp_path / "still.csv", table(motion, q="q", tau="tau"))
    args = ("identify", arm / "arm.urdf", tmp_path / "still.csv", "--effects", "viscous,coulomb", "--estimator", "wls")
    code, out, _ = run(*args)
    found = re.search(r"(\d+) parameters \((\d+) of them not identifiable from these logs\)", out)
    assert code == 0 and found and f"of {int(found[1]) - int(found[2])} known to" in out, out


def test_table_and_json_hold_the_same_deviations(run, arm, identified):
    data, _ = identified
    code, text, _ = run("identify", arm / "arm.urdf", arm / "a.csv", arm / "b.csv", "--validate", arm / "c.csv")
    assert code == 0 and "valid under correlated residuals" in text and "the model is good" in text
    for p in data["parameters"]:
        assert re.search(rf"{p['name']} .*{re.escape(format(p['deviation'], '.2g'))} ", text)
    for reason in data["verdict"]["reasons"]:
        assert reason in text


def test_page_stands_alone_and_is_escaped(run, arm, tmp_path):
    hostile = tmp_path / "x.urdf"
    hostile.write_text(ARM.format(name="&lt;script&gt;alert(1)&lt;/script&gt;"))
    log = shutil.copy(arm / "a.csv", tmp_path / "<b>run</b>.csv".replace("/", "_"))
    assert run("identify", hostile, log, "--validate", arm / "c.csv", "--out", tmp_path / "o")[0] == 0
    page = (tmp_path / "o" / "report.html").read_text()
    view = page_data(page)["view"]
    assert "<script>alert" not in page and "<b>run" not in page and "<script>alert(1)" in page_text(page)
    assert view["joints"] == ["shoulder", "elbow"] and [log["is_fitted"] for log in view["logs"]] == [False, True]
    assert all(len(curve) <= 1500 for log in view["logs"] for kind in log["curves"].values() for curve in kind)
    assert view["made"] and view["parameters"][0]["interval"]


def test_without_the_studio_the_rest_is_written_and_said(run, arm, tmp_path, no_pages):
    code, out, err = run("identify", arm / "arm.urdf", arm / "a.csv", "--out", tmp_path / "o")
    assert code == 0 and "the model is" in out and err.count("run `make studio`") == 1, err
    assert {p.name for p in (tmp_path / "o").iterdir()} >= {"model.toml", "result.json"}
    assert not (tmp_path / "o" / "report.html").exists()
    for option in ("--html", "--pdf"):
        code, out, err = run("base", arm / "arm.urdf", option, tmp_path / "page")
        assert code == 2 and out == "" and "make studio" in err and err.count("\n") == 1


@pytest.mark.parametrize("options", [
    ("--physical",), ("--estimator", "ridge", "--prior", "robot"), ("--fix", "FC1=0.4", "FC2=0.2"),
    ("--joints", "elbow"), ("--effects", "FV,FC1"), ("--cutoff", "15", "--fit-rate", "50"),
    *(pytest.param(more, marks=pytest.mark.slow) for more in (
        ("--estimator", "robust"), ("--physical", "--prior", "robot"), ("--joints", "2"),
        ("--effects", "viscous,coulomb"), ("--gravity", "0", "0", "-9.81"))),
])  # fmt: skip
def test_options(run, arm, options):
    code, text, err = run("identify", arm / "arm.urdf", arm / "a.csv", *options, "--validate", arm / "c.csv", "--json")
    assert code == 0, err
    data = json.loads(text)
    classes = {p["name"]: p["class"] for p in data["parameters"]}
    if "--fix" in options:
        assert classes["FC1"] == classes["FC2"] == "fixed"
    if "--joints" in options:
        assert [p["joint"] for p in data["training"]["per_joint"]] == ["elbow"]
    if "--physical" in options:
        assert data["estimator"] == "physical" and data["physical"]["sentence"]
    if "--effects" in options:
        assert not any(name.startswith(("IA", "OFF")) for name in classes)


def test_campaign_file_and_what_stands_over_it(run, arm, tmp_path):
    code, text, err = run(
        "campaign", "new", arm / "arm.urdf", arm / "a.csv", arm / "c.csv", "--out", tmp_path / "c.toml"
    )
    assert code == 0 and "wrote" in err
    code, text, err = run("identify", "--campaign", tmp_path / "c.toml", "--json")
    assert code == 0, err
    plain = json.loads(text)
    assert [v["log"] for v in plain["validation"]] == ["c.csv"]
    code, text, _ = run("identify", "--campaign", tmp_path / "c.toml", "--validate", arm / "b.csv", arm / "c.csv",
                        "--effects", "viscous", "--json")  # fmt: skip
    other = json.loads(text)
    assert [v["log"] for v in other["validation"]] == ["b.csv", "c.csv"]
    assert other["training"]["relative"] > 2 * plain["training"]["relative"]


def test_an_option_that_the_estimator_does_not_have(run, arm, tmp_path):
    assert run("campaign", "new", arm / "arm.urdf", arm / "a.csv", "--out", tmp_path / "c.toml")[0] == 0
    text = (tmp_path / "c.toml").read_text().replace('name = "auto"', 'name = "robust"\nthreshhold = 2')
    (tmp_path / "c.toml").write_text(text)
    code, _, err = run("identify", "--campaign", tmp_path / "c.toml")
    assert code == 2 and "threshhold" in err and "'threshold'" in err


def test_columns_from_a_file(run, arm, tmp_path):
    columns = np.genfromtxt(arm / "a.csv", delimiter=",", names=True)
    names = {"t": "clock", "q1": "S", "q2": "E", "tau1": "iS", "tau2": "iE"}
    path = write_csv(
        tmp_path / "own.csv", {names[n]: columns[n] / (2.0 if n.startswith("tau") else 1.0) for n in names}
    )
    (tmp_path / "map.toml").write_text(
        '[columns]\nt = "clock"\nq = ["S", "E"]\neffort = ["iS", "iE"]\neffort_unit = "A"\n[drive]\ngains = [2, 2]\n'
    )
    code, text, err = run("identify", arm / "arm.urdf", path, "--columns", tmp_path / "map.toml", "--json")
    assert code == 0, err
    assert {p["name"]: p["value"] for p in json.loads(text)["parameters"]}["FV1"] == pytest.approx(0.6, rel=0.05)


def test_values_after_an_option_that_takes_several():
    assert repeated(["r", "a", "--validate", "b", "c", "--json"]) == [
        *("r", "a", "--validate", "b", "--validate", "c", "--json"),
    ]
    assert repeated(["--fix", "A=1", "B=2", "--", "--validate", "x"])[-3:] == ["--", "--validate", "x"]


# ---------------------------------------------------------------------- the family


def test_validate_gives_the_figures_of_identify(run, arm, identified):
    data, out = identified
    code, text, err = run("validate", out / "model.toml", arm / "c.csv", "--json")
    assert code == 0, err
    (own,), (theirs,) = data["validation"], json.loads(text)["validation"]
    assert theirs["log"] == own["log"] and theirs["relative"] == pytest.approx(own["relative"], rel=1e-9)
    assert [j["rmse"] for j in theirs["per_joint"]] == pytest.approx([j["rmse"] for j in own["per_joint"]], rel=1e-9)
    assert "elbow" in run("validate", out / "model.toml", arm / "c.csv")[1]


def test_validate_says_when_a_log_was_fitted(run, arm, identified):
    model = identified[1] / "model.toml"
    assert "was fitted, at least in part" in run("validate", model, arm / "a.csv")[1]
    assert "was fitted, at" not in run("validate", model, arm / "c.csv")[1]


def test_what_a_model_identified_is_taken_and_said(run, arm, tmp_path):
    """Code and files take every effect unless told otherwise; what a format cannot hold is named."""
    out, effects = tmp_path / "out", "viscous,coulomb,spring"
    code, _, err = run("identify", arm / "arm.urdf", arm / "a.csv", "--effects", effects, "--out", out)
    assert code == 0 and "URDF cannot represent the stiffness of a joint spring (KS1" in err
    model, taken = out / "model.toml", read_robot(out / "model.toml").effect_values
    assert {name[:-1] for name in taken} == {"FV", "FC", "KS"}
    said = run("convert", model, tmp_path / "a.urdf")[2]
    assert (
        "URDF cannot represent the stiffness of a joint spring (KS1" in said and "taken from the model: FV1 = " in said
    )
    assert run("convert", model, tmp_path / "a.toml")[0] == 0
    assert read_robot(tmp_path / "a.toml").effect_values == pytest.approx(dict(taken))
    code, text, err = run("generate", model, "--out", tmp_path / "code", "--json")
    assert json.loads(text)["effects"] == pytest.approx(dict(taken))
    assert "effects in the code: FV1 = " in err and "KS2 = " in err
    code, text, err = run("generate", model, "--out", tmp_path / "b", "--without", "spring,FC2", "--json")
    assert set(json.loads(text)["effects"]) == {"FV1", "FC1", "FV2"}
    assert "left out of the code: " in run("generate", model, "--out", tmp_path / "b", "--no-friction")[2]
    assert "effects of the model: FV1, " in run("validate", model, arm / "c.csv")[1]
    code, _, err = run("generate", model, "--out", tmp_path / "b", "--without", "magic")
    assert code == 2 and "magic" in err


def test_friction_that_falls_with_temperature(run, tmp_path):
    """From columns of temperatures in a log to a model that predicts another log, cold and warm."""
    recorded_arm(tmp_path)
    robot = read_robot(tmp_path / "arm.urdf").with_parameters({**FRICTION, "FVT1": 0.8, "FVT2": 0.5})
    for name, phase, start in (("cold", 0.1, 18.0), ("warm", 2.0, 45.0)):
        found = simulated(robot, phase, noise=0.0)
        q = found["q"]
        qd, warmth = np.gradient(q, found["t"], axis=0), start + np.linspace(0, 15, len(q))[:, None] * [1.0, 0.7]
        found["tau"] = found["tau"] + [0.8, 0.5] * qd * (np.exp(-(warmth - 25) / 20) - 1)
        write_csv(tmp_path / f"{name}.csv", table(found | {"warmth": warmth}, q="q", tau="tau", warmth="temperature"))
    args = ("identify", tmp_path / "arm.urdf", tmp_path / "cold.csv", "--validate", tmp_path / "warm.csv", "--json")
    usual = "rotor,viscous,coulomb,offset"
    code, text, err = run(*args, "--effects", f"{usual},thermal_viscous")
    assert code == 0, err
    data, plain = json.loads(text), json.loads(run(*args, "--effects", usual)[1])
    values = {p["name"]: p["value"] for p in data["parameters"]}
    assert values["FVT1"] == pytest.approx(0.8, rel=0.05) and values["FVT2"] == pytest.approx(0.5, rel=0.05)
    assert data["validation"][0]["relative"] < 0.2 * plain["validation"][0]["relative"]
    bare = run("identify", tmp_path / "arm.urdf", tmp_path / "a.csv", "--effects", f"{usual},thermal_viscous")
    assert bare[0] == 2 and "needs a temperature of every joint" in bare[2]


def test_payload_from_two_logs_and_from_a_model(run, arm, identified):
    _, out = identified
    for args in (
        (arm / "a.csv", arm / "loaded.csv", "--robot", arm / "arm.urdf"),
        (out / "model.toml", arm / "loaded.csv"),
    ):
        code, text, err = run("payload", *args, "--json")
        assert code == 0, err
        data = json.loads(text)
        assert abs(data["mass"] - LOAD) < max(5 * data["mass_deviation"], 0.03)
        assert data["com"][0] == pytest.approx(0.25, abs=0.03) and "XX" in data["not_excited"]


def test_payload_of_an_arm_that_shows_it(run, tmp_path):
    robot = read_robot("puma560_physical")
    rng = np.random.default_rng(5)
    t = np.arange(2400) / 200
    for name, own in (("empty", robot), ("full", robot.with_payload(2.0, com=(0.02, 0.01, 0.08)))):
        q = qd = qdd = 0.0
        for w in (1.1, 2.3, 3.7, 5.1):
            size, phase = 0.25 * rng.uniform(0.5, 1, 6), rng.uniform(0, 6, 6)
            angle = w * t[:, None] + phase
            q, qd, qdd = q + size * np.sin(angle), qd + size * w * np.cos(angle), qdd - size * w**2 * np.sin(angle)
        tau = inverse_dynamics(own, q, qd, qdd) + 0.01 * rng.normal(size=q.shape)
        write_csv(tmp_path / f"{name}.csv", table({"t": t, "q": q, "tau": tau}, q="q", tau="tau"))
    args = ("payload", tmp_path / "empty.csv", tmp_path / "full.csv", "--robot", "puma560_physical")
    code, text, err = run(*args, "--json")
    assert code == 0, err
    data = json.loads(text)
    assert abs(data["mass"] - 2.0) < max(5 * data["mass_deviation"], 0.04)
    assert data["com"][2] == pytest.approx(0.08, abs=0.01) and set(data["fields"]) == {"ur", "kuka", "franka"}
    _, text, err = run(*args)
    assert "set" not in err and "mass [kg]" in text


def test_significance(run, arm):
    args = ("significance", arm / "arm.urdf", arm / "a.csv", "--validate", arm / "c.csv")
    code, text, err = run(*args, "--json")
    assert code == 0, err
    data = json.loads(text)
    for part in ("one_percent", "elimination"):
        assert {"rule", "essential", "dropped", "condition_before", "condition_after"} <= set(data[part])
    assert [p["count"] for p in data["elimination"]["curve"]] == sorted(
        (p["count"] for p in data["elimination"]["curve"]), reverse=True
    )
    code, text, _ = run(*args)
    assert code == 0 and "retained" in text and "left out" in text
    known = json.loads(run("identify", *args[1:], "--estimator", "wls", "--json")[1])
    assert data["one_percent"]["condition_before"] == pytest.approx(known["condition"])  # one number, stated twice


def test_check_of_a_log_with_and_without_its_robot(run, arm, tmp_path):
    code, text, _ = run("check", arm / "a.csv", "--json")
    data = json.loads(text)
    assert code == int(not data["ok"]) and data["joints"] == ["joint1", "joint2"] and data["robot"] is None
    code, text, _ = run("check", arm / "a.csv", "--robot", arm / "arm.urdf", "--json")
    assert json.loads(text)["joints"] == ["shoulder", "elbow"]
    named = tmp_path / "named.csv"
    named.write_text(
        "t,position_hip,position_knee\n" + "\n".join(f"{k / 100},{np.sin(k / 20)},0.5" for k in range(500))
    )
    code, text, _ = run("check", named)
    assert code == 1 and "2 joints" in text and "does not move" in text
    code, _, err = run("check", tmp_path / "none.csv")
    assert code == 2 and "no such file" in err
    assert run("check", arm / "arm.urdf", "--robot", "ur10e")[0] == 2


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_code_from_a_model(run, identified, tmp_path):
    _, out = identified
    code, _, err = run("generate", out / "model.toml", "--out", tmp_path / "code")
    assert code == 0, err
    done = subprocess.run(["make", "-C", str(tmp_path / "code")], capture_output=True, text=True)
    assert done.returncode == 0 and "ok" in done.stdout


# ---------------------------------------------------------------------- bad input


def spoiled(arm: Path, path: Path, how: str) -> Path:
    lines = (arm / "a.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines]
    if how == "the efforts":
        rows = [row[:3] for row in rows]
    elif how == "one effort":
        rows = [row[:4] for row in rows]
    elif how == "nan":
        for row in rows[300:360]:
            row[4] = "nan"
    elif how == "constant":
        for row in rows[1:]:
            row[3] = "2.5"
    elif how == "currents":
        rows[0][3:] = ["i1", "i2"]
    elif how == "two robots":
        rows = [row + row[1:] for row in rows]
    elif how == "third joint":
        rows = [row + ["q3" if k == 0 else "0"] for k, row in enumerate(rows)]
    text = "\n".join(",".join(row) for row in rows)
    path.write_text(text[: -len(lines[-1]) // 2] if how == "cut" else text + "\n")
    return path


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("the efforts", ("efforts", "shoulder")),
        ("one effort", ("column 'tau2'", "elbow")),
        ("nan", ("column 'tau2'", "row 300")),
        ("constant", ("column 'tau1'", "row 1", "2.5 throughout")),
        ("two robots", ("'q1'", "two robots")),
        ("third joint", ("column 'q3'", "3 joints")),
        ("currents", ("column 'i1'", "gains")),
        ("cut", ("row 2400", "truncated")),
    ],
)
def test_bad_logs_get_a_sentence_and_nothing_is_written(run, arm, tmp_path, how, words):
    log, out = spoiled(arm, tmp_path / "bad.csv", how), tmp_path / "deep" / "out"
    code, text, err = run("identify", arm / "arm.urdf", log, "--out", out)
    assert code == 2 and text == "" and err.count("\n") == 1
    assert all(word in err for word in words), err
    assert [p.name for p in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("{arm}/arm.urdf",), "at least one log"),
        ((), "at least one log"),
        (("{arm}/arm.urdf", "{arm}/none.csv"), "no such file"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--cutoff", "120"), "Nyquist"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--cutoff", "-1"), "must be a number from 0.001"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--estimator", "magic"), "magic"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--effects", "glue"), "glue"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--joints", "hip"), "hip"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--fix", "FC1"), "NAME=VALUE"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--fix", "FC9=1"), "FC9"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--estimator", "wls", "--prior", "robot"), "does not use a prior"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--validate", "{arm}/a.csv"), "was used for fitting"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--physical", "--estimator", "tls"), "--physical"),
        (("{arm}/arm.urdf", "--campaign", "x.toml"), "not both"),
        (("--campaign", "{arm}/none.toml"), "none.toml"),
        (("{arm}/arm.urdf", "{arm}/a.csv", "--data", "{arm}"), "--data"),
        (("puma560", "{arm}/a.csv"), "column 'q3'"),
    ],
)
def test_wrong_choices_get_a_sentence(run, arm, tmp_path, args, word):
    out = tmp_path / "out"
    code, text, err = run("identify", *(a.format(arm=arm) for a in args), "--out", out)
    assert code == 2 and text == "" and word in err and err.count("\n") == 1, err
    assert not out.exists()


def test_all_files_or_none(run, arm, tmp_path, monkeypatch):
    from minertia.report import folders

    def broken(*args):
        raise KeyboardInterrupt

    out = tmp_path / "out"
    out.mkdir()
    (out / "model.toml").write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(folders, "fit_page", broken)
        assert run("identify", arm / "arm.urdf", arm / "a.csv", "--out", out, "--force")[0] == 130
    assert [p.name for p in tmp_path.iterdir()] == ["out"] and [p.name for p in out.iterdir()] == ["model.toml"]
    assert (out / "model.toml").read_text() == "old"
    assert run("identify", arm / "arm.urdf", arm / "a.csv", "--out", out, "--force")[0] == 0
    assert {p.name for p in out.iterdir()} >= {"model.toml", "report.html"} and "kind" in (
        out / "model.toml"
    ).read_text()
    (tmp_path / "file").write_text("")
    assert run("identify", arm / "arm.urdf", arm / "a.csv", "--out", tmp_path / "file")[0] == 2


def test_help_names_every_command():
    done = subprocess.run([sys.executable, "-m", "minertia", "--help"], capture_output=True, text=True)
    for word in ("identify", "validate", "payload", "significance", "campaign", "check", "generate"):
        assert word in done.stdout


# ---------------------------------------------------------------------- real logs

WITH_REFERENCE = ("emps", "panda_gaz2019", "tx40_gautier", "ur10e_innopolis", "xmate7_nku", "dvrk_psm", "airbot_play")
QUICK = ("emps",)  # the others in make test-all
# all joints of AIRBOT follow one chirp, which says little of other motion, and there is no other log; the PSM carries a
# weight in its unseen log that one of its axes does not show; the last wrist of xMate7 has 1 N m of mostly friction
GRADES = {
    "airbot_play": ("not good", []),
    "dvrk_psm": ("usable", ["yaw", "pitch", "insertion"]),
    "xmate7_nku": ("usable", ["joint7"]),
}


def run_campaign(run, name, *more):
    code, text, err = run("identify", "--campaign", ROOT / "examples" / "logs" / f"{name}.toml",
                          "--data", SHARED / "data" / name, "--json", *more)  # fmt: skip
    assert code == 0, err
    return json.loads(text)


@needs_shared
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in WITH_REFERENCE]
)
def test_real_logs_reach_their_reference(run, name, tmp_path):
    reference = tomllib.loads((SHARED / "data" / "evaluation.toml").read_text())[name]["reference"]
    data = run_campaign(run, name, "--out", tmp_path / "out")
    assert set(data) - {"choices"} == KEYS | {"exports"}  # choices: only where the campaign leaves one open
    grade, joints = GRADES.get(name, ("good", []))
    assert data["verdict"]["grade"] == grade, data["verdict"]["reasons"][0]
    assert data["verdict"]["good"] == (grade == "good")
    assert [limit["joint"] for limit in data["verdict"]["limits"]] == joints
    assert data["training"]["relative"] <= 1.03 * reference
    if name == "emps":
        values = {p["name"]: p["value"] for p in data["parameters"]}
        published = {"M1": 95.1089, "FV1": 203.5034, "FC1": 20.3935, "OFF1": -3.1648}
        assert values == pytest.approx(published, rel=0.01)
    judged = data["validation"]
    if not judged:  # one log, which a saved model predicts as it did when it was fitted
        (log,) = (SHARED / "data" / name).glob("*.csv.gz")
        judged = [{"log": log.name, **data["training"]}]
    logs = [SHARED / "data" / name / v["log"] for v in judged]
    code, text, err = run("validate", tmp_path / "out" / "model.toml", *logs, "--json")
    assert code == 0, err
    again = [v["relative"] for v in json.loads(text)["validation"]]
    assert again == pytest.approx([v["relative"] for v in judged], rel=1e-9)


@pytest.mark.slow
@needs_shared
def test_second_half_of_the_kr300(run):
    data = run_campaign(run, "kr300_weigand")
    (judged,) = data["validation"]
    sentence = next(r for r in data["verdict"]["reasons"] if "nominal with fitted friction" in r)
    assert "better than" in sentence and judged["relative"] <= 0.106 * 1.03
    limits = {limit["joint"]: limit["figure"] for limit in data["verdict"]["limits"]}
    assert data["verdict"]["grade"] == "usable" and limits["A4"] > 0.7 and "A2" not in limits


def test_a_campaign_without_open_questions_says_so(run, arm, tmp_path):
    out = tmp_path / "c.toml"
    code, _, err = run("campaign", "new", arm / "arm.urdf", arm / "a.csv", "--out", out)
    asked = sum('"?"' in line for line in out.read_text().splitlines() if not line.startswith("#"))
    assert code == 0
    assert ("marked with ?" in err) == (asked > 0)


def test_help_has_every_word_of_the_tables(run):
    for _ in range(2):  # asked twice it says the same
        text = " ".join(run("identify", "--help")[1].split())
    for words in (tuple(WORDS), tuple(ESTIMATORS)):
        assert all(re.search(rf"\b{word}\b", text) for word in words), "a word is not in the help"
    assert text.count("gas_spring") == 1


def test_an_old_name_of_an_estimator_works_and_says_the_new_one(run, arm):
    code, out, err = run("identify", arm / "arm.urdf", arm / "a.csv", "--estimator", "ordinary", "--json")
    assert code == 0 and json.loads(out)["estimator"] == "ols"
    assert (
        err.count("warning: the estimator 'ordinary' has been renamed to 'ols'; the old name will be removed in 1.0.0")
        == 1
    )


def test_help_loads_no_fits():
    code = "import sys; from minertia.cli import main\ntry: main(['identify', '--help'])\nexcept SystemExit: pass\n"
    loaded = subprocess.run([sys.executable, "-c", code + "print(*sys.modules)"], capture_output=True, text=True)
    assert "gas_spring" in loaded.stdout and "typer" in loaded.stdout.split()
    assert not {"scipy", "minertia.identification.identify"} & set(loaded.stdout.split())


@pytest.mark.parametrize("command", ["identify", "validate", "payload", "significance", "check"])
def test_help_keeps_the_names_of_the_tables(run, command):
    text = " ".join(run(command, "--help")[1].replace("│", " ").split())
    assert "'columns' and 'drive'" in text
