"""All errors that minertia raises on purpose: one sentence, with the data that caused it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from difflib import get_close_matches
from numbers import Real
from os import PathLike
from typing import Any

LONGEST = 1200  # characters of a sentence; names in files may be of any length
MOST_NAMES = 30  # listed in one sentence
SHOWN = 60  # characters of a value that is refused


class MinertiaError(Exception):
    """Base of all errors raised on purpose; its text is one sentence, on one line, for the user."""

    def __init__(self, text: str = "") -> None:
        super().__init__(one_line(text))


class OldName(DeprecationWarning):
    """Deprecated name that works until 1.0.0; the warning gives the new one."""


def visible(text: str) -> str:
    """Text with control characters escaped that could break or fake a terminal line (from names in files)."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def one_line(text: str) -> str:
    """Printable text, shortened to fit in a message."""
    line = visible(text)
    if len(line) > LONGEST:  # what is wrong stands at the start, what to do at the end
        return f"{line[: LONGEST * 2 // 3]} ... {line[-LONGEST // 4 :]}"
    return line


def did_you_mean(asked: object, known: Iterable[str], else_say: str = "known") -> str:
    """End of a message about an unknown name: the nearest known one, or the first of them."""
    names = list(known)
    near = get_close_matches(str(asked), names, n=1)
    return f"did you mean '{near[0]}'?" if near else f"{else_say}: " + ", ".join(names[:MOST_NAMES])


def expected(value: object, kind: type, what: str, reader: str) -> None:
    """Raise an error for an argument of the wrong type, such as a file name instead of the object.

    reader: name of the function that reads such an object from a file, for the message.
    """
    if isinstance(value, kind):
        return
    article = "an" if kind.__name__[0] in "AEIO" else "a"
    is_name = isinstance(value, str | PathLike)
    told = f"'{value}'" if is_name else f"{value.__class__.__name__}"
    how = f"read it first: {reader}('{value}')" if is_name else f"{reader} reads one"
    raise InputError(f"{what} must be {article} {kind.__name__}, not {told}; {how}")


def expect_kinds(options: Any) -> None:
    """Raise an error for fields of a dataclass whose value is not of the declared number, text or flag type."""
    for field in fields(options):
        kinds = str(field.type).split(" | ")  # declarations are texts in this package
        value = getattr(options, field.name)
        if {*kinds} <= {*KINDS} and not any(KINDS[kind][1](value) for kind in kinds):
            words = " or ".join(KINDS[kind][0] for kind in kinds)
            shown = f"'{value}'" if isinstance(value, str) else one_line(repr(value))[:SHOWN]
            raise InputError(f"{field.name} of {type(options).__name__} must be {words}, not {shown}")


def expect_one_of(value: object, kinds: tuple[type, ...], what: str) -> None:
    """Raise an error for a value that is an instance of none of the given classes."""
    if not isinstance(value, kinds):
        names = " or ".join(f"{kind.__name__}(...)" for kind in kinds)
        shown = f"'{value}'" if isinstance(value, str) else value.__class__.__name__
        raise InputError(f"{what} must be {names}, not {shown}")


def expect_list(values: object, kinds: tuple[type, ...], what: str) -> None:
    """Raise an error for a value that is not a list of the given classes; a string is not a list of characters."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{what} must be a list, not {values.__class__.__name__}")
    for value in values:
        expect_one_of(value, kinds, f"each of {what}")


def expect_path(path: object, what: str) -> None:
    """Raise an error for a value that is neither a file name nor a path."""
    if not isinstance(path, str | PathLike):
        raise InputError(f"{what} needs the name or path of a file, not {path.__class__.__name__}")


def _is_number(value: object) -> bool:
    """Whether a value is a real number, not a boolean, that can be converted to a float."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_whole(value: object) -> bool:
    return _is_number(value) and value == value // 1  # type: ignore[operator]


def _is_flag(value: object) -> bool:
    return value.__class__.__name__ in ("bool", "bool_") or (_is_number(value) and value in (0, 1))


KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "int": ("an integer", _is_whole),
    "float": ("a number", _is_number),
    "str": ("a string", lambda value: isinstance(value, str)),
    "bool": ("True or False", _is_flag),
    "None": ("None", lambda value: value is None),
}


class DescriptionError(MinertiaError):
    """Robot file that is not usable."""

    def __init__(self, message: str, *, file: object = None, line: int | None = None) -> None:
        self.message, self.file, self.line = message, file, line
        where = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(where + message)


class UnknownName(MinertiaError):
    """Name that is not in the list of known names."""

    def __init__(self, what: str, asked: object, available: Iterable[str]) -> None:
        self.what, self.asked, self.available = what, asked, tuple(available)
        super().__init__(
            f"there is no {what} called '{asked}'; {did_you_mean(asked, self.available, else_say='available')}"
        )


class MissingExtra(MinertiaError):
    """Optional package that is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"the optional package '{package}' is required for this; install it with: pip install 'minertia[{extra}]'"
        )


class MissingParameters(MinertiaError):
    """Dynamics requested for a robot whose links have no inertial parameters."""


class SingularMass(MinertiaError):
    """Singular mass matrix: a joint moves no inertia."""


class ShapeError(MinertiaError):
    """Arrays whose shapes do not match the robot or one another."""


class Infeasible(MinertiaError):
    """Problem without a solution: no motion, or no set of parameters, satisfies it."""


class SolverFailed(MinertiaError):
    """Optimisation that ended without a solution."""

    def __init__(self, problem: str, status: object) -> None:
        self.problem, self.status = problem, str(status)
        super().__init__(f"the solver found no solution for {problem} (solver status: {status})")


class RankError(MinertiaError):
    """Numerical rank that cannot be decided, or that contradicts the derived one."""


class RecordingError(MinertiaError):
    """Measured log that is not usable; rows of data count from 1, without the header."""

    def __init__(self, message: str, *, file: object = None, column: str | None = None, row: int | None = None) -> None:
        self.message, self.file, self.column, self.row = message, file, column, row
        parts = [str(file)] if file is not None else []
        parts += [f"column '{column}'"] if column is not None else []
        parts += [f"row {row}"] if row is not None else []
        super().__init__(f"{', '.join(parts)}: {message}" if parts else message)


class EffortUnitUnknown(RecordingError):
    """Log whose header does not give the unit of its efforts."""


class FilterError(MinertiaError):
    """Filter that is not possible at a recording's rate or length."""


class CampaignError(MinertiaError):
    """Campaign file that is not usable."""

    def __init__(self, message: str, *, file: object = None, line: int | None = None, field: str | None = None) -> None:
        self.message, self.file, self.line, self.field = message, file, line, field
        parts = [str(file)] if file is not None else []
        parts += [f"line {line}"] if line is not None else []
        parts += [f"'{field}'"] if field is not None else []
        super().__init__(f"{', '.join(parts)}: {message}" if parts else message)


class InputError(MinertiaError):
    """Invalid argument value or choice."""
