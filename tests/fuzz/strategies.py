"""Inputs that no reader was written for: noise, and valid files with something broken in them.

Every strategy gives the bytes of a file.  A mutation is a short list of small steps that a few drawn bytes spell out,
so that it is cheap to draw and what hypothesis reports is the smallest damage that still breaks a reader.
"""

from __future__ import annotations

import copy
import datetime
import gzip
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import tomli_w
from hypothesis import strategies as st

T = TypeVar("T")
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
_CUTS = (_NUMBER, _NUMBER, _TOKEN, _CHUNK)
_CHANGES = ("replace", "replace", "drop", "repeat", "swap", "insert", "many", "end")
MOST = 60_000  # characters; longer files are cut off there, so that steps do not multiply one another


@dataclass(frozen=True)
class Step:
    """One small damage; every number is taken modulo what there is to choose from."""

    action: int
    size: int
    place: int
    value: int


def _recipes(most: int) -> st.SearchStrategy[tuple[int, list[Step]]]:
    """The number of a seed, and up to `most` steps."""
    return st.binary(min_size=6, max_size=1 + 5 * most).map(_spelled)


def _spelled(drawn: bytes) -> tuple[int, list[Step]]:
    parts = (drawn[k : k + 5] for k in range(1, len(drawn) - 4, 5))
    return drawn[0], [Step(a, size, 256 * high + low, value) for a, size, high, low, value in parts]


def _pick(choices: Sequence[T], number: int) -> T:
    return choices[number % len(choices)]


def noise() -> st.SearchStrategy[bytes]:
    """Bytes and text without any plan."""
    listed = st.integers(0, len(PAYLOADS) - 1).map(PAYLOADS.__getitem__)
    words = st.lists(listed | st.text(max_size=8), max_size=8).map(" ".join)
    return st.binary(max_size=300) | words.map(_encoded)


def mutated_text(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Valid text with numbers, words, tags and lines replaced, dropped, repeated, swapped or cut off."""
    return _recipes(4).map(lambda recipe: _encoded(_damaged(_pick(seeds, recipe[0]).decode(), recipe[1])))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def _damaged(text: str, steps: Sequence[Step]) -> str:
    for step in steps:
        spans = [match.span() for match in _pick(_CUTS, step.size).finditer(text)]
        if spans:
            action = _pick(_CHANGES, step.action)
            (a, b), (c, d) = _pick(spans, step.place), _pick(spans, 7 * step.place + 1)
            piece = _changed(action, text[a:b], text[c:d], _pick(PAYLOADS, step.value))
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


def mutated_toml(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """TOML damaged as text, and as what the text stands for."""
    return mutated_text(seeds) | mutated_document(tomllib.loads(seeds[0].decode()))


def mutated_gzip(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Compressed text damaged outside and inside."""
    inside = mutated_text([gzip.decompress(seed) for seed in seeds])
    return mutated_bytes(seeds) | inside.map(lambda data: gzip.compress(data, 1, mtime=0))


def mutated_document(document: dict[str, Any]) -> st.SearchStrategy[bytes]:
    """A TOML document with values of other kinds, keys that are missing and keys that nobody knows."""
    return _recipes(3).map(lambda recipe: _redone(document, recipe[1]))


def _redone(document: dict[str, Any], steps: Sequence[Step]) -> bytes:
    changed = copy.deepcopy(document)
    for step in steps:
        holders = list(_entries(changed))
        if holders:
            holder, key = _pick(holders, step.place)
            _pick(_ACTIONS, step.action)(holder, key, copy.deepcopy(_pick(ODD_VALUES, step.value)))
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


_ACTIONS = (_put, _put, _put, _drop, _add, _repeat)


# ---------------------------------------------------------------------- binary files


def mutated_bytes(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """A valid binary file with bits flipped, bytes overwritten, parts cut out or repeated, or its end missing."""
    return _recipes(5).map(lambda recipe: _bent(_pick(seeds, recipe[0]), recipe[1]))


def _bent(data: bytes, steps: Sequence[Step]) -> bytes:
    for step in steps:
        at, value = step.place % (len(data) + 1), step.value
        change = _pick(("flip", "flip", "set", "cut", "repeat", "end", "insert", "huge"), step.action)
        data = data[:at] + _tail(change, data[at:], value)
    return data


def _tail(change: str, tail: bytes, value: int) -> bytes:
    length = 1 + value % 32
    return {
        "flip": bytes(b ^ (1 << value % 8) for b in tail[:1]) + tail[1:],
        "set": bytes([value]) * len(tail[:1]) + tail[1:],
        "cut": tail[length:],
        "repeat": tail[:length] + tail,
        "end": b"",
        "insert": bytes([value]) * length + tail,
        "huge": b"\xff\xff\xff\x7f" + tail[4:],  # the largest count there is
    }[change]
