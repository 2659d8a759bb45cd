"""Options of a rehearsal: trajectories, sensors, friction and payload of the simulated robot, controllers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minertia.excitation.options import MotionSearch, MotionShape
from minertia.io.errors import Infeasible
from minertia.io.schema import Declared, check, like, option

if TYPE_CHECKING:
    from minertia.robot.robot import Robot

TURN_STEP, SLIDE_STEP = 1e-5, 1e-6  # rad and m: encoders
LOAD = 0.05  # part of the moving mass
FEWEST = 500  # samples of a motion
MOST_CUTOFF = 0.4  # part of the rate
STEPS = (1e-5, 0.02)  # s that a simulator may be asked for


def _shows() -> Iterable[str]:
    from minertia.simulation.shows import SHOWS

    return SHOWS


@dataclass(frozen=True, slots=True, repr=False)
class RehearsalOptions(Declared):
    """Options of a rehearsal."""

    noise: float = option(
        0.01, "Standard deviation of the effort noise, relative to each joint's rms effort.", above=0, command="noise"
    )
    rate: float = option(1000.0, "Rate of the controller and the log.", unit="Hz", above=0, command="rate")
    duration: float = like(MotionShape, "duration", help="Duration of each trajectory.")
    harmonics: int = like(MotionShape, "harmonics", help="Harmonics of the trajectories.")
    starts: int = like(MotionSearch, "starts", 1, command="")
    resolution: float | None = option(
        None,
        "Resolution of the encoders; 0 for ideal encoders.",
        unit="rad or m",
        range=(0, 1),
        command="resolution",
        otherwise=f"{TURN_STEP:g} rad for revolute and {SLIDE_STEP:g} m for prismatic joints",
    )
    cutoff: float = option(20.0, "Cut-off of the low-pass on positions.", unit="Hz", above=0, command="cutoff")
    seed: int = like(MotionSearch, "seed", help="Random seed of the trajectories and the noise.")
    delay: float = option(0.0, "Delay from a command to its effort.", unit="s", range=(0, 10), command="delay")
    stribeck: float = option(
        0.0,
        "Static friction in excess of Coulomb friction, relative to it (Stribeck effect).",
        range=(0, 100),
        command="stribeck",
    )
    load: float | None = option(
        None,
        "Payload that is attached while its mass is estimated.",
        unit="kg",
        above=0,
        command="load",
        otherwise=f"{100 * LOAD:g} % of the moving mass",
    )
    show: tuple[str, ...] = option((), "Generated controllers to test, or all.", choices=_shows, command="show")
    watch: float = option(
        60.0,
        "Duration of contact-free motion in which false collision alarms are counted.",
        unit="s",
        above=0,
        command="contact-free",
    )

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "show", tuple(dict.fromkeys(self.show)))
        if self.rate * self.duration < FEWEST:
            count = round(self.rate * self.duration)
            raise Infeasible(
                f"{self.rate:g} Hz over {self.duration:g} s give {count} samples; at least {FEWEST} are needed"
            )
        if self.cutoff >= MOST_CUTOFF * self.rate:
            raise Infeasible(
                f"a cut-off of {self.cutoff:g} Hz needs a rate above {self.cutoff / MOST_CUTOFF:g} Hz, not "
                f"{self.rate:g}"
            )

    def resolutions(self, robot: Robot) -> tuple[float, ...]:
        """Encoder resolution of every joint [rad or m]."""
        kinds = [robot.joints[j].kind for j in robot.independent]
        usual = [SLIDE_STEP if kind == "prismatic" else TURN_STEP for kind in kinds]
        return tuple(usual if self.resolution is None else [self.resolution] * len(kinds))


@dataclass(frozen=True, slots=True, repr=False)
class ValidationOptions(Declared):
    """How logs are predicted on which a model is validated."""

    band: float | None = option(
        None,
        "With samples of a model: probability of the prediction bands.",
        range=(0.01, 0.999),
        command="band",
        otherwise="0.95",
    )
    simulator: str | None = option(
        None,
        "For servo models: simulator that simulates the logs with its own integrator.",
        choices=("mujoco",),
        command="in",
        otherwise="minertia's simulation",
    )
    step: float = option(1e-3, "Time step of this simulator.", unit="s", range=STEPS, command="step")
    tool: str = option(
        "", "Name of the load on the sensors in these logs, if the model has several.", command="tool", otherwise="none"
    )


def _sample_formats() -> Iterable[str]:
    from minertia.simulation.sample_files import FORMATS

    return FORMATS


@dataclass(frozen=True, slots=True, repr=False)
class SampleFiles(Declared):
    """Files of samples for simulators, beside samples.npz."""

    export: tuple[str, ...] = option(
        (),
        "Formats of additional files for simulators.",
        choices=_sample_formats,
        command="export",
    )
