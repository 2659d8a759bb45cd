"""Programs for other processors than this one: cross compilers, emulators, and kernels whose tasks run there.

A program is linked statically, so that an emulator needs no libraries of the other machine.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minertia.codegen.kernels import runner as runners
from minertia.codegen.kernels import task as tasks
from minertia.codegen.kernels.batch import batch_source
from minertia.codegen.kernels.schedule import Schedule
from minertia.codegen.kernels.task import PORTS, Task

NATIVE = Path(runners.__file__).parent / "native"
# the image that a task travels in: the task, then its arrays; pointers count from its start, 0 is none
MAIN = """
#include <stdio.h>

int main(int n, char **names)
{
    static const int place[] = {PLACES};
    FILE *file = n > 1 ? fopen(names[1], "r+b") : 0;
    if (!file) return printf("%d\\n", SAMPLES) < 0;
    fseek(file, 0, SEEK_END);
    const size_t size = (size_t)ftell(file);
    char *const image = malloc(size);
    rewind(file);
    if (!image || fread(image, 1, size, file) != size) return 1;
    for (size_t k = 0; k < sizeof place / sizeof *place; k++) {
        int64_t *const pointer = (int64_t *)(image + place[k]);
        if (*pointer) *pointer += (int64_t)image;
    }
    const int failed = RUN((const Task *)image);
    rewind(file);
    return failed || fwrite(image, 1, size, file) != size || fclose(file);
}
"""
# one sample after the other: each brings all inputs and takes all outputs away
MAIN_ONE = """
#include <stdio.h>

int main(void)
{
    static const int inputs[] = {INPUTS}, outputs[] = {OUTPUTS};
    enum { N = sizeof inputs / sizeof *inputs, M = sizeof outputs / sizeof *outputs };
    static double room[N + M][4096];
    const double *in[N];
    double *out[M];
    for (int k = 0; k < N; k++) in[k] = room[k];
    for (int k = 0; k < M; k++) out[k] = room[N + k];
    for (;;) {
        for (int k = 0; k < N; k++)
            if (fread(room[k], sizeof(double), (size_t)inputs[k], stdin) != (size_t)inputs[k]) return k != 0;
        minertia_call(0, in, out);
        for (int k = 0; k < M; k++) fwrite(out[k], sizeof(double), (size_t)outputs[k], stdout);
    }
}
"""


@dataclass(frozen=True)
class Machine:
    """A processor: how to compile for it, and what runs its programs (nothing where this one can)."""

    name: str
    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    emulator: tuple[str, ...]
    lanes: int  # doubles in one vector

    def __str__(self) -> str:
        return self.name

    @property
    def by(self) -> str:
        """Its compiler: "gcc" or "clang"."""
        return self.name.rpartition("-")[2]

    def executable(self, target: Path, *sources: str, flags: tuple[str, ...] = ()) -> Path:
        """A program from C files in the folder of the target."""
        command = [*self.compiler, *self.flags, *flags, *sources, "-static", "-o", target.name, "-lm"]
        done = subprocess.run(command, cwd=target.parent, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stderr[-3000:]}"
        return target

    def run(self, program: Path, *arguments: str, given: bytes = b"") -> bytes:
        """What the program writes."""
        done = subprocess.run([*self.emulator, str(program), *arguments], input=given, capture_output=True, timeout=300)
        assert done.returncode == 0, f"{program}: {done.returncode} {(done.stdout + done.stderr)[-3000:].decode()}"
        return done.stdout


@cache
def reason_to_skip(machine: Machine) -> str:
    """Why nothing can be tried for a machine here, "" if it can; a program that does nothing decides."""
    for tool in (machine.compiler[0], *machine.emulator[:1]):
        if shutil.which(tool) is None:
            return f"no {tool}"
    if machine.name.startswith("avx512") and not _has_avx512():
        return "this processor has no AVX-512, and the emulator neither"
    text = b"#include <math.h>\nint main(int n, char **v) { return sin(n) > 2; }\n"
    with tempfile.TemporaryDirectory() as folder:  # a linker that fails removes what it was to write, /dev/null as well
        command = [*machine.compiler, *machine.flags, "-x", "c", "-", "-static", "-o", f"{folder}/a.out", "-lm"]
        has_failed = subprocess.run(command, input=text, capture_output=True).returncode
    if has_failed:
        return f"{machine.compiler[0]} cannot make programs for {machine.name}"
    return ""


def _has_avx512() -> bool:
    try:
        return platform.machine() == "x86_64" and "avx512f" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def _machines() -> list[Machine]:
    x86, arm = "x86_64-linux-gnu", "aarch64-linux-gnu"
    kinds = [  # name, triple, flags, emulator, lanes
        ("aarch64", arm, (), ("qemu-aarch64",), 2),
        ("sse2", x86, ("-march=x86-64",), ("qemu-x86_64", "-cpu", "Nehalem"), 2),  # which ends at any AVX instruction
        ("avx2", x86, ("-march=x86-64-v3",), ("qemu-x86_64", "-cpu", "max"), 4),
        ("avx512", x86, ("-march=x86-64-v4", "-mprefer-vector-width=512"), (), 8),
    ]
    compilers: tuple[tuple[str, Callable[[str], tuple[str, ...]]], ...] = (
        ("gcc", lambda triple: (f"{triple}-gcc",)),
        ("clang", lambda triple: ("clang", f"--target={triple}")),
    )
    return [
        Machine(f"{name}-{word}", command(triple), flags, emulator, lanes)
        for name, triple, flags, emulator, lanes in kinds
        for word, command in compilers
    ]


MACHINES = _machines()


# another processor, the narrowest vectors of this kind (kernels elsewhere in the tests have those of the machine), both
# compilers; the other pairs in make test-all
QUICK = ("aarch64-gcc", "sse2-clang")


TRIED = [pytest.param(m, marks=() if str(m) in QUICK else pytest.mark.slow, id=str(m)) for m in MACHINES]


@pytest.fixture(params=TRIED)
def machine(request: pytest.FixtureRequest) -> Machine:
    """Every processor that something at hand compiles for and runs."""
    reason = reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    return request.param  # type: ignore[no-any-return]


# ------------------------------------------------------------------ kernels


def _pointers() -> list[int]:
    """Offsets of all pointers in a task."""
    places = []
    for name, kind in Task._fields_:
        start = getattr(Task, name).offset
        if kind is ctypes.c_void_p:
            places.append(start)
        elif getattr(kind, "_type_", None) is ctypes.c_void_p:
            places += [start + 8 * p for p in range(PORTS)]
    return places


PLACES = _pointers()


FLAGS = ("-std=gnu11", "-ffp-contract=fast", "-fno-math-errno", "-w", f"-I{NATIVE}")


@cache
def _task_program(machine: Machine, text: str, folder: Path, level: str) -> Path:
    """The program of a text, made once for all tests that share the folder."""
    target = folder / f"{machine.name}-{len(list(folder.iterdir()))}"
    target.with_suffix(".c").write_text(text, encoding="utf-8")
    return machine.executable(target, f"{target.name}.c", flags=(*FLAGS, level))


class Elsewhere(runners._NativeRunner):
    """A runner whose tasks are carried out on another machine, by compiled code or by the interpreter."""

    path = "elsewhere"
    rows = None

    def __init__(self, schedule: Schedule, machine: Machine, folder: Path, interpreted: bool, level: str) -> None:
        super().__init__(schedule, "a test says so")
        self.machine, self.interpreted, self.arrays = machine, interpreted, dict[int, Any]()
        self.function = 0
        text = '#include "interpret_base.c"\n' if interpreted else batch_source(schedule)
        run = "interpret_base" if interpreted else "minertia_run"
        main = MAIN.replace("PLACES", ", ".join(map(str, PLACES))).replace("RUN(", f"{run}(")
        self.program = _task_program(machine, text + main, folder, level)
        self.samples = int(machine.run(self.program))

    def _frame(self, mode: int, n_outputs: int) -> Task:
        task = super()._frame(mode, n_outputs)
        if self.interpreted:
            slots = self.schedule.slots
            task.code, task.constants = self._address(slots.code), self._address(slots.constants)
            task.n_steps, task.n_slots = len(slots.code), slots.count
        return task

    def piece(self, work: tasks.Work) -> Callable[[int, int, Any], None]:
        """As in `Runner.piece`; remembers which array stands where while a task is put together."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tasks, "address", self._address)
            whole = self.tables.fill(self._frame(work.mode, len(work.outputs)), work)

        def part(first: int, count: int, result: Any) -> None:
            task = Task.from_buffer_copy(whole)
            task.first, task.count = first, count
            if result is not None:
                task.result = self._address(result)
            self._carry_out(task)

        return part

    def _address(self, array: Any) -> int:
        where = int(array.__array_interface__["data"][0])
        self.arrays[where] = array
        return where

    def _carry_out(self, task: Task) -> None:
        image, starts = bytearray(task), dict[int, int]()
        for place in PLACES:
            (where,) = struct.unpack_from("q", image, place)
            if where and where not in starts:
                image += bytes(-len(image) % 64)
                starts[where] = len(image)
                image += self.arrays[where].tobytes()
            struct.pack_into("q", image, place, starts[where] if where else 0)
        file = self.program.with_suffix(".image")
        file.write_bytes(image)
        self.machine.run(self.program, str(file))
        after = file.read_bytes()
        for where, start in starts.items():
            array = self.arrays[where]
            if array.flags.writeable:
                array[...] = np.frombuffer(after, array.dtype, array.size, start).reshape(array.shape)


def one_by_one(machine: Machine, source: str, folder: Path, schedule: Schedule, inputs: list[Any]) -> list[Any]:
    """Outputs of the function for one sample, called for each sample."""
    sizes = [port.size for port in schedule.inputs], [port.size for port in schedule.ports]
    words = [", ".join(map(str, part)) for part in sizes]
    main = MAIN_ONE.replace("INPUTS", words[0]).replace("OUTPUTS", words[1])
    (folder / "one.c").write_text(source + main, encoding="utf-8")
    program = machine.executable(folder / "one", "one.c", flags=(*FLAGS, "-O1"))
    rows = len(inputs[0])
    table = [np.broadcast_to(np.reshape(a, (-1, size)), (rows, size)) for a, size in zip(inputs, sizes[0], strict=True)]
    found = np.frombuffer(machine.run(program, given=np.hstack(table).tobytes())).reshape(rows, -1)
    return np.split(found, np.cumsum(sizes[1])[:-1], axis=1)
