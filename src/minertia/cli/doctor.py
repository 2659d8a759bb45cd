"""`minertia doctor`: report the installation and the features it supports."""

from __future__ import annotations

import platform
from typing import Any

from minertia.cli.options import AsJson
from minertia.cli.terminal import say_json, say_table
from minertia.version import __version__

FORMAT = 1
LIBRARIES = ("numpy", "scipy", "typer", "rich")
EXTRAS = {
    "sim": ("mujoco",),
    "usd": ("pxr",),
    "newton": ("newton",),
    "fmu": ("fmpy",),
    "logs": ("pyarrow", "rosbags"),
    "mat73": ("h5py",),
    "compiler": ("ziglang",),
    "notebook": ("pandas", "matplotlib"),
    "symbolic": ("sympy",),
    "pinocchio": ("pinocchio",),
    "studio": ("fastapi", "uvicorn", "tomlkit"),
    "pdf": ("playwright",),
    "gpu": ("cupy",),
    "jax": ("jax",),
    "torch": ("torch",),
    "ur": ("rtde_control", "rtde_receive"),
    "rosbridge": ("websockets",),
    "cluster": ("distributed", "fsspec", "s3fs"),
}  # as in pyproject.toml


def doctor(as_json: AsJson = False) -> None:
    """Report the Python version, libraries, compiler and extras found."""
    from minertia.report.tables import Table

    found = _found()
    if as_json:
        say_json({"format": FORMAT, **found})
        return
    single = {name: value for name, value in found.items() if not isinstance(value, dict)}
    rows = [(name, value or "not found") for name, value in (single | found["libraries"]).items()]
    rows += [(f"extra '{name}'", _extra_text(name, ok)) for name, ok in found["extras"].items()]
    say_table(Table(("what", "found"), tuple(rows)))


def _found() -> dict[str, Any]:
    from importlib.util import find_spec

    from minertia.codegen.kernels import build

    kernels = build.status()
    return {
        "minertia": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "compiler": kernels.compiler,
        "kernels": kernels.words,
        "libraries": {name: _version(name) for name in LIBRARIES},
        "extras": {name: all(find_spec(package) for package in packages) for name, packages in EXTRAS.items()},
    }


def _extra_text(name: str, present: bool) -> str:
    return "present" if present else f"not installed; pip install 'minertia[{name}]'"


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
