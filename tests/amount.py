"""How much of a property is tried: a part of the examples in the quick tests, all of them with those marked slow."""

from __future__ import annotations

QUICK = 4  # one of so many examples
is_whole = False  # set before tests are collected


def examples(count: int) -> int:
    """Examples to try of so many."""
    return count if is_whole else count // QUICK
