"""Put a fault into modules that are in memory, so that nothing is imported again and no file is written."""

from __future__ import annotations

import gc
import importlib
import sys
import types
from pathlib import Path
from typing import Any

from tools.mutants.places import module_name
from tools.mutants.sites import Fault


def put_in(root: Path, fault: Fault) -> None:
    """Exchange the code of a module, and what others have imported of its constants."""
    path = root / "src/minertia" / fault.file
    module = importlib.import_module(module_name(fault.file))
    fresh = _changed(path, module, fault)
    old, new = (_functions(names, str(path)) for names in (module.__dict__, fresh.__dict__))
    for key, functions in new.items():
        for own in old.get(key, ()):
            _take_over(own, functions[0])
    for name in fault.names:
        before, after = module.__dict__[name], fresh.__dict__[name]
        for other in list(sys.modules.values()):
            if getattr(other, "__name__", "").startswith("minertia") and getattr(other, name, None) is before:
                setattr(other, name, after)


def _changed(path: Path, module: types.ModuleType, fault: Fault) -> types.ModuleType:
    """The module with the fault, beside the one that is in use."""
    text = path.read_text(encoding="utf-8")
    changed = text[: fault.start] + fault.new + text[fault.stop :]
    fresh = types.ModuleType(module.__name__)
    fresh.__dict__.update(__file__=str(path), __package__=module.__package__)
    exec(compile(changed, str(path), "exec"), fresh.__dict__)
    return fresh


def _take_over(own: types.FunctionType, other: types.FunctionType) -> None:
    own.__code__, own.__defaults__, own.__kwdefaults__ = other.__code__, other.__defaults__, other.__kwdefaults__


def _functions(names: dict[str, Any], path: str) -> dict[tuple[str, int], list[types.FunctionType]]:
    found: dict[tuple[str, int], list[types.FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__globals__ is names and thing.__code__.co_filename == path:
            found.setdefault((thing.__qualname__, thing.__code__.co_firstlineno), []).append(thing)
    return found
