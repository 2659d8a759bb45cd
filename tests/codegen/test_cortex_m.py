"""The 6R arm on a Cortex-M4F, in an emulator: instructions per call and error."""

from __future__ import annotations

import importlib
import shutil
import struct
import warnings

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.options import CodeModel
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.codegen.targets.selftest import reference
from minertia.robot.files import read_robot
from tests.codegen import robots
from tests.codegen.compiled import difference, run

TARGET = ("--target=thumbv7em-none-eabihf", "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
FLAGS = (*TARGET, "-std=c99", "-O2", "-ffreestanding", "-ffp-contract=fast")
RAM, BACK = 0x20000000, 0x30000


def _emulator(elf: bytes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        unicorn = pytest.importorskip("unicorn")
    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
    uc.mem_map(0, 0x40000)
    uc.mem_map(RAM, 0x10000)
    start, count = struct.unpack_from("<I", elf, 28)[0], struct.unpack_from("<H", elf, 44)[0]
    for k in range(count):
        kind, offset, address, _, size, *_ = struct.unpack_from("<8I", elf, start + 32 * k)
        if kind == 1:
            uc.mem_write(address, elf[offset : offset + size])
    return unicorn, uc


@pytest.mark.skipif(not (shutil.which("clang") and shutil.which("ld.lld")), reason="needs clang and lld")
def test_cortex_m4f(tmp_path):
    robot = robots.puma560()
    result = generate(robot, tmp_path, programs=("inverse_dynamics",), target="cortex-m")
    run(["clang", *FLAGS, "-c", "puma560.c", "-o", "x.o"], tmp_path)
    run(["ld.lld", "-Ttext=0x10000", "-e", "puma560_inverse_dynamics", "x.o", "-o", "x.elf"], tmp_path)
    elf = (tmp_path / "x.elf").read_bytes()
    unicorn, uc = _emulator(elf)
    arm = importlib.import_module("unicorn.arm_const")
    setting = Setting(robot)
    program = build(setting, "inverse_dynamics", result.representatives["inverse_dynamics"])
    inputs, wanted = reference(setting, program)
    count = [0]
    uc.hook_add(unicorn.UC_HOOK_CODE, lambda *_: count.__setitem__(0, count[0] + 1))
    found = np.empty_like(wanted["tau"])
    for sample in range(len(found)):
        for k, name in enumerate(("q", "qd", "qdd")):
            uc.mem_write(RAM + 64 * k, inputs[name][sample].astype("<f4").tobytes())
        registers = {arm.UC_ARM_REG_R0 + k: RAM + 64 * k for k in range(4)}
        for register, value in (registers | {arm.UC_ARM_REG_SP: RAM + 0xF000, arm.UC_ARM_REG_LR: BACK | 1}).items():
            uc.reg_write(register, value)
        uc.emu_start(struct.unpack_from("<I", elf, 24)[0] | 1, BACK)
        found[sample] = np.frombuffer(uc.mem_read(RAM + 192, 24), "<f4")
    assert difference(found, wanted["tau"]) < 1e-5
    assert count[0] / len(found) < 1200


LIBRARY = """
#include <stddef.h>
void *memcpy(void *restrict a, const void *restrict b, size_t n);
void *memset(void *a, int c, size_t n);
void *memcpy(void *restrict a, const void *restrict b, size_t n)
{
  for (size_t k = 0; k < n; ++k) ((volatile char *)a)[k] = ((const char *)b)[k];
  return a;
}
void *memset(void *a, int c, size_t n)
{
  for (size_t k = 0; k < n; ++k) ((volatile char *)a)[k] = (char)c;
  return a;
}
"""


@pytest.mark.skipif(not (shutil.which("clang") and shutil.which("ld.lld")), reason="needs clang and lld")
def test_the_estimator_of_58_parameters_fits_a_controller(tmp_path):
    """Flash, stack and the result of one step on a Cortex-M4F; docs/programs.md states these figures."""
    robot = read_robot("ur10e")
    model = CodeModel("base", rotors=True, friction=True)
    generate(robot, tmp_path, target="cortex-m", programs=("recursive_update",), model=model)
    (tmp_path / "math.h").write_text("#define sqrtf __builtin_sqrtf\n#define fabsf __builtin_fabsf\n")
    (tmp_path / "library.c").write_text(LIBRARY)
    for name in ("ur10e", "library"):
        run(["clang", *FLAGS, "-fno-math-errno", "-I.", "-c", f"{name}.c", "-o", f"{name}.o"], tmp_path)
    run(["ld.lld", "-Ttext=0x10000", "-e", "ur10e_recursive_update", "ur10e.o", "library.o", "-o", "x.elf"], tmp_path)
    elf = (tmp_path / "x.elf").read_bytes()
    unicorn, uc = _emulator(elf)
    arm = importlib.import_module("unicorn.arm_const")
    program = build(Setting(robot, "base", rotors=True, friction=True), "recursive_update")
    assert program.columns and len(program.columns) == 58
    inputs, wanted = reference(Setting(robot, "base", rotors=True, friction=True), program, samples=1)
    top, count = RAM + 0xF000, [0]
    uc.mem_write(RAM, b"\xa5" * 0xF000)
    places, place = [], RAM
    for port in (*program.inputs, *program.ports):
        places.append(place)
        if port.name in inputs:
            uc.mem_write(place, inputs[port.name][0].astype("<f4").tobytes())
        place += 4 * port.size
    stack = struct.pack(f"<{len(places) - 4}I", *places[4:])  # four arguments in registers, the others on the stack
    uc.mem_write(top, stack)
    for k in range(4):
        uc.reg_write(arm.UC_ARM_REG_R0 + k, places[k])
    uc.reg_write(arm.UC_ARM_REG_SP, top)
    uc.reg_write(arm.UC_ARM_REG_LR, BACK | 1)
    uc.hook_add(unicorn.UC_HOOK_CODE, lambda *_: count.__setitem__(0, count[0] + 1))
    uc.emu_start(struct.unpack_from("<I", elf, 24)[0] | 1, BACK)
    for port, where in zip(program.ports, places[len(program.inputs) :], strict=True):
        found = np.frombuffer(uc.mem_read(where, 4 * port.size), "<f4")
        assert difference(found, wanted[port.name][0]) < 1e-4, port.name
    free = bytes(uc.mem_read(place, top - place))
    used = len(free) - (len(free) - len(free.lstrip(b"\xa5")))
    flash = sum(size for size in _loaded(elf))
    assert used < 2600 and flash < 14_000 and count[0] < 260_000, (used, flash, count[0])


def _loaded(elf: bytes):
    """Bytes of every part of a program that is loaded."""
    start, parts = struct.unpack_from("<I", elf, 28)[0], struct.unpack_from("<H", elf, 44)[0]
    headers = (struct.unpack_from("<8I", elf, start + 32 * k) for k in range(parts))
    return [size for kind, _, _, _, size, *_ in headers if kind == 1]
