"""Types of the reference as they are written in the code: names of aliases, without the modules they come from."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")  # how Sphinx writes an alias inside a union
MODULE = re.compile(r"~?\b(?:collections\.abc|typing|numpy)\.")


def plain_types(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Signature and returned type of one entry."""
    return _plain(signature), _plain(returned)


def _plain(text: str | None) -> str | None:
    return None if text is None else MODULE.sub("", ALIAS.sub(r"\1", text))


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", plain_types)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
