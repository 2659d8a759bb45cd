"""Safe extraction of numeric data from pickles, without executing them.

A pickle is a program.  Here its opcodes are read with the tokenizer of the standard library and evaluated on a separate
stack: numbers, strings, lists, dictionaries, PyTorch tensors and NumPy arrays.  Any other global is an error that names
it, and nothing is ever imported or called.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_WORDS = 2_000_000
MOST_BYTES = 100_000_000  # of a pickle
MAX_DEPTH = 8  # of dictionaries inside one another
MOST_ENTRIES = 100_000  # of all dictionaries
NUMBERS = "fiub"  # kinds of dtypes that are numbers
STORAGES = MappingProxyType(
    {
        "FloatStorage": "f4", "DoubleStorage": "f8", "HalfStorage": "f2", "LongStorage": "i8", "IntStorage": "i4",
        "ShortStorage": "i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?",
    }
)  # fmt: skip


class PickleError(ValueError):
    """Error: broken pickle, or a pickle that contains other than numeric data."""


@dataclass(frozen=True)
class Name:
    """Global name that a pickle would import."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"[:100]


@dataclass(frozen=True)
class Storage:
    """Data of a PyTorch file, stored in another member: element type, key, number of elements."""

    kind: str
    key: str
    count: int


@dataclass(frozen=True)
class Tensor:
    """View of a storage: offset, shape and strides, all in elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass
class Dtype:
    """NumPy data type, whose byte order is set later."""

    text: str
    order: str = "<"

    def numpy(self) -> np.dtype[Any]:
        """Return the NumPy dtype; PickleError if it is not numeric."""
        if self.text[:1] not in "fiub" or not self.text[1:].isdigit():
            raise PickleError(f"arrays of '{self.text[:20]}' are not numeric")
        try:
            return np.dtype((">" if self.order == ">" else "<") + self.text)
        except TypeError:
            raise PickleError(f"arrays of '{self.text[:20]}' are not numeric") from None


@dataclass
class Shell:
    """NumPy array, empty until its state is set."""

    values: Any = None


MARK = object()


def unpickled(data: bytes) -> Any:
    """Content of a pickle: numbers, strings, lists, dictionaries, `Tensor`s and arrays."""
    if len(data) > MOST_BYTES:
        raise PickleError(f"its pickle is larger than {MOST_BYTES // 1000000} MB")
    machine = _Machine()
    try:
        for count, (word, argument, _) in enumerate(pickletools.genops(data)):
            if count > MOST_WORDS:
                raise PickleError(f"its pickle has more than {MOST_WORDS} opcodes")
            if word.name == "STOP":
                return machine.stack[-1]
            machine.take(word.name, argument)
    except PickleError:
        raise
    except (ValueError, IndexError, TypeError, KeyError, OverflowError, AttributeError) as err:
        raise PickleError(f"its pickle is broken ({str(err)[:80]})") from None
    raise PickleError("its pickle has no end marker")


@dataclass
class _Machine:
    """Stack and memo of the pickle interpreter."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    made: int = 0  # bytes of what names made, which one text can be told to make many times

    def take(self, word: str, argument: Any) -> None:
        """Execute one opcode."""
        if word in _CONSTANTS:
            self.stack.append(_CONSTANTS[word]())
        elif word in _PLAIN:
            self.stack.append(argument)
        elif word in _ACTIONS:
            _ACTIONS[word](self, argument)
        elif word not in _IDLE:
            raise PickleError(f"its pickle contains the opcode {word}, which is not allowed in tables of numbers")

    def since_mark(self) -> list[Any]:
        """Pop the values above the last mark, together with the mark."""
        found = []
        while (value := self.stack.pop()) is not MARK:
            found.append(value)
        return found[::-1]

    def tuple_of(self, count: int) -> None:
        """Replace the topmost values by a tuple."""
        found = tuple(self.stack[-count:])
        if len(found) != count:
            raise PickleError("its pickle is broken")
        self.stack[-count:] = [found]

    def set_items(self, pairs: list[Any]) -> None:
        """Set entries of the dictionary on top of the stack."""
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise PickleError("its pickle sets entries of an object that is not a dictionary")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if isinstance(key, (str, int)):
                target[key] = value

    def append(self, values: list[Any]) -> None:
        """Append entries to the list on top of the stack."""
        if not isinstance(self.stack[-1], list):
            raise PickleError("its pickle appends to an object that is not a list")
        self.stack[-1].extend(values)

    def name(self, argument: str) -> None:
        """Push a global in the old format: module and name, separated by a space."""
        module, _, own = argument.partition(" ")
        self.stack.append(_known(Name(module, own)))

    def stacked_name(self, _: Any) -> None:
        """Push a global whose two parts are on the stack."""
        own, module = self.stack.pop(), self.stack.pop()
        self.stack.append(_known(Name(str(module), str(own))))

    def reduce(self, _: Any) -> None:
        """Evaluate the reconstruction call of a supported global."""
        arguments, name = self.stack.pop(), self.stack.pop()
        if not isinstance(name, Name) or not isinstance(arguments, tuple):
            raise PickleError("its pickle calls an object that is not a name")
        found = _MADE[name](*arguments)
        self.made += len(found) if isinstance(found, bytes) else getattr(getattr(found, "values", 0), "nbytes", 0)
        if self.made > MOST_BYTES:
            raise PickleError(f"its pickle expands to more than {MOST_BYTES // 1000000} MB")
        self.stack.append(found)

    def build(self, _: Any) -> None:
        """Set the state of an array or data type; other states are ignored."""
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, Dtype) and isinstance(state, tuple) and len(state) > 1:
            target.order = str(state[1])
        elif isinstance(target, Shell):
            target.values = _array(*state[1:5])
        elif not isinstance(target, dict):
            raise PickleError("its pickle modifies an object that is not an array")

    def persistent(self, _: Any) -> None:
        """Push a reference to data stored in another member of the file."""
        what, kind, key, _place, count = self.stack.pop()
        if what != "storage" or not isinstance(kind, Name) or kind.name not in STORAGES:
            raise PickleError(f"its numbers have an unknown type ({kind})")
        self.stack.append(Storage(STORAGES[kind.name], str(key), int(count)))


def _known(name: Name) -> Name:
    if name in _MADE or name in _VALUES or (name.module == "torch" and name.name in STORAGES):
        return name
    raise PickleError(f"its pickle requests the import of '{name}', which is not allowed; save a dictionary of arrays")


def _tensor(storage: Any, offset: int, shape: Any, strides: Any, *_: Any) -> Tensor:
    if not isinstance(storage, Storage):
        raise PickleError("a tensor contains no numbers")
    sizes, steps = tuple(int(v) for v in shape), tuple(int(v) for v in strides)
    if len(sizes) != len(steps) or int(offset) < 0 or min((*sizes, *steps), default=0) < 0:
        raise PickleError("a tensor has an invalid shape")
    last = int(offset) + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    if 0 not in sizes and last >= storage.count:
        raise PickleError("a tensor reaches beyond its data")
    return Tensor(storage, int(offset), sizes, steps)


def _array(shape: Any, dtype: Any, is_fortran: Any, values: Any) -> Any:
    """Array from its pickled state; a list of objects remains a list."""
    sizes = tuple(int(v) for v in shape)
    if not isinstance(dtype, Dtype) or min(sizes, default=0) < 0:
        raise PickleError("an array has an invalid shape")
    if isinstance(values, list):
        return values
    if not isinstance(values, bytes):
        raise PickleError("an array contains no numbers")
    numbers = np.frombuffer(values, dtype.numpy())
    if numbers.size != np.prod(sizes, dtype=float):
        raise PickleError("the number of elements of an array does not match its shape")
    return numbers.reshape(sizes, order="F" if is_fortran else "C")


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any = "C") -> Shell:
    """Array in the format of pickle protocol 5."""
    return Shell(_array(shape, dtype, order == "F", bytes(data) if isinstance(data, bytearray) else data))


def _scalar(dtype: Any, data: Any) -> float:
    if not isinstance(dtype, Dtype) or not isinstance(data, bytes):
        raise PickleError("a number is malformed")
    return float(np.frombuffer(data, dtype.numpy())[0])


def _encoded(text: Any, code: Any = "utf-8") -> bytes:
    if code not in ("latin1", "utf-8") or not isinstance(text, str):
        raise PickleError("a string has an unknown encoding")
    return text.encode(code)


_VALUES = frozenset({Name("numpy", "ndarray")})
_MADE: Mapping[Name, Callable[..., Any]] = MappingProxyType(
    {
        Name("torch._utils", "_rebuild_tensor_v2"): _tensor,
        Name("collections", "OrderedDict"): lambda *_: {},
        Name("numpy", "dtype"): lambda text, *_: Dtype(str(text)),
        Name("_codecs", "encode"): _encoded,
        **{Name(f"numpy.{core}.multiarray", "_reconstruct"): lambda *_: Shell() for core in ("core", "_core")},
        **{Name(f"numpy.{core}.multiarray", "scalar"): _scalar for core in ("core", "_core")},
        **{Name(f"numpy.{core}.numeric", "_frombuffer"): _from_buffer for core in ("core", "_core")},
    }
)
_IDLE = frozenset({"PROTO", "FRAME"})
_CONSTANTS: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "NONE": lambda: None, "MARK": lambda: MARK,
        "NEWTRUE": lambda: True, "NEWFALSE": lambda: False,
    }
)  # fmt: skip
_PLAIN = frozenset(
    {
        "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
        "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "BINSTRING", "SHORT_BINSTRING",
    }
)  # fmt: skip


def _remember(machine: _Machine, argument: Any) -> None:
    machine.memo[len(machine.memo) if argument is None else int(argument)] = machine.stack[-1]


_ACTIONS: Mapping[str, Callable[[_Machine, Any], None]] = MappingProxyType(
    {
        "TUPLE": lambda m, _: m.stack.append(tuple(m.since_mark())),
        "TUPLE1": lambda m, _: m.tuple_of(1),
        "TUPLE2": lambda m, _: m.tuple_of(2),
        "TUPLE3": lambda m, _: m.tuple_of(3),
        "APPEND": lambda m, _: m.append([m.stack.pop()]),
        "APPENDS": lambda m, _: m.append(m.since_mark()),
        "SETITEM": lambda m, _: m.set_items([m.stack.pop(-2), m.stack.pop()]),
        "SETITEMS": lambda m, _: m.set_items(m.since_mark()),
        "GLOBAL": _Machine.name,
        "STACK_GLOBAL": _Machine.stacked_name,
        "REDUCE": _Machine.reduce,
        "BUILD": _Machine.build,
        "BINPERSID": _Machine.persistent,
        **dict.fromkeys(("BINPUT", "LONG_BINPUT", "MEMOIZE"), _remember),
        **dict.fromkeys(("BINGET", "LONG_BINGET"), lambda m, key: m.stack.append(m.memo[int(key)])),
    }
)


def named_arrays(value: Any, filled: Callable[[Tensor], NDArray[Any]] | None = None) -> dict[str, NDArray[Any]]:
    """Numeric arrays by dotted names; filled: function that converts a tensor to an array."""
    collector = _Collector(filled)
    collector.take(_own(value), "", 0)
    return collector.found


@dataclass
class _Collector:
    """Collector of arrays in nested dictionaries; a shared dictionary is collected under each of its names."""

    filled: Callable[[Tensor], NDArray[Any]] | None
    found: dict[str, NDArray[Any]] = field(default_factory=dict)
    seen: int = 0

    def take(self, value: Any, name: str, depth: int) -> None:
        """Collect the arrays in one value."""
        self.seen += 1
        if depth > MAX_DEPTH or self.seen > MOST_ENTRIES:
            raise PickleError("the tables of the file are nested too deeply, or there are too many of them")
        value = value.values if isinstance(value, Shell) else value
        if isinstance(value, dict):
            for key, own in value.items():
                self.take(own, f"{name}.{key}" if name else str(key), depth + 1)
            return
        array = self._array(value)
        if array is not None:
            self.found[name or "data"] = array

    def _array(self, value: Any) -> NDArray[Any] | None:
        if isinstance(value, Tensor):
            return None if self.filled is None else self.filled(value)
        if isinstance(value, np.ndarray):
            return value
        if isinstance(value, list) and len(value) > 1 and all(type(v) in (int, float) for v in value):
            return np.array(value, float)
        return None


def _own(value: Any) -> Any:
    """Single element of an object array, or the value itself."""
    inner = value.values if isinstance(value, Shell) else value
    return inner[0] if isinstance(inner, list) and len(inner) == 1 else value
