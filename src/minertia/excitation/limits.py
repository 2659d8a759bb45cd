"""Constraints of a trajectory: joint limits, efforts, boxes for points of the robot, obstacles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minertia.excitation.collision import CollisionModel
from minertia.excitation.constraint import Constraint
from minertia.excitation.loops import LoopModel
from minertia.excitation.options import USUAL, Box, Foot, LimitOptions, Workspace
from minertia.excitation.space import room
from minertia.excitation.trajectory import frozen
from minertia.io.arrays import Array
from minertia.io.errors import Infeasible, ShapeError, expect_list, expect_one_of
from minertia.io.notebook import plural
from minertia.io.schema import check, like
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.robot import Robot

SMALLEST = 1e-9  # limit of velocity, acceleration or effort with which a joint can still move
ASSUMED_VELOCITY = 1.0  # rad/s or m/s, where the robot's file says nothing
ASSUMED_RAMP = 0.25  # s to reach the largest velocity, where the file says nothing of accelerations
ASSUMED_MOST = 20.0  # rad/s2 or m/s2
UNLIMITED = LimitOptions()  # beyond what the robot's file says


@dataclass(frozen=True)
class MotionLimits:
    """Limits of every coordinate, arrays of shape (n,) [rad or m, per s, per s2, per s3; N m or N].

    jerk: None if not limited (robot files have no jerk limits; `with_jerk` sets it). effort: None if efforts are not
    limited; effort_margin: fraction reserved for errors of the nominal model. boxes: for points of the robot.
    clearance: distances to keep from the floor, from obstacles and between links.  loops: required distance of loops
    from singular postures, and limits of their passive joints.  assumed: limit -> joints for which the file does not
    give it.  missing: limit that is not checked -> reason.  workspace: source of boxes, clearance and loops.
    constraints: your own (`with_constraints`).  feet: of a robot with a floating base; contact_margin: fraction of the
    limits of their contact forces that stays unused.
    """

    names: tuple[str, ...]
    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    effort: Array | None = None
    effort_margin: float = like(LimitOptions, "effort_margin")
    boxes: tuple[Box, ...] = ()
    clearance: CollisionModel | None = None
    loops: LoopModel | None = None
    notes: tuple[str, ...] = field(default=())
    assumed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    jerk: Array | None = None
    workspace: Workspace = USUAL
    constraints: tuple[Constraint, ...] = ()
    feet: tuple[Foot, ...] = ()
    contact_margin: float = like(LimitOptions, "contact_margin")

    def __post_init__(self) -> None:
        check(self)
        expect_list(self.constraints, (Constraint,), "constraints of MotionLimits")
        expect_list(self.names, (str,), "names of MotionLimits")
        expect_list(self.feet, (Foot,), "feet of MotionLimits")
        for name in ("lower", "upper", "velocity", "acceleration", "effort", "jerk"):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, frozen(self._each(name, values)))
        for name in ("assumed", "missing"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        self._check()

    def __repr__(self) -> str:
        parts = [f"{plural(len(self.names), 'joint')}", *(["efforts limited"] if self.effort is not None else [])]
        parts += ["jerk limited"] if self.jerk is not None else []
        parts += [f"{plural(len(self.boxes), 'frame')} kept in boxes"] if self.boxes else []
        parts += ["distances kept"] if self.clearance is not None else []
        parts += ["loops kept away from singular postures"] if self.loops is not None else []
        parts += [plural(len(self.constraints), "further constraint")] if self.constraints else []
        return f"<MotionLimits of {', '.join(parts)}>"

    def _each(self, what: str, given: ArrayLike) -> Array:
        """Value for each joint, shape (n,)."""
        values = _numbers(given)
        if values.shape != (len(self.names),) or not np.isfinite(values).all():
            count = plural(len(self.names), "finite number")
            raise ShapeError(f"{what} of MotionLimits must have {count}, one per joint")
        return values

    def _check(self) -> None:
        """Raise an error if a joint cannot move."""
        for j, name in enumerate(self.names):
            if not self.lower[j] < self.upper[j]:
                raise Infeasible(
                    f"joint '{name}' cannot move: its lower limit {self.lower[j]:g} is not below its upper limit "
                    f"{self.upper[j]:g}; correct them in the robot file, whose limits always apply, or in --limits"
                )
            for what in ("velocity", "acceleration", "jerk", "effort"):
                values = getattr(self, what)
                if values is not None and not values[j] >= SMALLEST:
                    raise Infeasible(
                        f"joint '{name}' cannot move: its {what} limit is {values[j]:g}; give a positive limit"
                    )

    def with_jerk(self, jerk: ArrayLike) -> MotionLimits:
        """Same limits with a jerk limit [rad/s3 or m/s3]: one value, or (n,)."""
        return replace(self, jerk=per_joint(self.names, "jerk", jerk))

    def with_constraints(self, *constraints: Constraint) -> MotionLimits:
        """Same limits with further constraints of your own."""
        return replace(self, constraints=(*self.constraints, *constraints))

    def with_feet(self, *feet: Foot) -> MotionLimits:
        """Same limits of a robot with a floating base that stands on these feet."""
        return replace(self, feet=(*self.feet, *feet))

    @property
    def middle(self) -> Array:
        """Posture in the middle of the joint ranges."""
        return np.asarray(0.5 * (self.lower + self.upper))

    @property
    def half(self) -> Array:
        """Half widths of the joint ranges."""
        return np.asarray(0.5 * (self.upper - self.lower))


def motion_limits(
    robot: RobotLike,
    *,
    position: ArrayLike | None = None,
    beyond_file: bool = False,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    effort: ArrayLike | bool | None = None,
    effort_margin: float = UNLIMITED.effort_margin,
    workspace: Workspace = USUAL,
) -> MotionLimits:
    """Motion limits: those given, and those of the robot file where None is given.

    position: one value or (n,) for symmetric limits (-value to value), or (n, 2) for lower and upper
    limits.  Stricter limits of the file take precedence, with a note, unless `beyond_file` states that the
    robot can do more than its file, which `run` never accepts.  effort: None for the limits of the file if
    it has both these and masses, True if it must have them, False for no limit, or values.  effort_margin:
    fraction of the effort limit that stays unused.  workspace: floor, obstacles, boxes, and self-collision.
    """
    robot = as_robot(robot).on_ground
    expect_one_of(workspace, (Workspace,), "workspace")
    space = room(robot, workspace)
    told = _Told(robot)
    lower, upper = _positions(robot, position, beyond_file, told)
    v, a = _both_rates(robot, velocity, acceleration, told)
    efforts = _efforts(robot, effort, told)
    if not beyond_file:
        v, a = told.within("velocity", v), told.within("acceleration", a)
        efforts = None if efforts is None else told.within("effort", efforts)
    return MotionLimits(
        names=robot.coordinate_names,
        lower=lower,
        upper=upper,
        velocity=v,
        acceleration=a,
        effort=efforts,
        effort_margin=effort_margin,
        boxes=tuple(workspace.boxes),
        clearance=space.model,
        loops=_loops(robot, workspace, told),
        notes=tuple(told.notes),
        assumed=told.assumed,
        missing={**told.missing, **space.missing},
        workspace=workspace,
    )


def usual_rates(robot: Robot) -> tuple[Array, Array]:
    """Velocity and acceleration limits (n,) of the robot file, or assumed values where it has none."""
    return _both_rates(robot, None, None, _Told(robot))


def _both_rates(
    robot: Robot, velocity: ArrayLike | None, acceleration: ArrayLike | None, told: _Told
) -> tuple[Array, Array]:
    v = _rates(robot, "velocity", velocity, np.full(robot.n, ASSUMED_VELOCITY), told)
    return v, _rates(robot, "acceleration", acceleration, np.minimum(v / ASSUMED_RAMP, ASSUMED_MOST), told)


def _loops(robot: Robot, workspace: Workspace, told: _Told) -> LoopModel | None:
    """Loop model of a robot with closed kinematic chains."""
    if not robot.cuts:
        return None
    model = LoopModel(robot, workspace.transmission_deg)
    if model.left_out:
        told.missing["distance of loops from singular postures"] = _listed(model.left_out)
    if model.unlimited:
        told.missing["position limits of passive joints"] = f"the robot file has none for {_listed(model.unlimited)}"
    rubbing = [robot.joints[j].name for j in robot.passive if robot.effects[j].get("FC")]
    if rubbing:
        told.missing["contribution of dry friction of passive joints to efforts"] = _listed(rubbing)
    return model if model.counts else None


@dataclass
class _Told:
    """Information beside the limits: notes, joints with assumed limits, and reasons for unchecked limits."""

    robot: Robot
    notes: list[str] = field(default_factory=list)
    assumed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def within(self, what: str, values: Array) -> Array:
        """Values (n,), reduced to the limits of the file where these are lower; a zero in the file means unknown."""
        robot = self.robot
        file = np.array([getattr(robot.joints[j].limits, what) or np.nan for j in robot.independent], float)
        file = np.where(file >= SMALLEST, file, np.nan)
        self.note_wider(what, values > file)
        return np.asarray(np.fmin(values, file))

    def note_wider(self, what: str, is_wider: NDArray[np.bool_]) -> None:
        """Add a note on limits that are wider than those of the file."""
        if is_wider.any():
            named = _listed([name for name, wider in zip(self.robot.coordinate_names, is_wider, strict=True) if wider])
            self.notes.append(
                f"the {what} limits given for {named} are wider than those of the robot file, so the latter apply"
            )


def _positions(robot: Robot, given: ArrayLike | None, beyond: bool, told: _Told) -> tuple[Array, Array]:
    """Lower and upper positions as given; beyond those of the file only if requested."""
    ends = np.array([_ends(robot, j) for j in robot.independent], float).reshape(-1, 2)
    if given is None:
        return _assumed_positions(robot, ends, told)
    asked = _ranges(robot, given)
    if beyond:
        return asked[:, 0], asked[:, 1]
    wider = (asked[:, 0] < ends[:, 0]) | (asked[:, 1] > ends[:, 1])  # false where the file says nothing (nan)
    told.note_wider("position", wider)
    return np.fmax(asked[:, 0], ends[:, 0]), np.fmin(asked[:, 1], ends[:, 1])


def _ends(robot: Robot, j: int) -> tuple[float, float]:
    """Lower and upper position of a joint in its file; nan if not given."""
    limits = robot.joints[j].limits
    return np.nan if limits.lower is None else limits.lower, np.nan if limits.upper is None else limits.upper


def _ranges(robot: Robot, given: ArrayLike) -> Array:
    """Position limits as given, shape (n, 2)."""
    values = _numbers(given)
    if values.shape == (robot.n, 2) and np.isfinite(values).all():
        return values
    reach = _per_joint(robot, "position", values)
    return np.column_stack([-reach, reach])


def _assumed_positions(robot: Robot, ends: Array, told: _Told) -> tuple[Array, Array]:
    """Position limits of the file; a full turn for revolute joints without limits."""
    unknown = np.asarray(np.isnan(ends).any(axis=1))
    if unknown.any():
        told.assumed["position"] = tuple(n for n, u in zip(robot.coordinate_names, unknown, strict=True) if u)
    for j, own in zip(robot.independent, ends, strict=True):
        joint = robot.joints[j]
        if joint.kind != "revolute" and np.isnan(own).any():
            raise Infeasible(f"the prismatic joint '{joint.name}' has no range in the robot file; give position limits")
    return np.where(np.isnan(ends[:, 0]), -np.pi, ends[:, 0]), np.where(np.isnan(ends[:, 1]), np.pi, ends[:, 1])


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:4]) + (" ..." if len(names) > 4 else "")


def _rates(robot: Robot, what: str, given: ArrayLike | None, assumed: Array, told: _Told) -> Array:
    if given is not None:
        return _per_joint(robot, what, given)
    values = [getattr(robot.joints[j].limits, what) for j in robot.independent]
    missing = [name for name, value in zip(robot.coordinate_names, values, strict=True) if value is None]
    if missing:
        unit = "rad/s or m/s" if what == "velocity" else "rad/s2 or m/s2"
        told.assumed[what] = tuple(missing)
        told.notes.append(
            f"no {what} limit is known for {_listed(missing)}; at most {float(assumed.max()):g} {unit} was assumed"
        )
    return np.array([assumed[c] if value is None else value for c, value in enumerate(values)], float)


def _efforts(robot: Robot, given: ArrayLike | bool | None, told: _Told) -> Array | None:
    if given is False:
        told.missing["effort"] = "switched off"
        return None
    if robot.has_parameters and robot.missing_links:
        told.missing["contribution of links without masses to efforts"] = _listed(robot.missing_links)
    if given is not None and given is not True:
        return _per_joint(robot, "effort", given)
    values = [robot.joints[j].limits.effort for j in robot.independent]
    missing = [name for name, value in zip(robot.coordinate_names, values, strict=True) if value is None]
    if not missing and (given or robot.has_parameters):
        return np.array(values, float)
    if given:
        raise Infeasible(
            f"effort limits were requested, but joint '{missing[0]}' has none in the robot file; give them as numbers"
        )
    some = "the robot file has none" if len(missing) == robot.n else f"the robot file has none for {_listed(missing)}"
    told.missing = {"effort": some if missing else "the robot file has no masses"}
    return None


def _per_joint(robot: Robot, what: str, given: ArrayLike) -> Array:
    return per_joint(robot.coordinate_names, what, given, f" of '{robot.name}'")


def _numbers(given: ArrayLike) -> Array:
    """Given values as an array; nan for non-numbers."""
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError, OverflowError):
        return np.array(np.nan)


def per_joint(names: Sequence[str], what: str, given: ArrayLike, whose: str = "") -> Array:
    """Finite values (n,) from one value for all joints or one value per joint."""
    values = _numbers(given)
    if values.shape not in ((), (1,), (len(names),)) or not np.all(np.isfinite(values)):
        raise ShapeError(f"limits of {what} must be one finite number or {len(names)}, one per joint{whose}")
    return np.broadcast_to(values, (len(names),)).copy()
