"""`calibrate`: from a robot and files of measurements to corrected geometry with intervals and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from minertia.calibration.chain import Chain, chain_of, moved
from minertia.calibration.choice import LevelChoice, chosen, groups_of, thinned
from minertia.calibration.fit import GeometryFit
from minertia.calibration.folds import GeometryProblem, RegionsLeftOut, left_out, regions, without_groups
from minertia.calibration.joints import SHAPES, columns_at, joint_columns
from minertia.calibration.judging import judged
from minertia.calibration.measures import SamePointMeasure
from minertia.calibration.options import LEVELS, CalibrationOptions, MeasurementColumns
from minertia.calibration.readings import Measurements, parse_columns, read_measurements
from minertia.calibration.result import Calibration, ReadingErrors, ShownGeometry, errors_row, geometric_values
from minertia.calibration.setups import other_readings
from minertia.calibration.spread import spread_of
from minertia.io.errors import InputError
from minertia.io.resources import one_thread
from minertia.io.tables import CheckedTable, load_toml
from minertia.robot.files import RobotLike, as_robot

WEAK = 1e-3  # of the largest singular value, columns scaled: directions that these postures hardly show
RANK = 1e-9  # of the largest singular value: what is smaller is rounding
FEWEST = 4  # postures
Told = Callable[[str], None]


def calibrate(
    robot: RobotLike,
    measurements: Sequence[str | Path] | str | Path,
    validate: Sequence[str | Path] | str | Path = (),
    columns: MeasurementColumns | str | Path | None = None,
    options: CalibrationOptions | None = None,
    *,
    tell: Told | None = None,
) -> Calibration:
    """Correct a robot's geometry by measurements of its tool.

    measurements, validate: files of readings (rows are postures), to fit and to judge on.  columns: what their
    columns mean, as a value or a TOML file; None to look in the header.  tell: is given a line at each step.
    """
    options = options or CalibrationOptions()
    chain = chain_of(as_robot(robot), options.tip, options.root)
    meaning = _meaning(columns)
    train = read_measurements(_several(measurements), chain, meaning)
    unseen = [read_measurements([path], chain, meaning) for path in _several(validate)]
    with one_thread():
        return _calibrated(chain, train, unseen, options, tell or (lambda line: None))


def _several(paths: Sequence[str | Path] | str | Path) -> list[str | Path]:
    return [paths] if isinstance(paths, (str, Path)) else list(paths)


def _meaning(columns: MeasurementColumns | str | Path | None) -> MeasurementColumns | None:
    if columns is None or isinstance(columns, MeasurementColumns):
        return columns
    return parse_columns(load_toml(columns, CheckedTable))


def _calibrated(
    chain: Chain, train: Measurements, unseen: Sequence[Measurements], options: CalibrationOptions, tell: Told
) -> Calibration:
    if train.postures.count < FEWEST:
        raise InputError(f"{train.postures.count} postures are too few; a calibration needs at least {FEWEST}")
    if any(measure.unit == "px" for measure in train.postures.measures):
        raise InputError(
            "pixels are not calibrated from yet: where a camera stands cannot be found from nothing; measure poses "
            "with a board, or places with two cameras, and give those"
        )
    levels = tuple(LEVELS) if options.levels is None else tuple(options.levels)
    problem = _problem(chain, train, groups_of(levels))
    tell("base and tool")
    reach = _reach(problem)
    others = other_readings(problem, reach)
    tell("levels of corrections, judged on regions left out")
    choice = chosen(problem, levels) if options.levels is None else LevelChoice(levels, ())
    tell(f"fit of {', '.join(choice.levels) or 'base and tool'}")
    nominal = problem.fit(())
    found = problem.fit(choice.groups, start=nominal.state) if choice.levels else nominal
    zeros = problem.fit(("zeros",), start=nominal.state)
    training = _errors("training", problem, [found, nominal, zeros])
    validation = tuple(
        _errors(m.files[0], _problem(chain, m, choice.groups, like=problem), [found, nominal, zeros]) for m in unseen
    )
    spread = spread_of(found)
    values = geometric_values(found, spread)
    judge_on = validation or (_folds(problem, choice, training),)
    return Calibration(
        chain,
        found,
        spread,
        choice,
        _shown(found),
        training,
        validation,
        values,
        judged(judge_on, training, choice, values, others, reach, is_unseen=bool(validation)),
        other_readings=others,
        notes=train.notes,
        zeros_in_file=options.zeros == "file",
    )


def _problem(
    chain: Chain, m: Measurements, groups: Sequence[str], like: GeometryProblem | None = None
) -> GeometryProblem:
    """Postures with the joint corrections of some groups; like: a problem whose corrections they are."""
    gravity = np.array(chain.robot.gravity, float)
    wanted = [g for g in groups if g in SHAPES]
    if like is None:
        columns = joint_columns(chain, wanted, m.postures.q, gravity)
    else:
        columns = columns_at(chain, [c for c in like.columns if c.group in wanted], m.postures.q, gravity)
    return GeometryProblem(chain, m.postures, tuple(columns), m.places)


def _reach(problem: GeometryProblem) -> float:
    """Largest extent of the places that the tool comes to [m]."""
    chain = problem.chain
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(problem.postures.q)).tool
    return max(float(np.ptp(tool[:, :3, 3], axis=0).max()), 0.1)


def _errors(name: str, problem: GeometryProblem, fits: Sequence[GeometryFit]) -> ReadingErrors:
    """Figures of a file for the fit, for base and tool alone, and for zeros alone."""
    everything = np.arange(problem.postures.count)
    sizes = [problem.errors(without_groups(f), everything)[1] for f in fits]
    return errors_row(name, problem.postures.measures[0].unit, sizes[0], sizes[1], sizes[2])


def _folds(problem: GeometryProblem, choice: LevelChoice, training: ReadingErrors) -> ReadingErrors:
    """Errors on regions left out, where no posture was kept back."""
    tried = dict(choice.tried)
    if choice.levels not in tried:
        some = thinned(problem)
        region = regions(some)
        if len(np.unique(region)) < 2:
            return training
        nothing = left_out(some, (), region)
        tried = {(): nothing, choice.levels: left_out(some, choice.groups, region, nothing)}
    best: RegionsLeftOut = tried[choice.levels]
    return errors_row("regions left out", training.unit, best.sizes, tried[()].sizes)


def _shown(found: GeometryFit) -> ShownGeometry:
    """Ranks of the columns at these postures, joint corrections left out, and what is hardly shown."""
    layout = found.layout
    rows = layout.linearised(found.state)
    frames = len(layout.frame_columns)
    own = sum(
        3 if isinstance(m, SamePointMeasure) else len(m.own) for m in layout.postures.measures
    )  # places of groups are means, not values
    skip = len(layout.joint_columns)
    A = np.concatenate([rows.A[:, :frames], rows.A[:, frames + skip :]], axis=1)
    A = A[:, np.linalg.norm(A, axis=0) > 0]
    s = np.linalg.svd(A / np.linalg.norm(A, axis=0), compute_uv=False)
    groups = A.shape[1] - frames - own
    here = int((s > RANK * s[0]).sum())
    gap = float(s[here - 1] / s[here]) if here < len(s) else float("inf")
    weak = _weak(found)
    return ShownGeometry(frames + own, here - max(groups, 0), gap, float(s[here - 1] / s[0]), weak)


def _weak(found: GeometryFit) -> tuple[str, ...]:
    """Names that make up directions which these postures hardly show."""
    rows = found.layout.linearised(found.state)
    A = rows.A[:, found.active]
    length = np.linalg.norm(A, axis=0)
    _, s, Vt = np.linalg.svd(A[:, length > 0] / length[length > 0], full_matrices=False)
    names = [name for name, size in zip(found.names, length, strict=True) if size > 0]
    told = []
    for k in np.flatnonzero(s < WEAK * s[0]):
        most = np.flatnonzero(np.abs(Vt[k]) > 0.3)
        told.append(" with ".join(names[c] for c in most[:4]))
    return tuple(dict.fromkeys(t for t in told if t))
