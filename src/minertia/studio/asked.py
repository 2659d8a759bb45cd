"""What requests may ask: every name, number and list is checked here, at the border.

Files are named by keys of the project and runs by names of jobs; nothing here is a path.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, field_validator

from minertia.codegen.generate import TARGETS
from minertia.codegen.programs import BUILDERS
from minertia.excitation.options import CRITERIA
from minertia.identification.campaigns.read import ESTIMATOR_KEYS, EVALUATION_KEYS, FILTER_KEYS
from minertia.identification.logs.columns_file import COLUMN_KEYS, DRIVE_KEYS

Key = Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
JobName = Annotated[str, Field(pattern=r"^[0-9]{4,6}-[a-z]{1,20}$")]
Word = Annotated[str, Field(max_length=200)]
Revision = Annotated[str, Field(max_length=64)]  # of the project as the page knows it
Scalar = bool | int | FiniteFloat | Word
Row = Annotated[list[Scalar], Field(max_length=2000)]
Value = Scalar | Row | Annotated[list[Row], Field(max_length=100)] | None
Table = Annotated[dict[Word, Value], Field(max_length=60)]
Effect = Word | Annotated[dict[Word, Scalar | Row], Field(max_length=20)]
Positive = Annotated[FiniteFloat, Field(gt=0, le=1e6)]
Keys = Annotated[list[Key], Field(max_length=200)]


class Asked(BaseModel):
    """A request: nothing that is not named here."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)


def _only(known: tuple[str, ...]) -> Any:
    def check(table: dict[str, Any]) -> dict[str, Any]:
        for name in table:
            if name not in known:
                raise ValueError(f"there is no '{name}' here; known: {', '.join(known)}")
        return table

    return check


class ModelTable(Asked):
    """Which effects are fitted, and which set of parameters; None takes a key away."""

    effects: Annotated[list[Effect], Field(max_length=60)] | None = None
    parameters: Literal["base", "mlc"] | None = None
    prior: Literal["robot"] | None = None
    fix: Annotated[dict[Word, FiniteFloat | None], Field(max_length=500)] | None = None


class CampaignAsked(Asked):
    """Changes of a campaign: logs by key, and values of its tables with the file's own names.

    None takes a value away; what is not named stays as it is.
    """

    revision: Revision | None = None
    train: Keys = []
    unseen: Annotated[Keys, Field(alias="validate")] = []
    gravity: Annotated[list[FiniteFloat], Field(min_length=3, max_length=3)] | None = None
    columns: Table = {}
    drive: Table = {}
    filter: Table = {}
    model: ModelTable = ModelTable()
    estimator: Table = {}
    evaluation: Table = {}

    _columns = field_validator("columns")(_only(COLUMN_KEYS))
    _drive = field_validator("drive")(_only(DRIVE_KEYS))
    _filter = field_validator("filter")(_only(FILTER_KEYS))
    _estimator = field_validator("estimator")(_only(ESTIMATOR_KEYS))
    _evaluation = field_validator("evaluation")(_only(EVALUATION_KEYS))


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
