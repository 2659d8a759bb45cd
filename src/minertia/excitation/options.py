"""Options of the search for an excitation trajectory: shape, criterion, limits and search settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minertia.io.errors import Infeasible, expect_list, expect_one_of
from minertia.io.schema import Declared, check, like, option

if TYPE_CHECKING:
    from minertia.excitation.shapes import Shape

CRITERIA = ("condition", "scaled-condition", "logdet", "deviation")
FAMILIES = ("fourier", "spline")
SECONDS = 0.01, 1e5  # of a motion
RATES = 1.0, 1e5  # Hz at which motions are sampled
MOST = 1_000_000  # harmonics, pieces, samples or starts
BASE = "base"  # the floor unless another is given: the plane z = 0 of the base frame
ANYWHERE = "any"  # the start of a motion, where the search chooses it
FORMAT = 1  # of a file of limits
LARGEST = 1e12  # of lengths, rates and efforts in SI units; no robot has more


@dataclass(frozen=True, slots=True, repr=False)
class MotionShape(Declared):
    """Family of trajectories that is searched: parametrisation, duration and start posture."""

    family: str = option(
        "fourier",
        "Parametrisation of the trajectory: Fourier series, or splines of degree 5.",
        choices=FAMILIES,
        command="family",
        label="kind of motion",
    )
    duration: float = option(10.0, "Duration of the trajectory.", unit="s", range=SECONDS, command="duration")
    harmonics: int = option(5, "Harmonics of the Fourier series.", range=(1, MOST), command="harmonics")
    pieces: int = option(
        10,
        "Number of polynomial segments of the spline.",
        range=(1, MOST),
        command="pieces",
        label="segments of the spline",
    )
    start: tuple[float, ...] | str | None = option(
        None,
        "Posture at both ends of the trajectory; any for no constraint.",
        unit="rad or m",
        words=(ANYWHERE,),
        command="start",
        otherwise="near the middle of the joint ranges",
        label="posture at both ends",
    )


@dataclass(frozen=True, slots=True, repr=False)
class SensorPoseOptions(Declared):
    """Poses at rest for a force/torque sensor, planned instead of a trajectory."""

    sensor: str | None = option(
        None,
        "Link or frame of a force/torque sensor: plan poses at rest that weigh its tool, in poses.csv.",
        command="sensor",
        otherwise="plan a trajectory",
    )
    poses: int = option(12, "Number of these poses.", range=(3, 500), command="poses")


@dataclass(frozen=True, slots=True, repr=False)
class Optimality(Declared):
    """Optimality criterion of a motion, over the base regressor along it."""

    criterion: str = option(
        "condition",
        "Optimality criterion: condition number of the regressor, the same with unit-norm columns, volume of the "
        "confidence region (D-optimality), or largest predicted relative standard deviation.",
        choices=CRITERIA,
        titles={
            "condition": "condition number",
            "scaled-condition": "condition number, columns scaled",
            "logdet": "log det (D-optimal)",
            "deviation": "largest predicted standard deviation",
        },
        command="criterion",
    )
    rotors: bool = option(True, "Identify rotor inertias.", command="rotors", label="rotor inertias")
    friction: bool = option(True, "Identify friction and offsets.", command="friction", label="friction and offsets")
    noise: float | tuple[float, ...] | None = option(
        None,
        "Standard deviation of the effort noise, one number or one per joint.",
        unit="N m or N",
        range=(0, LARGEST),
        otherwise="a fraction of the largest nominal efforts",
        label="noise of the efforts",
    )


@dataclass(frozen=True, slots=True, repr=False)
class MotionSearch(Declared):
    """Settings of the trajectory search."""

    starts: int = option(
        3,
        "Number of random initial trajectories; the best result is kept.",
        range=(1, MOST),
        command="starts",
        label="random starts",
    )
    seed: int = option(0, "Random seed of the first search.", range=(0, 2**63), command="seed", label="random seed")
    n_samples: int = option(
        200,
        "Number of samples at which a trajectory is evaluated.",
        range=(1, MOST),
        key="samples",
        command="samples",
        label="samples of the motion",
    )
    patience: float = option(
        1.0,
        "Factor on the maximum number of iterations of a search.",
        above=0,
        range=(0, 1e6),
        label="patience of the search",
    )
    come_from: tuple[float, ...] | None = option(
        None,
        "Present posture of the robot: approach and return trajectories are computed as well. An error is raised "
        "before the search if none exists.",
        unit="rad or m",
        key="from",
        label="present posture",
        command="from",
    )


# ---------------------------------------------------------------------- limits


@dataclass(frozen=True, repr=False)
class Box(Declared):
    """Box in the base frame that the origin of a named frame must not leave."""

    frame: str = option(help="Frame whose origin must stay in the box; in files also a list of frames.")
    lower: tuple[float, ...] = option(help="Lower corner.", unit="m", range=(-LARGEST, LARGEST), length=3)
    upper: tuple[float, ...] = option(help="Upper corner.", unit="m", range=(-LARGEST, LARGEST), length=3)

    def __post_init__(self) -> None:
        check(self)
        if not all(a < b for a, b in zip(self.lower, self.upper, strict=True)):
            raise Infeasible(f"the box of frame '{self.frame}' is empty: its lower corner must be below its upper one")


@dataclass(frozen=True, repr=False)
class FrameBoxes(Box):
    """Box of a limits file, for one or several frames."""

    frame: tuple[str, ...] = like(Box, "frame")  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, repr=False)
class Obstacle(Declared):
    """Box-shaped obstacle, fixed in the base frame."""

    centre: tuple[float, ...] = option(
        help="Centre.", unit="m", range=(-LARGEST, LARGEST), length=3, example=(0.6, 0.0, 0.2)
    )
    size: tuple[float, ...] = option(
        help="Side lengths.", unit="m", above=0, range=(0, LARGEST), length=3, example=(0.2, 0.2, 0.4)
    )
    name: str = option("", "Name of the obstacle in the results.", otherwise="its number")


@dataclass(frozen=True, slots=True, repr=False)
class Foot(Declared):
    """Foot of a robot with a floating base, planted on level ground or lifted from it during a whole trajectory."""

    frame: str = option(help="Link or frame that the foot is fixed to.")
    at: tuple[float, ...] = option(
        (0.0, 0.0, 0.0),
        "Contact point, or the middle of the sole.",
        unit="m",
        range=(-LARGEST, LARGEST),
        length=3,
        otherwise="the origin of the frame",
    )
    size: tuple[float, ...] | None = option(
        None, "Length and width of the sole.", unit="m", above=0, range=(0, LARGEST), length=2, otherwise="a point"
    )
    radius: float = option(0.0, "Radius of a round foot about the contact point.", unit="m", range=(0, LARGEST))
    friction: float = option(0.5, "Friction coefficient of foot and ground.", above=0, range=(0, 10.0))
    lifted: bool = option(False, "Whether it stays above the ground, and may move.")


@dataclass(frozen=True, slots=True, repr=False)
class TableTop(Declared):
    """Table top that every link stays above."""

    height: float = option(help="Height of the table top in the base frame.", unit="m", range=(-LARGEST, LARGEST))


@dataclass(frozen=True, repr=False)
class Workspace(Declared):
    """Workspace of the robot in the base frame: floor, obstacles, boxes and required distances."""

    floor: float | str | None = option(
        BASE,
        "Height in the base frame that every link stays above, or none.",
        unit="m",
        range=(-LARGEST, LARGEST),
        words=(BASE,),
        command="floor",
        otherwise="the base plane, where the robot stands on it",
    )
    self_collision: bool = option(True, "Check self-collision.", command="self-collision")
    obstacles: Sequence[Shape] = option((), "Obstacles of other shapes (`minertia.excitation.shapes`).")
    boxes: Sequence[Box] = option((), "Boxes that the origins of named frames must not leave.")
    margin: float | None = option(
        None,
        "Minimum distance to floor, links and obstacles.",
        unit="m",
        above=0,
        range=(0, LARGEST),
        otherwise="20 mm, or 2 % of the robot's length if that is less",
    )
    radius: float | None = option(
        None,
        "Radius assumed for links without shapes in the robot file.",
        unit="m",
        above=0,
        range=(0, LARGEST),
        otherwise="3.5 % of the robot's length",
    )
    transmission_deg: float = option(
        20.0,
        "Minimum transmission angle: distance of the angles between links of closed loops from 0 and 180 degrees, "
        "where the loops are singular.",
        unit="degrees",
        above=0,
        range=(0, 89.9),
    )

    def __post_init__(self) -> None:
        for name in ("obstacles", "boxes"):
            expect_list(getattr(self, name), (object,), f"{name} of Workspace")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for one in self.boxes:
            expect_one_of(one, (Box,), "each of boxes of Workspace")
        check(self)


USUAL = Workspace()


def _rate(what: str, unit: str) -> Any:
    return option(
        None,
        f"Largest {what}, one number or one per joint.",
        unit=unit,
        above=0,
        range=(0, LARGEST),
        otherwise="those of the robot file",
    )


@dataclass(frozen=True, slots=True, repr=False)
class LimitOptions(Declared):
    """Motion limits as given in files, commands and requests."""

    position: float | tuple[float, ...] | tuple[tuple[float, ...], ...] | None = option(
        None,
        "Position limits: plus and minus one number, one number per joint, or pairs of lower and upper limits.",
        unit="rad or m",
        range=(-LARGEST, LARGEST),
        width=2,
        otherwise="those of the robot file",
    )
    velocity: float | tuple[float, ...] | None = _rate("velocity", "rad/s or m/s")
    acceleration: float | tuple[float, ...] | None = _rate("acceleration", "rad/s2 or m/s2")
    jerk: float | tuple[float, ...] | None = option(
        None,
        "Largest jerk, one number or one per joint.",
        unit="rad/s3 or m/s3",
        above=0,
        range=(0, LARGEST),
        otherwise="not limited",
    )
    effort: bool | float | tuple[float, ...] | None = option(
        None,
        "Largest effort, one number or one per joint; true for the limits of the robot file, false for no limit.",
        unit="N m or N",
        above=0,
        range=(0, LARGEST),
        otherwise="those of the robot file, if it also has masses",
    )
    effort_margin: float = option(
        0.1,
        "Fraction of every effort limit reserved for errors of the nominal model.",
        range=(0, 0.999),
        label="reserve of the efforts",
    )
    floor: bool | float | str | None = like(Workspace, "floor", help="Height in the base frame above which every "
"link stays, or none (in files: false).", label="height of the floor")  # fmt: skip
    table: TableTop | None = option(None, "Same as `floor`: a table with its `height`.", otherwise="none")
    self_collision: bool = like(Workspace, "self_collision")
    margin: float | None = like(Workspace, "margin", label="least distance")
    radius: float | None = like(Workspace, "radius", label="radius of links")
    transmission_deg: float = like(Workspace, "transmission_deg", label="least transmission angle")
    box: tuple[FrameBoxes, ...] = option((), "Boxes that the origins of named frames must not leave.", otherwise="none")
    obstacle: tuple[Obstacle, ...] = option((), "Box-shaped obstacles.", otherwise="none")
    foot: tuple[Foot, ...] = option(
        (), "Feet of a robot with a floating base.", otherwise="none: it hangs with its base held still"
    )
    contact_margin: float = option(
        0.3,
        "Fraction of every limit of contact forces reserved for errors of the nominal model and of tracking.",
        range=(0, 0.9),
    )
    format: int = option(FORMAT, "Format version of the written file.", range=(FORMAT, FORMAT))
    made_for: Mapping[str, Any] = option(
        factory=dict, help="Robot, joints and gravity for which the file was written.", otherwise="any robot"
    )

    def __post_init__(self) -> None:
        check(self)
        if self.floor is True:
            raise Infeasible("'floor' must be its height in the base frame [m], or false for none")
        if self.table is not None and self.floor != BASE:
            raise Infeasible("'floor' and 'table' are two names for the same constraint; give one of them")


JOINT_LIMITS = ("position", "velocity", "acceleration", "jerk", "effort", "effort_margin")  # options of joints alone
