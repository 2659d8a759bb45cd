"""Writing description files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from minertia.errors import DescriptionError


def write_file(path: Path, text: str) -> None:
    """Write beside the file, then put it in its place: it appears whole or not at all."""
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
        temporary = None
    except OSError as err:
        raise DescriptionError(f"the file cannot be written ({err.strerror or err})", file=path) from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced; of a new one, what the user's mask leaves."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
