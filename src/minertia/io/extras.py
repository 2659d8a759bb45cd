"""Import of optional packages, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from types import ModuleType

from minertia.io.errors import MissingExtra


def load(package: str, extra: str) -> ModuleType:
    """Import a package; `MissingExtra` when it is not installed."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as err:
        name = package.partition(".")[0]
        if err.name != name:
            raise  # a real fault inside the package
        raise MissingExtra(name, extra) from None
