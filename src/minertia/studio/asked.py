"""What requests may ask: every name, number and list is checked here, at the border.

Files are named by keys of the project and runs by names of jobs; nothing here is a path.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from minertia.codegen.generate import TARGETS
from minertia.codegen.programs import BUILDERS
from minertia.excitation.options import CRITERIA
from minertia.identification.campaigns.read import TABLES, file_options
from minertia.io.schema import UNKNOWN, Option

Key = Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
JobName = Annotated[str, Field(pattern=r"^[0-9]{4,6}-[a-z]{1,20}$")]
Word = Annotated[str, Field(max_length=200)]
Revision = Annotated[str, Field(max_length=64)]  # of the project as the page knows it
Scalar = bool | int | FiniteFloat | Word
Row = Annotated[list[Scalar], Field(max_length=2000)]
Value = Scalar | Row | Annotated[list[Row], Field(max_length=100)] | None
Effect = Word | Annotated[dict[Word, Scalar | Row], Field(max_length=20)]
Effects = Annotated[list[Effect], Field(max_length=60)]
Named = Annotated[dict[Word, FiniteFloat | None], Field(max_length=500)]
Table = Annotated[dict[Word, Value | Effects | Named], Field(max_length=60)]
Positive = Annotated[FiniteFloat, Field(gt=0, le=1e6)]
Keys = Annotated[list[Key], Field(max_length=200)]
CHANGED = tuple(name for name in TABLES if name)  # tables whose values requests change


USES = ("train", "validate")


class Asked(BaseModel):
    """A request: nothing that is not named here."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)


class CampaignAsked(Asked):
    """Changes of a campaign: logs by key, and values of its tables with the file's own names.

    None takes a value away; what is not named stays as it is.
    """

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, populate_by_name=True)
    __pydantic_extra__: dict[str, Table] = Field(init=False)

    revision: Revision | None = None
    train: Keys = []
    unseen: Annotated[Keys, Field(alias="validate")] = []
    gravity: Annotated[list[FiniteFloat], Field(min_length=3, max_length=3)] | None = None

    @model_validator(mode="after")
    def _declared(self) -> CampaignAsked:
        """Refuse what no option of a campaign file is, or can be."""
        for name, table in (self.__pydantic_extra__ or {}).items():
            if name not in CHANGED:
                raise ValueError(f"there is no table '{name}' here; known: {', '.join(CHANGED)}")
            known = {key: one for key, one in file_options()[name].items() if key not in USES}  # logs go by key
            keys = {key: one for one in known.values() for key in one.keys}
            for key, value in table.items():
                if key not in keys:
                    raise ValueError(f"there is no '{key}' here; known: {', '.join(keys)}")
                if not _can_be(keys[key], value):
                    raise ValueError(f"{name}.{key} must be {keys[key].must}")
        return self


def _can_be(one: Option, value: Any) -> bool:
    """Whether a request may give an option a value: none, one that is not known yet, or one that it can have."""
    if value is None or UNKNOWN in (value if isinstance(value, list) else [value]):
        return True
    if one.name == "prior":  # else the name of a file
        return bool(value == "robot")
    if one.kind.is_mapping:  # None takes a name away
        return isinstance(value, dict) and one.fits({k: v for k, v in value.items() if v is not None})
    return one.fits(value)


class CampaignOf(Asked):
    """A job whose campaign is taken: proposed from headers, or that of an earlier identification."""

    job: JobName
    revision: Revision | None = None


class RobotAsked(Asked):
    """A bundled robot by name, or a file of the project by key."""

    revision: Revision | None = None
    bundled: Word | None = None
    file: Key | None = None


class PostureAsked(Asked):
    """Coordinates of a posture [rad or m]."""

    q: Annotated[list[FiniteFloat], Field(max_length=200)]


class RobotSettings(Asked):
    """Which effects count."""

    rotors: bool = True
    friction: bool = False


class RobotJob(Asked):
    """Read the robot and derive its base parameters."""

    kind: Literal["robot"]
    settings: RobotSettings = RobotSettings()


class ProposeSettings(Asked):
    """Which logs; none for all."""

    logs: Keys = []


class ProposeJob(Asked):
    """Read the headers of logs."""

    kind: Literal["propose"]
    settings: ProposeSettings = ProposeSettings()


class PlainSettings(Asked):
    """Nothing."""


class PlainJob(Asked):
    """What needs the campaign alone."""

    kind: Literal["check", "identify"]
    settings: PlainSettings = PlainSettings()


class ValidateSettings(Asked):
    """Which."""

    model: Key
    logs: Annotated[Keys, Field(min_length=1)]


class ValidateJob(Asked):
    """A model on logs."""

    kind: Literal["validate"]
    settings: ValidateSettings


class LimitsAsked(Asked):
    """Limits of a motion, with the names of docs/excitation.md."""

    velocity: Positive | None = None
    acceleration: Positive | None = None
    effort: bool | None = None
    floor: FiniteFloat | bool | None = None
    self_collision: bool | None = None
    obstacle: Annotated[list[dict[Literal["name", "centre", "size"], Any]], Field(max_length=50)] | None = None


class ExciteSettings(Asked):
    """What the search is asked."""

    duration: Annotated[FiniteFloat, Field(ge=0.5, le=300)] = 10.0
    harmonics: Annotated[int, Field(ge=1, le=30)] = 5
    criterion: Literal[CRITERIA] = "condition"  # type: ignore[valid-type]
    starts: Annotated[int, Field(ge=1, le=20)] = 1
    seed: Annotated[int, Field(ge=0, le=2**31)] = 0
    patience: Annotated[FiniteFloat, Field(gt=0, le=10)] = 1.0
    limits: LimitsAsked = LimitsAsked()


class ExciteJob(Asked):
    """Look for an exciting motion."""

    kind: Literal["excite"]
    settings: ExciteSettings = ExciteSettings()


class GenerateSettings(Asked):
    """Of which model (none: the robot of the file), and what."""

    model: Key | None = None
    target: Literal[tuple(TARGETS)] = "c"  # type: ignore[valid-type]
    programs: Annotated[list[Literal[tuple(BUILDERS)]], Field(max_length=40)] = []  # type: ignore[valid-type]
    single: bool = False


class GenerateJob(Asked):
    """Write code."""

    kind: Literal["generate"]
    settings: GenerateSettings = GenerateSettings()


class RehearseSettings(Asked):
    """How long, how fast."""

    duration: Annotated[FiniteFloat, Field(ge=2, le=60)] = 8.0
    rate: Annotated[FiniteFloat, Field(ge=100, le=4000)] = 500.0


class RehearseJob(Asked):
    """Record logs of a simulated robot."""

    kind: Literal["rehearse"]
    settings: RehearseSettings = RehearseSettings()


class ControlSettings(Asked):
    """Models of the simulated arm and of its controller (none: the robot of the file), how long, and what is shown."""

    arm: Key | None = None
    known: Key | None = None
    seconds: Annotated[FiniteFloat, Field(ge=0.5, le=30)] = 4.0
    seed: Annotated[int, Field(ge=0, le=2**31)] = 0
    shows: Annotated[list[Literal["adaptive", "guiding"]], Field(max_length=2)] = []


class ControlJob(Asked):
    """Let a simulated arm follow a motion."""

    kind: Literal["control"]
    settings: ControlSettings = ControlSettings()


class FleetSettings(Asked):
    """Which store of the folder; part of false alarms among all, and days that a robot is learnt."""

    store: Key
    q: Annotated[FiniteFloat, Field(gt=0, lt=1)] = 0.1
    learning: Annotated[int, Field(ge=2, le=365)] = 30


class FleetJob(Asked):
    """Judge a fleet."""

    kind: Literal["fleet"]
    settings: FleetSettings


JobAsked = Annotated[
    RobotJob | ProposeJob | PlainJob | ValidateJob | ExciteJob | GenerateJob | RehearseJob | ControlJob | FleetJob,
    Field(discriminator="kind"),
]
