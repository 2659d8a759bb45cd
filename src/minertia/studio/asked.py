"""Request models: every name, number and list is validated here.

Files are named by keys of the project and runs by names of jobs; nothing here is a path.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from minertia.identification.campaigns.read import TABLES, file_options
from minertia.io.errors import MinertiaError
from minertia.io.schema import UNKNOWN, Option
from minertia.studio.options import JOBS, read_job

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
Keys = Annotated[list[Key], Field(max_length=200)]
CHANGED = tuple(name for name in TABLES if name)  # tables whose values requests change


USES = ("train", "validate")


class Asked(BaseModel):
    """Base class of requests; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, populate_by_name=True)


class CampaignAsked(Asked):
    """Changes of a campaign: logs by key, and values of its tables under the names used in the file.

    None removes a value; values that are not named are unchanged.
    """

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, populate_by_name=True)
    __pydantic_extra__: dict[str, Table] = Field(init=False)

    revision: Revision | None = None
    train: Keys = []
    unseen: Annotated[Keys, Field(alias="validate")] = []
    gravity: Annotated[list[FiniteFloat], Field(min_length=3, max_length=3)] | None = None

    @model_validator(mode="after")
    def _declared(self) -> CampaignAsked:
        """Reject names and values that are not options of a campaign file."""
        for name, table in (self.__pydantic_extra__ or {}).items():
            if name not in CHANGED:
                raise ValueError(f"there is no table '{name}' here; known tables: {', '.join(CHANGED)}")
            known = {key: one for key, one in file_options()[name].items() if key not in USES}  # logs go by key
            keys = {key: one for one in known.values() for key in one.keys}
            for key, value in table.items():
                if key not in keys:
                    raise ValueError(f"there is no key '{key}' here; known keys: {', '.join(keys)}")
                if not _can_be(keys[key], value):
                    raise ValueError(f"{name}.{key} must be {keys[key].must}")
        return self


def _can_be(one: Option, value: Any) -> bool:
    """Whether a request may set an option to this value: null, "?", or a valid value."""
    if value is None or UNKNOWN in (value if isinstance(value, list) else [value]):
        return True
    if one.name == "prior":  # else the name of a file
        return bool(value == "robot")
    if one.kind.is_mapping:  # None takes a name away
        return isinstance(value, dict) and one.fits({k: v for k, v in value.items() if v is not None})
    return one.fits(value)


class CampaignOf(Asked):
    """Job whose campaign is adopted: a proposal from log headers, or the campaign of an earlier identification."""

    job: JobName
    revision: Revision | None = None


class RobotAsked(Asked):
    """Robot to choose: a bundled robot by name, or a file of the project by key."""

    revision: Revision | None = None
    bundled: Word | None = None
    file: Key | None = None


class LabelAsked(Asked):
    """Name and tags of a run or of a log; an empty name restores its own."""

    title: Annotated[str, Field(max_length=120)] = ""
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=40)]], Field(max_length=20)] = []


class PostureAsked(Asked):
    """Coordinates of a posture [rad or m]."""

    q: Annotated[list[FiniteFloat], Field(max_length=200)]


class JobAsked(Asked):
    """Kind of a job and its settings, as declared in `JOBS`."""

    kind: Literal[tuple(JOBS)]  # type: ignore[valid-type]
    settings: Annotated[dict[Word, Any], Field(max_length=60)] = {}

    @model_validator(mode="after")
    def _declared(self) -> JobAsked:
        """Reject settings that are not options of the job, or not valid for them."""
        try:
            read_job(self.kind, self.settings)
        except MinertiaError as err:
            raise ValueError(str(err)) from None
        return self
