"""Sanitised text of robot files: identifiers from a safe alphabet, comments that cannot end early."""

from __future__ import annotations

import keyword
import re
import unicodedata

_WORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm bool class
    new delete this template typename namespace using public private protected virtual operator true false main
"""
# names of files: of our own self-test, and those that Windows keeps for devices
_FILES = "selftest con prn aux nul " + " ".join(f"{device}{k}" for device in ("com", "lpt") for k in range(10))
_RESERVED = frozenset((_WORDS + _FILES).split())
LONGEST = 40


def identifier(text: str, fallback: str = "robot") -> str:
    """A lower-case ASCII name that C, C++, Python and MATLAB accept."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:LONGEST].rstrip("_")
    if not name:
        return fallback
    if name[0].isdigit() or name in _RESERVED or keyword.iskeyword(name):
        name = f"{fallback}_{name}"
    return name


def comment(text: str) -> str:
    """One line that is safe inside any comment: printable ASCII without comment marks, backslashes or trigraphs."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "replace").decode("ascii")
    plain = "".join(c if " " <= c <= "~" else " " for c in plain)
    for bad, good in (("\\", " "), ("*/", "* "), ("/*", " *"), ("//", "/ "), ("??", "? "), ("*/", "* ")):
        while bad in plain:
            plain = plain.replace(bad, good)
    return re.sub(r" {2,}", " ", plain).strip()[:400].rstrip("*/ ")


def printable(text: str) -> str:
    """One line of text for XML, without control characters and surrogates."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r" {2,}", " ", plain).strip()[:400]
