"""Options, each declared once: a field of a frozen dataclass has its key, type, unit, range, default and help.

`option` declares a field.  `check` validates the values of an object, `read` creates an object from a TOML
table, and `stated` converts it back to a table.  `options` lists the declarations, from which command
options, requests and forms of the studio, its TypeScript and the tables of the documentation are generated.
"""

from __future__ import annotations

import math
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from minertia.io.errors import InputError, MinertiaError, did_you_mean
from minertia.io.tables import CheckedTable, shown

REQUIRED: Any = ...  # in place of a default
UNKNOWN = "?"  # a value that is fitted; elsewhere one that the writer of a file did not know
METADATA = "option"  # of a field
LONGEST = 200  # characters of a `repr`
ARTICLES = {"whole": "an", "number": "a", "text": "a"}
FLAGS = {"on": True, "true": True, "none": False, "off": False, "false": False}  # words of command lines
SCALARS: dict[Any, str] = {bool: "flag", int: "whole", float: "number", str: "text"}
Value = TypeVar("Value")
Held = TypeVar("Held")
Taken = TypeVar("Taken")


class Given(Generic[Held, Taken]):
    """Type of a field that accepts more types than it stores, such as a path to read from; for type checkers."""

    if TYPE_CHECKING:

        def __get__(self, owner: object, kind: type | None = None) -> Held: ...
        def __set__(self, owner: object, value: Taken) -> None: ...


class OptionError(InputError):
    """Invalid value of an option.

    key: key of the option.  must: the requirement, to follow "must be".  value: the invalid value.  guess:
    suggestion.
    """

    def __init__(self, what: str, key: str, must: str, value: object, guess: str = "") -> None:
        self.key, self.must, self.value, self.guess = key, must, value, guess
        super().__init__(f"{key} of {what} must be {must}, not {shown(value)}{guess}")


@dataclass(frozen=True, slots=True)
class OptionKind:
    """Values that a type allows.

    scalars: subset of "flag", "whole", "number" and "text".  depths: 0 for a single value, 1 for a list, 2 for a
    list of rows.  record: class of a nested table.  is_mapping: a table of arbitrary names.  is_free: a value
    without a file representation; the class checks it itself.
    """

    scalars: frozenset[str] = frozenset()
    depths: frozenset[int] = frozenset()
    record: type | None = None
    is_optional: bool = False
    is_mapping: bool = False
    is_free: bool = False

    @property
    def own_table(self) -> type | None:
        """Class of a single nested table; None for values, and for a list of tables."""
        return None if 1 in self.depths else self.record

    def __or__(self, other: OptionKind) -> OptionKind:
        return OptionKind(
            self.scalars | other.scalars,
            self.depths | other.depths,
            self.record or other.record,
            self.is_optional or other.is_optional,
            self.is_mapping or other.is_mapping,
            self.is_free or other.is_free,
        )


@dataclass(frozen=True, slots=True)
class Option:
    """Declaration of one option.  help: one or more sentences; commands and forms show the first.

    low, high: smallest and largest number; above: exclusive lower bound; is_size: these bounds apply to the
    absolute value; zero: 0 is allowed as well.  choices: allowed texts; titles: names of the choices in
    forms; words: further allowed texts, such as "?"; pattern: regular expression that a text must match.
    length: number of entries of a list; most: largest number of entries; width: number of entries of each row
    of a list of rows.  also: alternative keys of the same value in files, with the factor to its unit.
    table: table of the file, None for the table of its class.  command: name on command lines, "" without
    one; switch: value that the flag sets.  otherwise: description of what applies without a value.  example:
    initial value in a form, where a value is required.  label: name of its field in forms; by default its key.
    """

    help: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    above: float | None = None
    is_size: bool = False
    zero: bool = False
    choices: tuple[str, ...] | Callable[[], Iterable[str]] = ()
    words: tuple[str, ...] = ()
    length: int | None = None
    width: int | None = None
    most: int | None = None
    pattern: str = ""
    titles: Mapping[str, str] | Callable[[], Mapping[str, str]] = field(default_factory=dict)
    key: str = ""
    also: Mapping[str, float] = field(default_factory=dict)
    table: str | None = None
    command: str = ""
    switch: str = ""
    otherwise: str = ""
    example: Any = None
    label: str = ""
    name: str = ""
    kind: OptionKind = OptionKind()
    default: Any = REQUIRED

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the option in files."""
        return (self.key, *self.also)

    @property
    def names(self) -> tuple[str, ...]:
        """Allowed texts; none where any text is allowed."""
        return tuple(self.choices()) if callable(self.choices) else self.choices

    @property
    def sentence(self) -> str:
        """First sentence of the help."""
        return self.help.partition(". ")[0].removesuffix(".") + "."

    # ------------------------------------------------------------------ values

    def fits(self, value: object) -> bool:
        """Whether a value is valid."""
        if self.kind.is_free:
            return True
        value = _bare(value)
        if value is None:
            return self.kind.is_optional
        if self.kind.record is not None:
            return self._is_record(value)
        if self.kind.is_mapping:
            return isinstance(value, Mapping) and all(map(self._is_named, value, value.values()))
        return self._is_list(value) if _is_list(value) else self._is_lone(value)

    def _is_named(self, name: object, value: object) -> bool:
        """Whether an entry of a table of names is valid; None stands for its default where the type allows it."""
        return isinstance(name, str) and (self.kind.is_optional if value is None else self._is_one(value))

    def _is_record(self, value: object) -> bool:
        record: Any = self.kind.record
        if self.kind.depths == {1}:
            return _is_list(value) and all(isinstance(one, record) for one in value)  # type: ignore[attr-defined]
        return isinstance(value, record)

    def _is_lone(self, value: object) -> bool:
        """Whether a single value is valid; a name or integer may also represent a list of one."""
        return self._is_one(value) and (0 in self.kind.depths or isinstance(value, str | int))

    def _is_list(self, value: Any) -> bool:
        if self.length not in (None, len(value)) or (self.most is not None and len(value) > self.most):
            return False
        if not value and (0 in self.kind.depths or self.default is REQUIRED):
            return False
        rows = any(map(_is_list, value))
        if rows and 2 in self.kind.depths:
            width = len(value) if self.width is None else self.width
            return all(_is_list(row) and len(row) == width and all(map(self._is_one, row)) for row in value)
        return 1 in self.kind.depths and not rows and all(map(self._is_one, value))

    def _is_one(self, value: object) -> bool:
        scalars = self.kind.scalars
        if isinstance(value, str):
            is_known = value in self.names if self.choices else not self.pattern or re.fullmatch(self.pattern, value)
            return value in self.words or ("text" in scalars and bool(is_known))
        if isinstance(value, bool):
            return "flag" in scalars
        if not isinstance(value, Real) or not scalars & {"whole", "number"}:
            return False
        return ("number" in scalars or value % 1 == 0) and self._in_range(value)

    def _in_range(self, value: Any) -> bool:
        try:
            number = abs(float(value)) if self.is_size else float(value)
        except OverflowError:
            return False
        if number == 0 and self.zero:
            return True
        return (
            math.isfinite(number)
            and self.low <= number <= self.high
            and not (self.above is not None and number <= self.above)
        )

    def held(self, value: Any) -> Any:
        """Value as stored in the frozen dataclass: lists as tuples.

        A single value is stored as a tuple of one where the option requires a list.
        """
        if self.kind.is_free or isinstance(value, Mapping):
            return value
        if self.kind.record is not None:
            return tuple(value) if isinstance(value, list) else value
        value = _bare(value)
        if _is_list(value):
            return _tuples(value)
        if isinstance(value, float) and "whole" in self.kind.scalars and "number" not in self.kind.scalars:
            return int(value)
        is_lone = isinstance(value, str | int) and not isinstance(value, bool) and 0 not in self.kind.depths
        return (value,) if is_lone and 1 in self.kind.depths else value

    @property
    def must(self) -> str:
        """Requirement on a value, as it follows "must be"."""
        kind = self.kind
        if kind.record is not None:
            return f"a list of {kind.record.__name__}" if kind.depths else f"a {kind.record.__name__}"
        if kind.is_mapping:
            return f"a table of names and of {self._scalar('s')}" if kind.scalars else "a table"
        one = self._scalar()
        parts = [one] if 0 in kind.depths else []
        for depth in sorted(kind.depths - {0}):
            many = f"a list of {'' if self.length is None else f'{self.length} '}{self._scalar('s')}"
            square = f"a square matrix of {self._scalar('s')}"
            rows = square if self.width is None else f"a list of rows of {self.width} numbers"
            parts.append("a list of them" if parts and depth == 1 else many if depth == 1 else rows)
        return ", or ".join([*parts, *(f'"{word}"' for word in self.words)])

    def _scalar(self, plural: str = "") -> str:
        """Description of a single value: its type with its range."""
        if self.choices:
            return _either(f'"{name}"'.replace("\t", "\\t") for name in self.names)
        bounds = self._bounds()
        words = {"flag": "true or false", "whole": f"integer{plural}", "number": f"number{plural}"}
        words |= {"text": f"string{plural} in quotes"}
        order = [k for k in words if k in self.kind.scalars and not (k == "whole" and "number" in self.kind.scalars)]
        named = {k: words[k] if plural or k == "flag" else f"{ARTICLES[k]} {words[k]}" for k in order}
        return " or ".join(text + (bounds if k in ("whole", "number") else "") for k, text in named.items())

    def _bounds(self) -> str:
        """Range with the unit, as it follows "a number"."""
        unit = f" [{self.unit}]" if self.unit else ""
        of = " whose absolute value is" if self.is_size and (self.low > 0 or self.high < math.inf) else ""
        low, high = self.low > -math.inf, self.high < math.inf
        if self.above is not None:
            text = f" above {self.above:g}" + (f" and at most {self.high:g}" if high else "")
        elif low and high:
            text = f" {self.low:g}" if self.low == self.high else f" from {self.low:g} to {self.high:g}"
        else:
            text = f" of at least {self.low:g}" if low else f" of at most {self.high:g}" if high else ""
        return of + text + unit + (", or 0" if self.zero else "")

    # ------------------------------------------------------------------ files

    def read(self, table: CheckedTable) -> Any:
        """Read the value from a table that has one of its keys."""
        if self.kind.record is not None:
            if self.kind.depths:
                return tuple(read(inner, self.kind.record) for inner in table.tables(self.key))
            return read(table.table(self.key), self.kind.record)
        if self.kind.is_mapping:
            inner, kind = table.table(self.key), replace(self.kind, is_mapping=False)
            return {key: replace(self, key=key, also={}, kind=kind).read(inner) for key in inner}
        given = [key for key in self.keys if key in table]
        if len(given) > 1:
            raise table.fail(f"{' and '.join(given)} cannot be given together", given[1])
        key = given[0]
        value = table.entries[key] if UNKNOWN in self.words else table.get(key)
        if key in self.also and (scaled := _scaled(value, self.also[key])) is not None:
            value = scaled
        if value is None or not self.fits(value):
            raise table.fail(f"{table.it(key)} must be {self.must}, not {shown(value)}{self._near(value)}", key)
        return self.held(value)

    def of_text(self, text: str) -> Any:
        """Parse a value from command-line text as far as possible; `check` reports what is wrong."""
        words = [word.strip() for word in text.split(",")]
        found = [_meant(word, self.kind.scalars) for word in words]
        return found[0] if len(found) == 1 and 0 in self.kind.depths else found

    def _near(self, value: object) -> str:
        """Suggestion of the nearest choice, for a message."""
        guess = did_you_mean(value, self.names, "") if self.choices and isinstance(value, str) else ""
        return f"; {guess}" if guess.startswith("did") else ""

    def refuse(self, what: str, value: object) -> OptionError:
        """Return the error for an invalid value; what: name of the object that has the option, for the message."""
        return OptionError(what, self.key, self.must, value, self._near(value))


def option(
    default: Any = MISSING,
    help: str = "",
    *,
    factory: Any = MISSING,
    range: Any = None,
    kw_only: Any = MISSING,
    **more: Any,
) -> Any:
    """Dataclass field that is an option; range: its smallest and largest number; more: fields of `Option`."""
    low, high = (-math.inf, math.inf) if range is None else range
    declared = Option(help, low=low, high=high, **more)
    given = {} if default is MISSING else {"default": default}
    given |= {} if factory is MISSING else {"default_factory": factory}
    return field(**given, kw_only=kw_only, metadata={METADATA: declared})


def like(cls: type, name: str, default: Any = MISSING, **changes: Any) -> Any:
    """Field with the declaration of another class's field; default and changes override its attributes."""
    own = next(one for one in fields(cls) if one.name == name)
    low, high = changes.pop("range", (own.metadata[METADATA].low, own.metadata[METADATA].high))
    declared = replace(own.metadata[METADATA], low=low, high=high, **changes)
    return field(default=own.default if default is MISSING else default, metadata={METADATA: declared})


@lru_cache(maxsize=256)
def _options(cls: Any) -> tuple[Option, ...]:
    hints = _hints(cls)
    found = []
    for own in fields(cls):
        declared = own.metadata.get(METADATA)
        if declared is not None:
            own_kind = _kind(hints[own.name])
            if declared.words and not declared.choices:  # no other text
                own_kind = replace(own_kind, scalars=own_kind.scalars - {"text"})
            key = declared.key or own.name
            found.append(replace(declared, name=own.name, key=key, kind=own_kind, default=_default(own)))
    return tuple(found)


def _hints(cls: type) -> dict[str, Any]:
    """Type hints of the fields of a class; `object` for a hint that can be resolved only by type checkers."""
    found: dict[str, Any] = {}
    for kind in reversed(cls.__mro__):
        known = vars(sys.modules[kind.__module__])
        for name, text in vars(kind).get("__annotations__", {}).items():
            try:
                found[name] = typing.get_type_hints(types.SimpleNamespace(__annotations__={name: text}), known)[name]
            except (NameError, TypeError):
                found[name] = object
    return found


def options(cls: type) -> tuple[Option, ...]:
    """The options of a class, in the order of its fields."""
    return _options(cls)  # type: ignore[arg-type]


def option_of(cls: type, name: str) -> Option:
    """The option of a field."""
    return next(one for one in options(cls) if one.name == name)


def _kind(hint: Any, depth: int = 0) -> OptionKind:
    if hint in SCALARS:
        return OptionKind(frozenset({SCALARS[hint]}), frozenset({depth}))
    if hint is types.NoneType:
        return OptionKind(is_optional=True)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Given:
        return _kind(args[0], depth)
    if origin in (typing.Union, types.UnionType):
        found = OptionKind()
        for arg in args:
            found |= _kind(arg, depth)
        return found
    if origin in (tuple, Sequence) and args:
        return _kind(args[0], depth + 1)
    if origin is Mapping:
        return replace(_kind(args[1], depth), is_mapping=True)
    if isinstance(hint, type) and depth < 2 and is_dataclass(hint):
        return OptionKind(depths=frozenset({1} if depth else ()), record=hint)
    return OptionKind(is_free=True)


def tables(cls: type) -> dict[str, list[Option]]:
    """Options of a class by the table of the file that contains them; key "" for the top level."""
    found: dict[str, list[Option]] = {}
    for one in options(cls):
        if one.table is not None:
            found.setdefault(one.table, []).append(one)
        for name, inner in (tables(one.kind.record) if one.kind.record is not None and one.table else {}).items():
            found.setdefault(name, []).extend(inner)
    return found


def keys_of(cls: type) -> tuple[str, ...]:
    """Keys of a class's options in a table of a file."""
    return tuple(key for one in options(cls) if one.table is None for key in one.keys)


def check(value: Any) -> None:
    """Raise an error for an object with invalid option values; lists become tuples."""
    for one in options(type(value)):
        given = getattr(value, one.name)
        if given is one.default:  # choices of tables need not be loaded for it
            continue
        if one.kind.scalars == {"flag"} and type(given) in (int, float) and given in (0, 1):
            given = bool(given)
        if not one.fits(given):
            raise one.refuse(type(value).__name__, given)
        object.__setattr__(value, one.name, one.held(given))


def read(table: CheckedTable, cls: type[Value], **given: Any) -> Value:
    """Create an object from a table of a file; given: fields set by the caller, not allowed in the table."""
    known = [one for one in options(cls) if one.name not in given and one.table is None]
    table.only(key for one in known for key in one.keys)
    found = {one.name: one.read(table) for one in known if any(key in table for key in one.keys)}
    missing = [one.key for one in known if one.default is REQUIRED and one.name not in found]
    table.needs(missing)
    try:
        return cls(**found, **given)
    except OptionError as err:
        raise table.fail(str(err), err.key) from None
    except MinertiaError as err:
        raise table.fail(str(err)) from None


def stated(value: Any) -> dict[str, Any]:
    """Options of an object that differ from their default, by key, as JSON and TOML values."""
    found = {one.key: (getattr(value, one.name), one.default) for one in options(type(value))}
    return {key: plain(given) for key, (given, default) in found.items() if given != default}


def overridden(value: Value, given: Value) -> Value:
    """Options object in which those options of another that differ from their defaults take precedence."""
    changes: dict[str, Any] = {}
    for one in options(type(given)):
        own = getattr(given, one.name)
        if own != one.default:
            changes[one.name] = overridden(getattr(value, one.name), own) if isinstance(own, Declared) else own
    return replace(value, **changes) if changes else value  # type: ignore[type-var]


def restored(cls: type[Value], table: Mapping[str, Any]) -> Value:
    """Create an object from a table that `stated` returned."""
    known = {one.key: one for one in options(cls)}
    return cls(**{known[key].name: restored_value(known[key], value) for key, value in table.items()})


def restored_value(one: Option, value: Any) -> Any:
    """Convert plain data, as returned by `plain`, to the value that the option stores."""
    if one.kind.record is None:
        return one.held(value)
    record = one.kind.record
    return tuple(restored(record, row) for row in value) if one.kind.depths else restored(record, value)


def plain(value: Any) -> Any:
    """Convert a value to what JSON and TOML can represent."""
    if is_dataclass(value) and not isinstance(value, type):
        return stated(value)
    if isinstance(value, Mapping):
        return {str(key): plain(v) for key, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value


class Declared:
    """Base class of frozen option dataclasses: values are checked, `repr` shows those that differ from defaults."""

    __slots__ = ()

    def __init_subclass__(cls, **more: Any) -> None:
        """Append the options to the docstring of a class."""
        super().__init_subclass__(**more)
        lines = [_described(name, own) for name, own in vars(cls).items() if isinstance(own, Field)]
        if any(lines):
            cls.__doc__ = "\n".join([cls.__doc__ or "", "", *filter(None, lines)])

    def __post_init__(self) -> None:
        check(self)

    def __repr__(self) -> str:
        parts = []
        for own in fields(self):  # type: ignore[arg-type]
            given, default = getattr(self, own.name), _default(own)
            if given is not default and not (type(given) is type(default) and given == default):
                parts.append(f"{own.name}={given!r}")
        text = f"{type(self).__name__}({', '.join(parts)})"
        return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _described(name: str, own: Field[Any]) -> str:
    """Line of an option in the docstring of its class."""
    declared = own.metadata.get(METADATA)
    if declared is None or not declared.help:
        return ""
    unit = f" [{declared.unit}]" if declared.unit else ""
    return f"    {name}{unit}: {declared.help}" + (f"  Default: {declared.otherwise}." if declared.otherwise else "")


def _default(own: Field[Any]) -> Any:
    if own.default is MISSING and own.default_factory is MISSING:
        return REQUIRED
    return own.default if own.default_factory is MISSING else own.default_factory()


def _either(texts: Iterable[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} or {last}" if most else last


def _meant(word: str, scalars: frozenset[str]) -> Any:
    """Command-line word as a boolean or a number if the option allows that and it is one, else as text."""
    if "flag" in scalars and word in FLAGS:
        return FLAGS[word]
    if scalars & {"whole", "number"}:
        try:
            return float(word) if "number" in scalars or not word.lstrip("+-").isdigit() else int(word)
        except ValueError:
            return word
    return word


def _bare(value: Any) -> Any:
    """Convert NumPy arrays and scalars to Python lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") else value


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _scaled(value: Any, factor: float) -> Any:
    """Values multiplied by a unit factor; None for non-numbers."""
    if isinstance(value, list):
        found = [_scaled(v, factor) for v in value]
        return None if None in found else found
    return value * factor if isinstance(value, int | float) and not isinstance(value, bool) else None
