"""`base_parameters`: symbolic regrouping rules and their numerical completion with a rank certificate.

The published rules leave a few parameters too many where gravity is zero and axes intersect, or where joints depend on
one another.  So every method ends with the rank of the regressor itself: parameters beyond the rank are merged
numerically and marked so.  A result is returned only with a valid certificate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from minertia.algebra import wide
from minertia.algebra.linear import Linear
from minertia.base import numeric
from minertia.base.certificate import CONFIRMED, SMALLEST, Certificate, Judged, Redrawn
from minertia.base.geometry import nearly_aligned
from minertia.base.grouping import BaseParameters, matrix_of
from minertia.base.numeric import Sample, wide_rank
from minertia.base.sets import BaseSet, Sets
from minertia.io.arrays import Array
from minertia.io.errors import InputError, RankError, UnknownName
from minertia.io.resources import one_thread
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.robot import Robot

METHODS = ("closed-form", "mlc", "numeric")
SECOND_DRAW = 1  # of the letters; the first tells which axes are aligned
DRAWS = 8  # of letters, until loops close
FRESH, FEWEST = 5, 10  # times fewer states to check a set on than to find it, and at least so many


def base_parameters(
    robot: RobotLike,
    method: str = "closed-form",
    *,
    rotors: bool = False,
    friction: bool = False,
    gravity: Sequence[float] | None = None,
    keep: Sequence[str] = (),
    seed: int = 0,
) -> BaseParameters:
    """Derive the base parameters of a robot (theory, eq. 13), with symbolic relations and a rank certificate.

    method: "closed-form" (regrouping rules), "mlc" (minimal linear combinations) or "numeric".  rotors:
    include rotor inertias (IA).  friction: include friction and offsets (FV, FC, OFF).  gravity: gravity
    vector [m/s2] in the base frame; default: the robot's.  keep: columns to retain as representatives where
    there is a choice.  seed: seed of the certificate's random states.  Raises RankError if no set can be
    certified, which happens for axes that are nearly but not exactly aligned.
    """
    robot = as_robot(robot)
    if str(method) not in METHODS:
        raise UnknownName("method", method, METHODS)
    robot = robot if gravity is None else robot.with_gravity(gravity)
    columns = robot.columns(rotors, friction)
    keep = (keep,) if isinstance(keep, str) else keep or ()
    if not (isinstance(seed, int) and seed >= 0):
        raise InputError(f"the seed must be an integer of at least 0, not {seed}")
    for name in keep:
        if name not in columns:
            raise UnknownName("column", name, columns)
    with one_thread():
        return Derivation(robot, columns, tuple(keep), seed).result(method)


class Derivation:
    """Regressor of a robot at random states, also at a second draw of its symbols, for all its candidate sets."""

    def __init__(self, robot: Robot, columns: tuple[str, ...], keep: tuple[str, ...], seed: int) -> None:
        self.robot, self.columns, self.seed = robot, columns, seed
        self.states = numeric.enough_states(robot, len(columns))
        self.sample = Sample.of(robot, columns, self.states, seed)
        self.fresh = Sample.to_check(robot, columns, max(FEWEST, self.states // FRESH), seed + 2)
        self.values = robot.other_values(SECOND_DRAW)
        self.other = self._redraw() if robot.has_letters else None
        self.sets = Sets(robot, columns, keep, self.sample, self.other, self.values)

    def _redraw(self) -> Sample:
        """Regressor at other values of the symbols; draws again if the loops do not close there."""
        if not self.robot.open_cuts:
            return self._drawn(SECOND_DRAW)
        for draw in range(SECOND_DRAW, SECOND_DRAW + DRAWS):
            try:
                return self._drawn(draw)
            except InputError:
                continue
        loops = ", ".join(f"'{cut.name}'" for cut in self.robot.open_cuts)
        raise InputError(
            f"the loops of '{self.robot.name}' ({loops}) close at the given values of their symbols, but at none "
            f"of {DRAWS} random draws near them; use one symbol for lengths that must be equal for a loop to "
            "close, or derive numeric relations (--numbers, letters=False in Python)"
        )

    def _drawn(self, draw: int) -> Sample:
        self.values = self.robot.other_values(draw)
        return Sample.of(self.robot.at(self.values), self.columns, self.states, self.seed + 1)

    def result(self, asked: str) -> BaseParameters:
        """Base parameters by the given method; by rank alone if the rules of the method do not hold."""
        rules = self.sets.rules
        among = range(len(self.columns)) if rules is None else rules.kept
        judged = self._judged(self.robot, self.sample, among)
        rank = judged.rank
        for method in dict.fromkeys(("numeric" if rules is None else asked, "numeric")):
            found = self.sets.by(method, rank)
            certificate = self._certificate(found, method, judged)
            if self._holds(found, certificate):
                return self._finished(found, method, certificate)
        raise RankError(_why(self.robot, found, certificate))

    def _judged(self, robot: Robot, sample: Sample, among: Sequence[int]) -> Judged:
        """Numerical rank of the selected columns.

        If loop closures make it ambiguous, the 60-digit rank is used, provided that it shows all columns to be
        independent.
        """
        rank, gap = sample.rank_and_gap(among)
        if not robot.open_cuts:
            return Judged(rank, gap)
        found = Judged(rank, gap, sample.smallest(among, rank))
        if found.is_clear or self.sets.rules is None or robot.is_floating:
            return found
        more = Judged(*wide_rank(robot, [self.columns[c] for c in among], self.seed), digits=wide.DIGITS)
        return more if more.is_clear and more.rank == len(among) else found

    def _certificate(self, found: BaseSet, method: str, judged: Judged) -> Certificate:
        """Certificate of a set: at the states of its derivation, at others and at a second draw of the symbols."""
        error = max(sample.error(found.kept, found.K) for sample in (self.sample, self.fresh))
        redrawn = self._redrawn(found, method)
        given = (judged.rank, judged.gap, error, self.states, self.seed, redrawn, judged.smallest, judged.digits)
        return Certificate(*given)

    def _redrawn(self, found: BaseSet, method: str) -> Redrawn | None:
        """Verify the symbolic relations at the second draw of the symbols.

        These are the relations of the set itself, or of the closed form if the set has numeric relations.
        """
        rules = self.sets.rules
        if self.other is None or rules is None:
            return None
        is_lettered = method != "numeric" and not any(found.is_numeric)
        lettered = found if is_lettered else rules
        K = matrix_of(lettered.forms, self.columns, self.values)
        error = self.other.error(lettered.kept, K)
        judged = self._judged(self.robot.at(self.values), self.other, lettered.kept)
        return Redrawn(self.values, len(lettered.kept), judged.rank, judged.gap, error)

    def _holds(self, found: BaseSet, certificate: Certificate) -> bool:
        """Whether a certificate is valid.

        At the robot's numerical values, fewer parameters than at generic values of the symbols are allowed.
        """
        if len(found.kept) != certificate.rank or not certificate.is_clear or certificate.error > CONFIRMED:
            return False
        redrawn = certificate.redrawn
        return redrawn is None or (
            redrawn.error <= CONFIRMED and (redrawn.rank == redrawn.count or certificate.rank < redrawn.count)
        )

    def _finished(self, found: BaseSet, method: str, certificate: Certificate) -> BaseParameters:
        where = {name: c for c, name in enumerate(self.columns)}
        kept = tuple(self.columns[c] for c in found.kept)
        return BaseParameters(
            robot=self.robot,
            method=method,
            columns=self.columns,
            names=found.names,
            relations=tuple(_sorted(form, where, own) for form, own in zip(found.forms, kept, strict=True)),
            is_numeric=found.is_numeric,
            K=_frozen(found.K),
            kept=kept,
            certificate=certificate,
        )


def _why(robot: Robot, found: BaseSet, c: Certificate) -> str:
    """Error message for a set without a valid certificate: cause, location and remedy."""
    head = f"the base parameters of '{robot.name}' cannot be certified: "
    if c.redrawn is not None and c.redrawn.error > CONFIRMED:
        return head + (
            f"at other values of its symbols the relations are wrong by {c.redrawn.error:.1e}; derive numeric "
            "relations instead (--numbers, letters=False in Python)"
        )
    if c.smallest is not None and c.smallest < SMALLEST:
        return head + (
            f"the smallest nonzero singular value is {c.smallest:.1e}, which "
            f"{'16 digits do not' if robot.is_floating else 'neither 16 nor 60 digits'} distinguish from rounding "
            "errors of lengths; give a seed in the middle of the loops' range of motion, or identify fewer "
            "parameters"
        )
    what = f"rank {c.rank} of {len(found.kept)}, gap {c.gap:.1e}, reconstruction error {c.error:.1e}"
    joints = nearly_aligned(robot)
    where = f"the axes of {', '.join(joints[:8])} are" if joints else "some axes or offsets are"
    return head + (
        f"{what}; {where} nearly but not exactly aligned; write those angles and lengths exactly, or snap them to "
        "right angles and zero offsets (--snap 0.002 or more, snap= in Python)"
    )


def _sorted(form: Linear, where: Mapping[str, int], own: str) -> Linear:
    """Sort the terms in the order of the columns, the parameter's own column first."""
    names = sorted(form.terms, key=lambda name: (name != own, where[str(name)]))
    return Linear({name: form.terms[name] for name in names})


def _frozen(K: Array) -> Array:
    K = np.array(K)
    K.flags.writeable = False
    return K
