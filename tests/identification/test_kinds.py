"""Every verb on every kind of problem: it works, or refuses in one sentence that says what to do instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import minertia as mi
from minertia import Campaign
from minertia.calibration import CalibrationOptions
from minertia.identification.kind import Problem
from minertia.identification.kinds import KINDS, kind_of, kind_of_model, kinds
from minertia.identification.logs.recording import Recording
from minertia.identification.validate import predict_logs
from minertia.io.errors import MinertiaError
from minertia.options import ColumnMap, Command, WrenchOptions
from minertia.report import bundle, pages
from minertia.report.folders import check_identification, write_identification
from minertia.report.identification_tables import parameter_table, result_rows
from minertia.studio.job_work import JobWork
from minertia.studio.project import Project
from minertia.studio.work import VIEW, run
from tests.calibration.planted import arm, planted, write_csv
from tests.identification.planted_wrench import PlantedTool, write_poses
from tests.identification.test_commands import ARM, BODIES, GAINS, commands, recorded

ROBOT = ARM.with_parameters(BODIES)
FRICTION = np.array([[1.0, 0.5], [2.0, 1.0]])


def with_efforts(seed: int, robot: mi.Robot = ROBOT) -> Recording:
    """Efforts of the arm along a smooth motion, with noise."""
    t = np.arange(700) / 200
    q = commands(t, seed)
    qd = np.gradient(q, t, axis=0)
    qdd = np.gradient(qd, t, axis=0)
    tau = mi.inverse_dynamics(robot, q, qd, qdd) + FRICTION[0] * qd + FRICTION[1] * np.sign(qd)
    return Recording(t=t, q=q, tau=tau + 0.01 * np.random.default_rng(seed).normal(size=q.shape))


OF_LOGS = (
    '[command]\nkp = [150, 80]\nkd = [8, 4]\ndelay = 0.0075\n[model]\neffects = ["viscous", "coulomb"]\n'  # of both
)
TABLES = {
    "geometry": '[columns]\nangle = "rad"\nlength = "m"\n[calibration]\nlevels = ["zeros", "geometry"]\n',
    "wrench": '[wrench]\nbias = "constant"\n',
    "commands": OF_LOGS,
    "efforts": OF_LOGS,
}


def calibration(folder: Path) -> Campaign:
    """Points of a tool at postures, with planted corrections."""
    chain = arm("puma560")
    postures, _, _ = planted(chain, 70, 2)
    names = tuple(f"q{j}" for j in range(1, 7))
    write_csv(folder / "0.csv", postures.take(np.arange(45)), names)
    write_csv(folder / "1.csv", postures.take(np.arange(45, 70)), names)
    options = CalibrationOptions(("zeros", "geometry"))
    units = ColumnMap(angle="rad", length="m")
    return Campaign(chain.robot, folder / "0.csv", folder / "1.csv", columns=units, calibration=options)


def weighing(folder: Path) -> Campaign:
    """Wrenches of a tool on a sensor at poses."""
    rng = np.random.default_rng(3)
    poses = PlantedTool.drawn(rng).poses(rng, 18)
    files = [write_poses(folder / f"{k}.csv", poses.take(np.arange(18) % 3 // 2 == k)) for k in (0, 1)]
    return Campaign("puma560", *files, wrench=WrenchOptions(bias="constant"))


@dataclass(frozen=True)
class Case:
    """A campaign of one kind, with all that comes of it made once."""

    kind: str
    campaign: Campaign
    folder: Path

    @cached_property
    def problem(self) -> Problem:
        return mi.build_problem(self.campaign)

    @cached_property
    def estimate(self) -> mi.identification.Estimate:
        return mi.solve(self.problem)

    @cached_property
    def result(self) -> mi.Identification:
        return mi.judge(self.problem, self.estimate)

    @cached_property
    def model(self) -> mi.IdentifiedModel:
        return self.result.model()

    @property
    def unseen(self) -> Any:
        return self.campaign.validate[0].source

    @property
    def loaded(self) -> Any:
        """A log of the arm with a load; of other kinds the unseen one."""
        return with_efforts(2, ROBOT.with_payload(0.5)) if self.kind == "efforts" else self.unseen

    def file(self, name: str = "model.toml") -> Path:
        self.model.save(self.folder / name)
        return self.folder / name

    def write(self, log: Any, path: Path) -> None:
        """A log as a file of the studio's folder."""
        if isinstance(log, Path):
            path.write_bytes(log.read_bytes())
            return
        word, told = ("tau", log.tau) if log.tau is not None else ("q_ref", log.channels["command"])
        head = ",".join(["t", "q1", "q2", f"{word}1", f"{word}2"])
        np.savetxt(path, np.column_stack([log.t, log.q, told]), delimiter=",", header=head, comments="")

    def job(self, kind: str, **settings: Any) -> dict[str, Any]:
        """A job of the studio on a folder with files of this kind."""
        folder = self.folder / f"studio-{kind}"
        folder.mkdir()
        for k, log in enumerate((*self.campaign.train, *self.campaign.validate)):
            self.write(log.source, folder / f"{k}.csv")
        mi.write_robot(self.campaign.robot, folder / "arm.toml")
        self.model.save(folder / "model.toml")
        head = 'format = 1\nrobot = "arm.toml"\n[logs]\ntrain = ["0.csv"]\nvalidate = ["1.csv"]\n'
        (folder / "campaign.toml").write_text(head + TABLES[self.kind])
        project = Project(folder)
        if kind == "validate":
            keys = {file.title: file.key for file in project.files()}
            settings = {"model": keys["model.toml"], "logs": [keys["1.csv"]]}
        out = folder / "runs" / f"0001-{kind}"
        sentence, *_ = run(kind, JobWork(project, out, settings, lambda *args, **numbers: None))
        assert sentence
        return json.loads((out / VIEW).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    asked = Campaign(ROBOT, command=Command(**GAINS, delay=0.0075), effects=("viscous", "coulomb"))
    told = [replace(recorded(replace(asked, effects=None), seed=seed), source=f"{seed}.csv") for seed in (0, 1)]
    measured = [replace(with_efforts(seed), source=f"{seed}.csv") for seed in (0, 1)]
    logs = {"commands": told, "efforts": measured}
    made = {"geometry": calibration, "wrench": weighing}
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in made}
    return {kind: Case(kind, campaign(folders[kind]), folders[kind]) for kind, campaign in made.items()} | {
        kind: Case(kind, replace(asked, train=own[:1], validate=own[1:]), tmp_path_factory.mktemp(kind))
        for kind, own in logs.items()
    }


def written(case: Case) -> Any:
    check_identification(case.folder / "out", case.campaign)
    write_identification(case.folder / "out", case.result)
    return sorted(path.name for path in (case.folder / "out").iterdir())


def generated(case: Case) -> Any:
    return mi.generate(case.model.robot, case.folder / "code", programs=["inverse_dynamics"])


def drawn(case: Case) -> Any:
    figure = case.result.plot()
    plt.close(figure)
    return figure


def page(made: Callable[[Case], str]) -> Callable[[Case], Any]:
    """A page, where the studio's components are built."""
    return lambda case: made(case) if bundle.is_built() else pytest.skip(bundle.NOT_BUILT)


def efforts_of(case: Case) -> np.ndarray:
    """Efforts of the fitted log, as the only set of many; zeros where it has none."""
    recording = case.problem.logs[0].recording
    tau = None if recording is None else recording.tau
    return np.zeros((1, 2, 2)) if tau is None else tau[None]


VERBS: dict[str, Callable[[Case], Any]] = {
    "build_problem": lambda c: mi.build_problem(c.campaign),
    "solve": lambda c: mi.solve(c.problem),
    "solve by name": lambda c: mi.solve(c.problem, "wls"),
    "solve otherwise": lambda c: mi.solve(c.problem, "ridge"),
    "regression matrix": lambda c: (c.problem.W, c.problem.y),
    "solve many": lambda c: mi.solve_many(c.problem, efforts_of(c)),
    "judge": lambda c: mi.judge(c.problem, mi.solve(c.problem)),
    "identify": lambda c: mi.identify(c.campaign),
    "significance": lambda c: mi.significance(c.problem),
    "significance of a campaign": lambda c: mi.significance(c.campaign),
    "predict": lambda c: c.result.predict(mi.identification.filter_log(with_efforts(2), mi.options.Filter(20.0))),
    "excitation": lambda c: c.result.excitation,
    "observation": lambda c: c.result.observation,
    "covariance": lambda c: c.result.covariance,
    "loop": lambda c: c.result.loop,
    "plot": drawn,
    "text": lambda c: (repr(c.result), str(c.result), c.result._repr_html_(), c.result.to_frame()),
    "tables": lambda c: (parameter_table(c.result), result_rows(c.result)),
    "JSON": lambda c: c.result.to_json(),
    "model": lambda c: c.result.model(),
    "save": lambda c: mi.read_model(c.file("saved.toml")),
    "validate": lambda c: mi.validate(c.model, c.unseen),
    "validate a file": lambda c: mi.validate(c.file(), c.unseen),
    "score": lambda c: mi.identification.score_model(c.model, c.problem).to_dict(),
    "compare": lambda c: mi.compare(c.model, c.model).to_dict(),
    "sample": lambda c: c.result.sample(100),
    "bands": lambda c: mi.identification.predict_bands(c.result.sample(100), c.unseen),
    "generate": generated,
    "folder": written,
    "page": page(lambda c: mi.show(c.result).text),
    "page of a validation": page(lambda c: pages.validation_page(c.model, "m", predict_logs(c.model, c.unseen))),
    "page of a comparison": page(lambda c: mi.show(mi.compare(c.model, c.model)).text),
    "studio check": lambda c: c.job("check"),
    "studio identify": lambda c: c.job("identify"),
    "studio validate": lambda c: c.job("validate"),
    "payload": lambda c: mi.identify_payload(c.model, c.loaded),
    "watch": lambda c: mi.watch.learn_levels(c.model, c.unseen),
}
REFUSED = {
    **{(kind, "score"): "compare models on its logs with validate" for kind in ("geometry", "wrench", "commands")},
    **{(kind, "regression matrix"): "fit it with solve" for kind in ("geometry", "wrench", "commands")},
    **{(kind, "solve many"): "call solve for each" for kind in ("geometry", "wrench", "commands")},
    ("geometry", "solve by name"): "use auto",
    ("geometry", "solve otherwise"): "set levels in [calibration]",
    ("geometry", "significance"): "a fit of geometry has no effort equations",
    ("geometry", "significance of a campaign"): "check the standard deviations in result.parameters",
    ("geometry", "predict"): "identify the robot of its model",
    ("geometry", "observation"): "identify the robot of its model",
    ("geometry", "loop"): "identify from logs of commands",
    ("geometry", "studio check"): "identify, which counts missing readings",
    ("geometry", "sample"): "identify the corrected robot from logs of efforts",
    ("geometry", "bands"): "identify the corrected robot from logs of efforts",
    ("geometry", "payload"): "identify the corrected robot from logs of efforts",
    ("geometry", "watch"): "identify the corrected robot from logs of efforts",
    ("wrench", "solve by name"): "use auto",
    ("wrench", "solve otherwise"): "set bias in [wrench]",
    ("wrench", "significance"): "a fit of wrench has no effort equations",
    ("wrench", "significance of a campaign"): "check the standard deviations in result.parameters",
    ("wrench", "predict"): "identify the robot of its model",
    ("wrench", "observation"): "identify the robot of its model",
    ("wrench", "loop"): "identify from logs of commands",
    ("wrench", "studio check"): "identify, which tries other interpretations",
    ("wrench", "sample"): "give a model fitted to logs of efforts",
    ("wrench", "bands"): "give a model fitted to logs of efforts",
    ("wrench", "payload"): "give a model fitted to logs of efforts",
    ("wrench", "watch"): "give a model fitted to logs of efforts",
    ("commands", "significance"): "a fit of commands has no effort equations",
    ("commands", "significance of a campaign"): "check the standard deviations in result.parameters",
    ("commands", "solve otherwise"): "set method in [command]",
    ("commands", "payload"): "the log has no efforts; record them",
    ("commands", "watch"): "the log has no efforts; record them",
    ("efforts", "loop"): "identify from logs of commands",
    ("efforts", "watch"): "longer",  # its log is short
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_works_or_says_what_to_do_instead(kind: str, verb: str, cases: dict[str, Case]) -> None:
    case, said = cases[kind], REFUSED.get((kind, verb))
    if said is None:
        assert VERBS[verb](case) is not None
        return
    with pytest.raises(MinertiaError) as error:
        VERBS[verb](case)
    text = str(error.value)
    assert said in text and "\n" not in text and len(text) < 300, text


def test_campaigns_and_models_know_their_kind(cases: dict[str, Case]) -> None:
    assert [kind.kind for kind in kinds()] == list(KINDS) == list(cases)
    for kind, case in cases.items():
        assert kind_of(case.campaign).kind == case.problem.kind == kind_of_model(case.model).kind == kind
        assert kind_of_model(mi.read_model(case.file("known.toml"))).kind == kind
        assert case.result.verdict.is_good, case.result.verdict.reasons


def test_the_fit_of_commands_says_its_own_condition_number(cases: dict[str, Case]) -> None:
    """It had a made-up problem, whose condition number was 1."""
    result = cases["commands"].result
    found = result.excitation
    assert found.condition == result.estimate.condition > 2 and found.rank == found.count == len(result.estimate.names)


def test_an_estimate_of_another_kind_is_refused(cases: dict[str, Case]) -> None:
    told, measured, placed, weighed = (cases[kind] for kind in ("commands", "efforts", "geometry", "wrench"))
    pairs = ((told, measured), (measured, told), (placed, measured), (measured, placed), (weighed, placed),
             (placed, weighed))  # fmt: skip
    for problem, estimate in ((one.problem, other.estimate) for one, other in pairs):
        with pytest.raises(MinertiaError, match="solve"):
            mi.judge(problem, estimate)


def test_the_old_class_of_commands_still_tells_them(cases: dict[str, Case]) -> None:
    with pytest.warns(DeprecationWarning, match="problem.kind"):
        found = [isinstance(case.result, mi.identification.LoopIdentification) for case in cases.values()]
    assert found == [kind == "commands" for kind in cases]


def test_the_methods_of_commands_are_estimators(cases: dict[str, Case]) -> None:
    case = cases["commands"]
    found = mi.judge(case.problem, mi.solve(case.problem, "didim"))
    assert found.to_dict()["estimator"] == "didim" and found.training.relative > case.result.training.relative


def test_only_the_table_of_kinds_knows_their_names() -> None:
    """No branch on the kind outside of the kinds' own folders."""
    root = Path(mi.__file__).parent
    words = ("is_commanded(", "LoopIdentification)", '"loop" in', "LOOP in", "CommandProblem)", "EffortProblem)",
             "GeometryProblem)", "CalibratedModel)", "GeometryEstimate)", "WrenchProblem)", "WrenchModel)",
             "WrenchEstimate)")  # fmt: skip
    for path in root.rglob("*.py"):
        if {"closed_loop", "efforts", "geometry", "wrench"} & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8")
        assert not [word for word in words if word in text], path
