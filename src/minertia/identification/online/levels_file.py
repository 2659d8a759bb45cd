"""Levels of a watch as a TOML file."""

from __future__ import annotations

from pathlib import Path

import tomli_w

from minertia.identification.online.levels import WatchLevels
from minertia.io.documents import DocumentError, toml_document
from minertia.io.errors import DescriptionError, InputError
from minertia.io.files import is_file, why_no_file
from minertia.robot.formats.reading import read_text

KIND = "levels of a watch"


def levels_text(levels: WatchLevels) -> str:
    """The text of the file."""
    return tomli_w.dumps({"kind": KIND, **levels.to_dict()})


def read_levels(path: str | Path) -> WatchLevels:
    """Levels from their file."""
    if not is_file(path):
        raise DescriptionError(f"{why_no_file(path)}; `minertia watch --out DIR` writes levels.toml", file=path)
    try:
        document = toml_document(read_text(Path(path)))
        if document.get("kind") != KIND:
            raise InputError(f"this file does not say kind = '{KIND}'; `minertia watch --out DIR` writes one")
        return WatchLevels.from_dict(document)
    except DocumentError as err:
        raise DescriptionError(str(err), file=path, line=err.line) from None
    except InputError as err:
        raise DescriptionError(str(err), file=path) from None
