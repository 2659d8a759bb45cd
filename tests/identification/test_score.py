"""`score`: a model that anybody made is evaluated as identify evaluates its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.identification import score_model
from minertia.io.errors import MinertiaError
from tests import inside
from tests.arm import recorded_arm
from tests.shared import SHARED, needs_shared
from tests.test_docs import json_table

CAMPAIGN = """format = 1
name = "arm"
robot = "arm.urdf"
[logs]
train = ["a.csv", "b.csv"]
validate = ["c.csv"]
[model]
effects = ["viscous", "coulomb"]
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    """A folder with an arm, its logs, a campaign, and what identify writes."""
    folder = recorded_arm(tmp_path_factory.mktemp("arm"), 6.0)
    (folder / "set.toml").write_text(CAMPAIGN)
    done = inside.command(["identify", "--campaign", "set.toml", "--out", "out"], folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def problem(arm: Path) -> mi.Problem:
    return mi.build_problem(mi.read_campaign(arm / "set.toml"))


def left(found: dict) -> list[float]:
    (log,) = found["validation"]
    return [log["relative"], log["rmse"], *(p["relative"] for p in log["per_joint"])]


def predictions(problem: mi.Problem, model: Path, name: str) -> np.ndarray:
    """Times and efforts that the model predicts for the logged motion of a log, as another program would."""
    log = next(one for one in (*problem.logs, *problem.unseen) if one.name == name)
    (block,) = log.judged
    return np.column_stack([block.t, mi.read_model(model).predict(block)])


def write(path: Path, table: np.ndarray) -> None:
    np.savetxt(path, table, delimiter=",", header="t,tau1,tau2", comments="", fmt="%.17g")


def test_our_own_model_scores_as_it_was_identified(arm: Path) -> None:
    own = json.loads((arm / "out" / "result.json").read_text())
    done = inside.command(["score", "out/model.toml", "--on", "set.toml", "--json"], arm)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"format", *json_table()["score"]}
    assert left(found) == pytest.approx(left(own), rel=1e-9)
    assert found["training"]["relative"] == pytest.approx(own["training"]["relative"], rel=1e-9)
    assert found["verdict"]["grade"] == own["verdict"]["grade"] == "good"
    assert found["verdict"]["reasons"][: len(found["references"]) + 1] == own["verdict"]["reasons"][:3]
    assert (found["set"], found["robot"], found["kind"]) == ("arm", "arm", "model")
    assert set(found["references"]) == {"nominal with fitted friction", "the nominal model"}


@pytest.mark.parametrize("file", ["robot.mjcf", "robot.urdf"])
def test_exported_robots_score_as_their_own_programs_read_them(arm: Path, problem: mi.Problem, file: str) -> None:
    """MuJoCo and Pinocchio evaluated these files when they were written."""
    exports = {e["file"]: e for e in json.loads((arm / "out" / "result.json").read_text())["exports"]}
    ((told,), by) = exports[file]["left"], exports[file]["read_by"]
    found = score_model(arm / "out" / file, problem).to_dict()
    assert by in ("MuJoCo", "Pinocchio") and found["kind"] == "robot"
    assert left(found)[0] == pytest.approx(told["file"]["relative"], rel=1e-6)


def test_a_table_of_the_models_predictions_scores_as_the_model(arm: Path, problem: mi.Problem) -> None:
    model = arm / "out"
    write(arm / "predicted.csv", predictions(problem, model, "c.csv"))
    wanted, found = (score_model(entry, problem) for entry in (model, arm / "predicted.csv"))
    assert left(found.to_dict()) == pytest.approx(left(wanted.to_dict()), rel=1e-9)
    assert found.kind == "efforts" and found.verdict.is_good and found.training is None
    (arm / "tables").mkdir()
    for name in ("a.csv", "b.csv", "c.csv"):
        write(arm / "tables" / name, predictions(problem, model, name))
    whole = score_model(arm / "tables", problem)
    assert left(whole.to_dict()) == pytest.approx(left(wanted.to_dict()), rel=1e-9)
    assert whole.training.relative == pytest.approx(wanted.training.relative, rel=1e-9)


def test_a_table_includes_the_known_payload(arm: Path) -> None:
    """Efforts of the loaded robot are those that were measured, so they leave nothing."""
    text = CAMPAIGN.replace(
        '"c.csv"', '{ file = "loaded.csv", load = { mass = 0.75, at = "lower", com = [0.25, 0, 0] } }'
    )
    (arm / "loaded.toml").write_text(text)
    problem = mi.build_problem(mi.read_campaign(arm / "loaded.toml"))
    ((block,),) = (log.judged for log in problem.unseen)
    write(arm / "measured.csv", np.column_stack([block.t, block.tau]))
    found, own = score_model(arm / "measured.csv", problem), score_model(arm / "out", problem)
    assert found.validation[0].relative < 1e-12 and 0 < own.validation[0].relative < 0.02


def test_a_worse_model_gets_a_worse_grade(arm: Path, problem: mi.Problem) -> None:
    """The robot file has neither the friction nor the masses of the arm."""
    found = score_model(arm / "arm.urdf", problem)
    (log,), (told,) = found.validation, found.references["the nominal model"]
    assert log.relative == pytest.approx(told.relative, rel=1e-9)
    assert found.verdict.grade == "not good" and any("is not explained" in r for r in found.verdict.reasons)
    heavy = mi.read_robot(arm / "arm.urdf").with_payload(3.0)
    assert any("worse than the nominal model" in r for r in score_model(heavy, problem).verdict.reasons)


def test_a_set_without_validation_logs_gets_no_grade(arm: Path) -> None:
    (arm / "training.toml").write_text(CAMPAIGN.replace('validate = ["c.csv"]\n', ""))
    found = score_model(arm / "out", arm / "training.toml").to_dict()
    assert found["verdict"] is None and found["validation"] == [] and 0 < found["training"]["relative"] < 0.05
    assert "no validation log" in inside.command(["score", "out", "--on", "training.toml"], arm).stdout


def test_the_text_has_the_figures_and_the_grade(arm: Path) -> None:
    text = inside.command(["score", "out", "--on", "set.toml"], arm).stdout
    assert "nothing was fitted" in text and "the entry is good" in text and "nominal with fitted friction" in text


def test_what_cannot_be_scored_is_said_in_a_sentence(arm: Path, problem: mi.Problem) -> None:
    table = predictions(problem, arm / "out", "c.csv")
    write(arm / "half.csv", table[: len(table) // 2])
    write(arm / "sparse.csv", table[::300])
    write(arm / "backwards.csv", table[::-1])
    np.savetxt(arm / "other.csv", table, delimiter=",", header="t,x,y", comments="")
    (arm / "nothing").mkdir()
    other = mi.read_robot("puma560_physical")
    for entry, words in (
        (arm / "half.csv", "must cover"),
        (arm / "sparse.csv", "steps of"),
        (arm / "backwards.csv", "times must increase"),
        (arm / "other.csv", "tau1, tau2"),
        (arm / "nothing", "named like the logs"),
        (other, "same joint names"),
    ):
        with pytest.raises(MinertiaError, match=words):
            score_model(entry, problem)
    with pytest.raises(MinertiaError, match="examples.logs|available|mean"):
        score_model(arm / "out", "no_such_set")
    with pytest.raises(MinertiaError, match="no campaign file"):
        score_model(arm / "out", "no_such_set.toml")


@needs_shared
def test_sets_of_the_examples_have_names(arm: Path) -> None:
    """EMPS by its name, judged on what it was fitted to."""
    folder = SHARED / "data"
    found = score_model("emps", "emps", data=folder)
    assert found.campaign == "EMPS" and found.verdict is None and found.training is not None
