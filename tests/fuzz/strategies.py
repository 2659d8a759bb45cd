"""Inputs that no reader was written for: noise, and valid files with something broken in them.

Every strategy gives the bytes of a file.  A mutation is a short list of small steps, drawn one by one, so that what
hypothesis reports is the smallest damage that still breaks a reader.
"""

from __future__ import annotations

import copy
import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tomli_w
from hypothesis import strategies as st

NUMBERS = (
    "nan", "inf", "-inf", "1e400", "-1e400", "1e308", "1e-400", "9" * 400, "9" * 5000, "-0", "0", "1e60", "0x1F",
    "1_000", "1,5", "٣", "1e", "+.", "--1", "1e99999999999", "1/0", "pi", "cos(1e300)", "-1", "2", "1" + "0" * 60,
    "1e-300",
)  # fmt: skip
TEXTS = (
    "", " ", "\0", "\x1b[31mred", "\r\n", "\u2028", "é", "𝕏" * 10, "\ufeff", "a" * 9000, "../..", "/", "{j.__class__}",
    "{joint.__init__}", "{0}", "{", "{j!r:>999999999}", "{j:999999999}", "${x}", "%s%n", "?", "#", "'", '"', "]]>",
    "<!--", "&amp;", "&x;", "&#0;", "<!DOCTYPE a [<!ENTITY x 'y'>]>", "<?xml version='1.1'?>", "true", "None", "\ud800",
    "=", ",", ";", "\t", '"""',
)  # fmt: skip
NESTS = (
    "(" * 3000, "[" * 3000, "{" * 3000, "<a>" * 3000, "-" * 3000, "a.b." * 1000, "cos(" * 500, "[" * 300 + "]" * 300,
)  # fmt: skip
PAYLOADS = (*NUMBERS, *TEXTS, *NESTS)
ODD_VALUES = (
    True, 0, -1, 2, 10**30, 10**400, 0.5, float("nan"), float("inf"), 1e308, "", "?", "x", "a" * 9000, "\x1b[31m",
    "{j.__class__}", [], [[]], {}, [{}], [1, "a"], [[1, 2], [3]], {"a": {"b": [1]}}, [0] * 1000,
    datetime.date(2020, 1, 1), datetime.time(1, 2),
)  # fmt: skip

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_TOKEN = re.compile(r"\w+|[^\w\s]|\s+")
_CHUNK = re.compile(r"<[^>]*>|[^\n<]+\n?|\n|<")
_CUTS = {"number": _NUMBER, "token": _TOKEN, "chunk": _CHUNK}

_SIZES = ("number", "number", "token", "chunk")
_CHANGES = ("replace", "replace", "drop", "repeat", "swap", "insert", "many", "end")
MOST = 60_000  # characters; longer files are cut off there, so that steps do not multiply one another
# what is cut, how it is changed, where, and to what: all by number, which keeps a report short
_steps = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 7), st.integers(0, 9999), st.integers(0, len(PAYLOADS) - 1)),
    min_size=1,
    max_size=4,
)


def noise() -> st.SearchStrategy[bytes]:
    """Bytes and text without any plan."""
    listed = st.integers(0, len(PAYLOADS) - 1).map(PAYLOADS.__getitem__)
    words = st.lists(listed | st.text(max_size=8), max_size=8).map(" ".join)
    return st.binary(max_size=300) | words.map(_encoded)


def mutated_text(seeds: Sequence[str]) -> st.SearchStrategy[bytes]:
    """Valid text with numbers, words, tags and lines replaced, dropped, repeated, swapped or cut off."""
    return st.tuples(st.integers(0, len(seeds) - 1), _steps).map(lambda d: _encoded(_damaged(seeds[d[0]], d[1])))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def _damaged(text: str, steps: Sequence[tuple[int, int, int, int]]) -> str:
    for size, change, place, payload in steps:
        spans = [match.span() for match in _CUTS[_SIZES[size]].finditer(text)]
        if spans:
            action = _CHANGES[change]
            a, b = spans[place % len(spans)]
            c, d = spans[(place * 7 + 1) % len(spans)]
            piece = _changed(action, text[a:b], text[c:d], PAYLOADS[payload])
            text = (text[:a] + piece + ("" if action == "end" else text[b:]))[:MOST]
    return text


def _changed(action: str, piece: str, other: str, payload: str) -> str:
    return {
        "replace": payload,
        "drop": "",
        "repeat": piece + piece,
        "swap": other,
        "insert": payload + piece,
        "many": piece * 100,
        "end": piece[: len(piece) // 2],
    }[action]


# ---------------------------------------------------------------------- documents


def mutated_document(document: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """A TOML document with values of other kinds, keys that are missing and keys that nobody knows."""
    step = st.tuples(
        st.integers(0, 9999),
        st.sampled_from(("replace", "replace", "replace", "drop", "add", "repeat")),
        st.integers(0, len(ODD_VALUES) - 1),
    )
    return st.lists(step, min_size=1, max_size=3).map(lambda steps: _redone(document, steps))


def _redone(document: dict[str, Any], steps: Sequence[tuple[int, str, int]]) -> bytes:
    changed = copy.deepcopy(document)
    for place, action, odd in steps:
        holders = list(_entries(changed))
        if holders:
            holder, key = holders[place % len(holders)]
            _ACTIONS[action](holder, key, copy.deepcopy(ODD_VALUES[odd]))
    return _encoded(tomli_w.dumps(changed))


def _entries(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every (table or list, key) of a document."""
    keys: Any = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in keys:
        yield node, key
        yield from _entries(node[key])


def _put(holder: Any, key: Any, value: Any) -> None:
    holder[key] = value


def _drop(holder: Any, key: Any, value: Any) -> None:
    del holder[key]


def _add(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[f"{key}x"] = value


def _repeat(holder: Any, key: Any, value: Any) -> None:
    if isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif isinstance(holder[key], list):
        holder[key] = holder[key] * 2


_ACTIONS: dict[str, Callable[[Any, Any, Any], None]] = {"replace": _put, "drop": _drop, "add": _add, "repeat": _repeat}


# ---------------------------------------------------------------------- binary files


def mutated_bytes(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """A valid binary file with bits flipped, bytes overwritten, parts cut out or repeated, or its end missing."""
    step = st.tuples(
        st.sampled_from(("flip", "flip", "set", "cut", "repeat", "end", "insert", "huge")),
        st.integers(0, 2**20),
        st.integers(0, 255),
    )
    drawn = st.tuples(st.integers(0, len(seeds) - 1), st.lists(step, min_size=1, max_size=5))
    return drawn.map(lambda d: _bent(seeds[d[0]], d[1]))


def _bent(data: bytes, steps: Sequence[tuple[str, int, int]]) -> bytes:
    for action, place, value in steps:
        at = place % (len(data) + 1)
        length = 1 + value % 32
        data = {
            "flip": data[:at] + bytes(b ^ (1 << value % 8) for b in data[at : at + 1]) + data[at + 1 :],
            "set": data[:at] + bytes([value]) * len(data[at : at + 1]) + data[at + 1 :],
            "cut": data[:at] + data[at + length :],
            "repeat": data[: at + length] + data[at:],
            "end": data[:at],
            "insert": data[:at] + bytes([value]) * length + data[at:],
            "huge": data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :],  # the largest count there is
        }[action]
    return data
