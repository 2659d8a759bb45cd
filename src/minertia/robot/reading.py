"""What every reader of descriptions shares: how a file is read, and its text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from minertia.io.errors import DescriptionError, expect_kinds
from minertia.io.files import reading
from minertia.robot.snap import ANGLE_TOLERANCE

MAX_BYTES = 20_000_000
MODEL = "identified model"  # kind of a TOML file that holds a robot with identified values


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a file is read.

    base: "fixed" or "floating", None for what the file says.  snap: tolerance [rad] on angles rounded in the file, 0 to
    take them as written.  letters: whether lengths stay letters.  loops: text and name of the file of loops beside a
    description (arm.loops.toml beside arm.urdf), None where there is none.
    """

    base: str | None = None
    snap: float = ANGLE_TOLERANCE
    letters: bool = True
    loops: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        expect_kinds(self)


def read_text(path: Path) -> str:
    """The text of a file, refused when it is too large or not text."""
    reading(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)  # its size may be said wrongly, or grow
        text = data.decode("utf-8-sig", errors="strict" if len(data) <= MAX_BYTES else "replace")
        size = max(path.stat().st_size, len(data))
    except (UnicodeDecodeError, OSError) as err:
        raise DescriptionError(f"the file cannot be read as text ({err.__class__.__name__})", file=path) from None
    if size > MAX_BYTES:
        raise DescriptionError(
            f"the file has {size / 1e6:.0f} MB; a robot description has at most {MAX_BYTES // 1_000_000} MB", file=path
        )
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def is_model_text(text: str) -> bool:
    """Whether a TOML text is an identified model; its first lines say so."""
    return f'kind = "{MODEL}"' in text[:400]
