"""In-place editing of values in a TOML text: other values, comments and order are unchanged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tomli_w

from minertia.io.documents import DocumentError, toml_document
from minertia.io.extras import load


def edited(text: str, changes: Mapping[str, Any]) -> str:
    """Text with some values changed.

    changes: tables of new values; None removes a key, and a key that is not named is unchanged (RFC 7396).  If
    the text cannot be edited in place, it is rewritten: every value is kept, comments are lost.
    """
    before = toml_document(text)
    wanted = merged(before, changes)
    if same(before, wanted):
        return text
    tomlkit = load("tomlkit", "studio")
    try:
        document = tomlkit.parse(text)
        _change(document, changes)
        found = str(tomlkit.dumps(document))
        if same(toml_document(found), wanted):
            return found
    except (tomlkit.exceptions.TOMLKitError, DocumentError, ValueError, TypeError, KeyError, IndexError,
            AttributeError, RecursionError):  # fmt: skip
        pass  # what the editor cannot do is never worth a value
    return tomli_w.dumps(wanted)


def merged(document: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Document with changes: tables are merged, None removes a key, other values are replaced."""
    found = dict(document)
    for key, value in changes.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, Mapping):
            old = found.get(key)
            found[key] = merged(old if isinstance(old, Mapping) else {}, value)
        else:
            found[key] = _kept(found[key], value) if key in found else _plain(value)
    return found


def _kept(old: Any, value: Any) -> Any:
    """New value in which unchanged parts keep their written form."""
    if _is_equal(old, value):
        return old
    if isinstance(old, dict) and isinstance(value, Mapping):
        return {k: _kept(old[k], v) if k in old else _plain(v) for k, v in value.items() if v is not None}
    if not isinstance(old, list) or not isinstance(value, list | tuple):
        return _plain(value)
    if len(old) == len(value):
        return [_kept(item, one) for item, one in zip(old, value, strict=True)]
    return [next((item for item in old if _is_equal(item, one)), _plain(one)) for one in value]


def same(one: Any, other: Any) -> bool:
    """Whether two documents are equal, with 1 and 1.0 distinct; NaN equals NaN, and an empty table equals none."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = {key for table in (one, other) for key, value in table.items() if value != {}}
        return all(same(one.get(key, {}), other.get(key, {})) for key in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and bool(one == other)


def _is_equal(one: Any, other: Any) -> bool:
    """Whether a value is unchanged: 8.0 is kept where a page sends 8."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    if isinstance(one, dict) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_equal(value, other[key]) for key, value in one.items())
    return bool(one == other)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(v) for key, v in value.items() if v is not None}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value


def _change(table: Any, changes: Mapping[str, Any]) -> None:
    for key, value in changes.items():
        if value is None:
            if key in table:
                del table[key]
        elif isinstance(value, Mapping):
            _change_table(table, key, value)
        elif key not in table or not _is_equal(_unwrapped(table[key]), value) and not _change_list(table[key], value):
            table[key] = _plain(value)


def _change_table(table: Any, key: str, value: Mapping[str, Any]) -> None:
    if key in table and isinstance(table[key], Mapping):
        _change(table[key], value)
    elif stated := _plain(value):
        table[key] = stated


def _change_list(array: Any, wanted: Any) -> bool:
    """Change a list item by item, so that comments between its items are kept; False where that is not possible."""
    own = _unwrapped(array)
    if not isinstance(own, list) or not isinstance(wanted, list | tuple):
        return False
    if len(own) == len(wanted):
        for k, value in enumerate(wanted):
            if isinstance(own[k], dict) and isinstance(value, Mapping):
                _change(array[k], {**dict.fromkeys(own[k]), **value})
            elif not _is_equal(own[k], value):
                array[k] = _plain(value)
        return True
    kept = [item for item in own if any(_is_equal(item, value) for value in wanted)]
    if not all(map(_is_equal, kept, wanted)) or len(kept) > len(wanted):
        return False
    for k in reversed(range(len(own))):
        if not any(_is_equal(own[k], value) for value in wanted):
            del array[k]
    for value in wanted[len(kept) :]:
        array.append(_plain(value))
    return True


def _unwrapped(item: Any) -> Any:
    return item.unwrap() if hasattr(item, "unwrap") else item
