"""Files that a model was made of, by names and digests: whoever meets the model can say whether it is current."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from minertia.digests import file_digest
from minertia.files import files_read

MadeOf: TypeAlias = Mapping[str, Any]  # name, from the folder of the model on; size [bytes]; sha256
MOST = 1000  # files that are named
KEYS = {"name": str, "size": int, "sha256": str}


def made_of(folder: Path) -> tuple[MadeOf, ...]:
    """The files that the running command has read, before it writes; folder: that of its result."""
    here = os.path.realpath(folder)
    found = []
    for name in files_read()[:MOST]:
        with contextlib.suppress(OSError):  # a draft that is gone
            size, known = os.stat(name).st_size, file_digest(Path(name))
            found.append({"name": Path(os.path.relpath(name, here)).as_posix(), "size": size, "sha256": known})
    return tuple(found)


def read_made_of(document: Mapping[str, Any]) -> tuple[MadeOf, ...]:
    """The files that a model's document names; none where it names none, or something else."""
    rows = document.get("made_of")
    rows = rows if isinstance(rows, list) else []
    return tuple(
        row for row in rows if isinstance(row, dict) and all(isinstance(row.get(k), kind) for k, kind in KEYS.items())
    )


def is_changed(model: Path, file: MadeOf) -> bool | None:
    """Whether a file is another than when the model was made; None where it is gone.

    A file that is older than the model is not read again.
    """
    path = Path(os.path.realpath(model)).parent / file["name"]
    try:
        own, theirs = os.stat(model), os.stat(path)
        if theirs.st_size != file["size"]:
            return True
        is_older = max(theirs.st_mtime_ns, theirs.st_ctime_ns) < min(own.st_mtime_ns, own.st_ctime_ns)
        return not is_older and file_digest(path) != file["sha256"]
    except OSError:
        return None
