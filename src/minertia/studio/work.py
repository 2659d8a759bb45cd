"""Job functions: the commands of the command line on a project's files, with the result data for the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import CampaignError, InputError, MinertiaError
from minertia.io.files import make_folder, write_file
from minertia.io.steps import StepCount
from minertia.robot.robot import Robot
from minertia.studio.job_work import JobWork
from minertia.studio.options import (
    CalibrateJob,
    CampaignJob,
    ControlJob,
    ExciteJob,
    FleetJob,
    GenerateJob,
    ProposeJob,
    RehearseJob,
    RobotJob,
    ValidateJob,
    WrenchJob,
    read_job,
)
from minertia.studio.project import CAMPAIGN, ProjectFile

if TYPE_CHECKING:
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.identify import Identification
    from minertia.identification.logs.file import LogFile
    from minertia.identification.logs.options import ColumnMap

VIEW, WEB_CODE = "view.json", "model.wasm"
PREVIEWED = 10  # rows of a log that the page shows
READING = (
    "header",
    "delimiter",
    "decimal",
    "encoding",
    "topic",
    "command_topic",
    "pose_topic",
    "pose_frame",
    "episode",
    "drop_torn",
)  # keys of [columns]


def run(kind: str, work: JobWork) -> tuple[str, str, dict[str, Any]]:
    """Run a job; the data of the page are in `VIEW`, written last.

    Returns a message on the result, its grade ("good", "usable", "not good"; "" where there is no verdict), and its
    figures for the table of runs.
    """
    view, sentence = KINDS[kind](work, read_job(kind, work.settings))
    text = json.dumps(view, allow_nan=False, separators=(",", ":"))
    write_file(make_folder(work.out) / VIEW, text, force=True)
    return sentence, str(view.get("grade", "")), dict(view.get("summary", {}))


# ---------------------------------------------------------------------- robot


def _robot(work: JobWork, asked: RobotJob) -> tuple[dict[str, Any], str]:
    from minertia.report.robot_views import robot_view
    from minertia.robot.files import read_robot
    from minertia.robot.shapes import UNREAD, file_pieces

    work.tell("reading the robot", 0.1)
    robot = read_robot(work.robot_name)
    work.tell("deriving base parameters", 0.3)
    view = robot_view(robot, rotors=asked.rotors, friction=asked.friction)
    view["unread"] = sorted({piece.link for piece in file_pieces(robot) if piece.kind == UNREAD})
    problems = sum(note["level"] != "info" for note in view["notes"])
    base = f"{view['base']['count']} base parameters" if "count" in view["base"] else "no base parameters"
    return view, f"{robot.name}: {base}, {problems} problem{'s' * (problems != 1)} of the file"


# ---------------------------------------------------------------------- logs and campaign


def _propose(work: JobWork, asked: ProposeJob) -> tuple[dict[str, Any], str]:
    """Campaign proposed from the headers of the logs, with "?" where the user must answer, and all columns."""
    from minertia.identification.campaigns.new import new_campaign
    from minertia.robot.files import read_robot

    project = work.project
    files = [project.file(key, "log") for key in asked.logs] or [f for f in project.files() if f.kind == "log"]
    if not files:
        raise InputError("there is no log in the folder yet; upload one first")
    work.tell("reading headers", 0.2)
    given = _given_columns(work)
    columns, previews, unread = _headers(files, given, read_robot(work.robot_name, letters=False))
    readable = [file for file in files if file.key in columns]
    if not readable:
        raise InputError(next(iter(unread.values())))
    text = new_campaign(work.robot_name, [file.path for file in readable], given)
    try:
        document = toml_document(text)
    except DocumentError as err:
        raise CampaignError(f"no campaign can be derived from the column names: {err}") from None
    names = {str(file.path): file.key for file in readable}
    logs = {use: [names.get(n, n) for n in document.get("logs", {}).get(use, ())] for use in ("train", "validate")}
    hints = [line.strip() for line in text.splitlines() if '"?"' in line and not line.startswith("#")]
    document["logs"] = logs
    document.pop("robot", None)
    left = 0 if "command" in document else sum(line.count('"?"') for line in hints)
    sentence = f"{left} question{'s' * (left != 1)} to answer" if left else "all columns are recognised"
    view = {"campaign": document, "text": text, "columns": columns, "previews": previews, "questions": hints}
    return {**view, "unread": [f"{file.title}: {unread[file.key]}" for file in files if file.key in unread]}, sentence


def _given_columns(work: JobWork) -> ColumnMap | None:
    """Column map of the campaign; None where it has none."""
    from minertia.identification.logs.columns_file import CampaignTable, parse_columns

    try:
        stated = dict((work.project.campaign() or {}).get("columns") or {})
        kept = {key: value for key, value in stated.items() if key in READING}
        return parse_columns(CampaignTable(kept, CAMPAIGN), CampaignTable({}, CAMPAIGN)) if kept else None
    except MinertiaError:
        return None  # the check says what is wrong


def _headers(
    files: Sequence[ProjectFile], given: ColumnMap | None, robot: Robot
) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """Columns of the logs by key, their first rows, and a message for each that cannot be read."""
    from minertia.identification.campaigns.new import as_written
    from minertia.identification.logs.columns_file import columns_beside
    from minertia.identification.logs.readers import open_log

    columns: dict[str, Any] = {}
    previews: dict[str, Any] = {}
    unread: dict[str, str] = {}
    for file in files:
        try:
            own = as_written(file.path, given or columns_beside(file.path))
            log = open_log(file.path, own, robot)
            columns[file.key], previews[file.key] = log.names(), _preview(log)
        except MinertiaError as err:
            unread[file.key] = str(err)
    return columns, previews, unread


def _preview(log: LogFile) -> dict[str, Any]:
    """First rows of a log as text, and how a text file is written."""
    from minertia.identification.logs.csv import CsvLog

    names = log.names()
    if isinstance(log, CsvLog):
        written = {"delimiter": log.delimiter, "decimal": log.decimal, "encoding": log.map.encoding}
        return {"rows": log.preview(PREVIEWED), "written": written}
    block = next(iter(log.blocks(names, PREVIEWED)), None)
    rows = [] if block is None else zip(*(block.columns[name][:PREVIEWED] for name in names), strict=True)
    return {"rows": [[f"{value:.6g}" for value in row] for row in rows], "written": None}


def _check(work: JobWork, asked: CampaignJob) -> tuple[dict[str, Any], str]:
    """Read every log with the settings of the campaign, and audit it."""
    from minertia.identification.audits.audit import audit
    from minertia.identification.audits.findings import checks_off
    from minertia.identification.campaigns.read import read_campaign
    from minertia.identification.efforts.floating_setups import floating_findings
    from minertia.identification.kinds import kind_of
    from minertia.report.fit_views import log_view
    from minertia.studio.log_curves import drop_curves, filtered_signals, filtered_view, keep_curves

    campaign = read_campaign(work.project.folder / CAMPAIGN)
    kind, robot = kind_of(campaign), campaign.robot.on_ground
    logs, titles, views = (*campaign.train, *campaign.validate), work.titles, []
    for k, log in enumerate(logs):
        title = titles.get(log.name.partition(" [")[0], log.name)
        work.tell(f"reading {title}", k / len(logs))
        recording = kind.recording(campaign, log)
        findings = audit(recording, robot)
        if campaign.robot.is_floating and log.file is not None:
            findings += floating_findings(campaign, log.file)
        view = log_view(title, recording, findings)
        cutoff, filtered = filtered_signals(recording, campaign.filter)
        view |= filtered_view(recording, cutoff, filtered)
        view["off"] = list(checks_off(recording, robot))
        view |= {"number": k, "has_detail": keep_curves(work.out, k, recording, filtered)}
        views.append({**view, "use": "train" if k < len(campaign.train) else "validate"})
    drop_curves(work.out.parent, work.out)
    errors = sum(f["level"] == "error" for view in views for f in view["findings"])
    warnings = sum(f["level"] == "warning" for view in views for f in view["findings"])
    view = {
        "grade": "not good" if errors else "good",
        "ok": not errors,
        "errors": errors,
        "warnings": warnings,
        "logs": views,
    }
    counted = f"{len(views)} log{'s' * (len(views) != 1)} read: {errors} errors, {warnings} warnings"
    return {**view, "joints": list(campaign.robot.coordinate_names)}, counted


def _identify(work: JobWork, asked: CampaignJob) -> tuple[dict[str, Any], str]:
    from minertia.identification.campaigns.read import read_campaign

    campaign = read_campaign(work.project.folder / CAMPAIGN)
    view, sentence = _identified(work, campaign)
    view["campaign"] = work.project.campaign()
    write_file(work.out / CAMPAIGN, (work.project.folder / CAMPAIGN).read_bytes())
    return view, sentence


def _calibrate(work: JobWork, asked: CalibrateJob) -> tuple[dict[str, Any], str]:
    """Calibrate the robot from files of measurements, apart from the campaign of its logs."""
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.logs.options import ColumnMap
    from minertia.robot.files import read_robot

    fitted, unseen = _measured(work, asked)
    columns = ColumnMap(angle=asked.angle, length=asked.length)
    robot = read_robot(work.robot_name)
    campaign = Campaign(robot, fitted, unseen, columns=columns, measures=asked.measure, calibration=asked.calibration)
    view, sentence = _identified(work, campaign)
    return view | {"campaign": None}, sentence


def _wrench(work: JobWork, asked: WrenchJob) -> tuple[dict[str, Any], str]:
    """Identify the tool on a force/torque sensor; without a robot the files contain the sensor's orientation."""
    from minertia.identification.campaigns.campaign import Campaign
    from minertia.identification.logs.options import ColumnMap
    from minertia.identification.weigh import sensor_alone
    from minertia.robot.files import read_robot

    fitted, unseen = _measured(work, asked)
    robot = read_robot(work.robot_name) if work.made_of.get("robot") else sensor_alone()
    campaign = Campaign(robot, fitted, unseen, columns=ColumnMap(angle=asked.angle), wrench=asked.wrench)
    view, sentence = _identified(work, campaign)
    return view | {"campaign": None}, sentence


def _measured(work: JobWork, asked: CalibrateJob | WrenchJob) -> list[list[Path]]:
    """Measurement files to fit, and those for validation."""
    found = [[work.project.file(key, "log").path for key in keys] for keys in (asked.measurements, asked.validate)]
    if not found[0]:
        raise InputError("choose files of measurements to fit first")
    return found


def _identified(work: JobWork, campaign: Campaign) -> tuple[dict[str, Any], str]:
    """Identify a campaign of any kind, write its result, and make its page."""
    from minertia.identification.identify import identify
    from minertia.report.fit_views import drawn_view, fit_view, titled
    from minertia.report.folders import check_identification, write_identification

    count = StepCount(2 * (len(campaign.train) + len(campaign.validate)) + 7)

    def tell(step: str) -> None:
        work.tell(step, count.begin(step))

    check_identification(work.out, campaign)
    result = identify(campaign, tell=tell)
    notes = write_identification(work.out, result, names=work.titles, tell=tell)
    tell("comparing curves")
    view = titled({"drawn": drawn_view(result.robot), **fit_view(result, work.titles)}, work.titles)
    tell("selecting the essential parameters")
    view["significance"] = _significance(result)
    view["notes"] = [f"{note.where}: {note.text}" for note in notes]
    view["grade"], view["summary"] = result.verdict.grade, _summary(campaign, result)
    word = result.verdict.word
    unseen = [r.relative for r in result.validation]
    told = f", {100 * max(unseen):.3g} % on validation logs" if unseen else ""
    return view, f"{word}: residual {100 * result.training.relative:.3g} % of the {result.problem.measure.word}{told}"


def _summary(asked: Campaign, result: Identification) -> dict[str, Any]:
    """Figures of an identification for the table of runs; chosen: settings that the campaign left open."""
    from minertia.identification.campaigns.record import campaign_record
    from minertia.report.bundle import finite

    record = campaign_record(result.problem.campaign)
    cutoff, unseen = record["filter"].get("cutoff_hz"), [r.relative for r in result.validation]
    effects = [str(e["kind"]) if isinstance(e, Mapping) else str(e) for e in record["effects"] or ()]
    left_open = {"effects": asked.effects is None, "cutoff_hz": asked.filter.cutoff_hz is None}
    return {
        "robot": result.robot.name,
        "effects": list(dict.fromkeys(effects)),
        "cutoff_hz": None if cutoff is None else finite(cutoff),
        "chosen": [name for name, is_open in left_open.items() if is_open],
        "estimator": str(result.to_dict()["estimator"]),
        "training": finite(result.training.relative),
        "validation": finite(max(unseen)) if unseen else None,
        "predicts": result.verdict.predicts,
        "knows": result.verdict.knows,
    }


def _significance(result: Identification) -> dict[str, Any] | None:
    """Smallest set of parameters that predicts as well; None where the logs do not determine it."""
    from minertia.identification.significance import significance
    from minertia.report.pages import significance_view

    try:
        return significance_view(significance(result.problem), result.problem)
    except MinertiaError:
        return None


def _validate(work: JobWork, asked: ValidateJob) -> tuple[dict[str, Any], str]:
    """Validate a model on logs to which it was not fitted."""
    from minertia.identification.kinds import kind_of_model
    from minertia.identification.model_file import read_model
    from minertia.identification.validate import validate

    project = work.project
    known = read_model(project.file(asked.model, "model").path)
    files = [project.file(key, "log") for key in asked.logs]
    found = validate(known, [file.path for file in files], tell=lambda step: work.tell(step, None))
    titles = work.titles
    rows = [{**r.to_dict(), "log": titles.get(r.log, r.log)} for r in found]
    worst, word = max((r.relative for r in found), default=0.0), kind_of_model(known).measure.word
    return {"validation": rows, "model": known.robot.name}, f"largest residual {100 * worst:.3g} % of the {word}"


# ---------------------------------------------------------------------- motion


def _excite(work: JobWork, asked: ExciteJob) -> tuple[dict[str, Any], str]:
    from minertia.excitation.excite import excite, family_of
    from minertia.excitation.limits_file import limits_of
    from minertia.report.folders import write_excitation
    from minertia.report.motions import motion_view
    from minertia.robot.files import read_robot

    robot = read_robot(work.robot_name, letters=False)

    def progress(p: Any) -> None:
        part = min((p.start - 1 + p.evaluations / (p.evaluations + 60)) / p.starts, 0.95)
        work.tell(f"start {p.start} of {p.starts}", part, evaluations=p.evaluations, criterion=p.value)

    work.tell("searching for a first trajectory", 0.02)
    found = excite(
        robot,
        family_of(asked.shape),
        limits=limits_of(robot, asked.limits),
        start=asked.shape.start,
        optimality=asked.optimality,
        search=asked.search,
        progress=progress,
    )
    if found.interrupted:
        raise KeyboardInterrupt
    write_excitation(work.out, found)
    return motion_view(found), f"condition number {found.condition:.4g} for {found.base.count} base parameters"


# ---------------------------------------------------------------------- code


def _generate(work: JobWork, asked: GenerateJob) -> tuple[dict[str, Any], str]:
    from minertia.codegen.generate import generate
    from minertia.codegen.kernels.build import CompilerMissing
    from minertia.report.tables import unit_of
    from minertia.simulation.compiled import tested_code

    robot, target = work.robot(asked.model), asked.code.target
    work.tell("generating", 0.2)
    precision = asked.arithmetic.precision
    made = generate(robot, work.out / "code", programs=asked.code.programs, target=target, arithmetic=asked.arithmetic)
    grade, tested, live = (
        "",
        "not compiled: only the target c is compiled",
        {"why": "only C in double precision can run in the page"},
    )
    if target == "c":
        work.tell("compiling and running the self-test", 0.7)
        try:
            place = tested_code(made.files)
            grade, tested = "good", "compiled here, and its self-test passed"
            live = live if precision == "float" else _live(work, robot, place)
        except CompilerMissing as err:
            tested = f"not compiled: {err}"
            live = {"why": str(err)}
    files = [{"name": p.relative_to(work.out / "code").as_posix(), "bytes": p.stat().st_size} for p in made.files]
    counts = {name: dict(count) for name, count in made.counts.items()}
    view = {"robot": robot.name, "target": target, "files": files, "counts": counts, "grade": grade, "tested": tested,
            "notes": list(made.notes), "effects": dict(made.effects), "hash": made.hash, "live": live,
            "units": {name: unit_of(robot, name) for name in made.effects}}  # fmt: skip
    return view, f"{len(files)} files; {tested}"


def _live(work: JobWork, robot: Robot, place: Path) -> dict[str, Any]:
    """WebAssembly inverse dynamics for the page with reference states for verification; or why it failed."""
    from minertia.simulation.in_browser import reference_states, web_code

    work.tell("compiling for the page", 0.9)
    try:
        states = reference_states(robot)
        write_file(work.out / WEB_CODE, web_code(robot, place), seal=False)
    except MinertiaError as err:
        return {"why": str(err)}
    joints = []
    for name, j in zip(robot.coordinate_names, robot.independent, strict=True):
        joint, limits = robot.joints[j], robot.joints[j].limits
        row = {"name": name, "slides": joint.kind == "prismatic", "lower": limits.lower, "upper": limits.upper}
        joints.append({**row, "velocity": limits.velocity})
    return {"joints": joints, "states": states}


# ---------------------------------------------------------------------- rehearsal


def _rehearse(work: JobWork, asked: RehearseJob) -> tuple[dict[str, Any], str]:
    """Record logs of a simulated robot, for a campaign without logs."""
    from minertia.report.bundle import write_page
    from minertia.report.rehearsal_page import rehearsal_page
    from minertia.robot.files import read_robot
    from minertia.simulation.rehearsal import rehearse
    from minertia.simulation.rehearsed import RehearsalStep

    done = 0

    def progress(step: RehearsalStep) -> None:
        nonlocal done
        done += 1
        work.tell(f"{step.name}: {step.text}", min(done / 9, 0.95))

    robot = read_robot(work.robot_name, letters=False)
    work.tell("searching for trajectories", 0.02)
    found = rehearse(robot, asked.rehearsal, out=work.out, with_control=False, progress=progress)
    write_page(work.out / "rehearsal.html", rehearsal_page(found, work.out).written)
    logs = {}
    for name in ("training", "unseen"):
        path = work.out / f"{name}-log.csv"
        if path.is_file():
            upload = work.project.upload("log", f"rehearsed {name}.csv")
            with upload.open() as file:
                file.write(path.read_bytes())
            logs[name] = upload.close().key
    steps = [{"name": step.name, "seconds": step.seconds, "text": step.text} for step in found.steps]
    return {"steps": steps, "logs": logs, "skipped": list(found.skipped)}, f"{len(logs)} logs recorded in simulation"


# ---------------------------------------------------------------------- control and fleets


def _control(work: JobWork, asked: ControlJob) -> tuple[dict[str, Any], str]:
    from minertia.studio.control_work import control

    return control(work, asked)


def _fleet(work: JobWork, asked: FleetJob) -> tuple[dict[str, Any], str]:
    from minertia.studio.fleet_work import fleet

    return fleet(work, asked)


KINDS: dict[str, Callable[[JobWork, Any], tuple[dict[str, Any], str]]] = {
    "robot": _robot,
    "propose": _propose,
    "check": _check,
    "identify": _identify,
    "validate": _validate,
    "calibrate": _calibrate,
    "wrench": _wrench,
    "excite": _excite,
    "generate": _generate,
    "rehearse": _rehearse,
    "control": _control,
    "fleet": _fleet,
}
