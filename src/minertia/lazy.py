"""Names of a package that are loaded when first used, so that importing it costs nothing.

The stub beside the package (`__init__.pyi`) is the one list of its names: type checkers read it, and so does this.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # that of `typing`, which takes half of the time of `import minertia`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(
    package: str, renamed: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package; renamed: names of before with those of today, seen from the package."""
    homes: dict[str, tuple[str, str]] = {}
    before = renamed or {}

    def table() -> dict[str, tuple[str, str]]:
        if not homes:
            homes.update(homes_in(_stub_of(package)))
        return homes

    def load(name: str) -> Any:
        if name in before:
            _warn(f"{package}.{name} is {package}.{before[name]} now; the old name goes with version 1.0.0")
            return _reached(package, before[name])
        if name.startswith("__") or name not in table():
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, own = table()[name]
        value = getattr(import_module(module), own) if own else import_module(module)
        setattr(import_module(package), name, value)
        return value

    def names() -> list[str]:
        return sorted({*table(), "__doc__", "__file__", "__name__"})

    return load, names


def _warn(told: str) -> None:
    import warnings

    warnings.warn(told, DeprecationWarning, stacklevel=3)  # whoever asked for the name


def homes_in(stub: str) -> dict[str, tuple[str, str]]:
    """{name: (module, name there)} of the imports of a stub; the second is empty for a module itself."""
    import ast

    found = {}
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                home = (
                    (f"{node.module}.{alias.name}", "") if node.module == "minertia" else (str(node.module), alias.name)
                )
                found[alias.asname or alias.name] = home
    return found


def _stub_of(package: str) -> str:
    from pathlib import Path

    return Path(str(import_module(package).__file__)).with_suffix(".pyi").read_text(encoding="utf-8")


def _reached(package: str, path: str) -> Any:
    value: Any = import_module(package)
    for part in path.split("."):
        value = getattr(value, part)
    return value
