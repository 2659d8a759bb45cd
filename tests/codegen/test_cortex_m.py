"""The 6R arm on a Cortex-M4F, in an emulator: instructions per call and error."""

from __future__ import annotations

import importlib
import shutil
import struct
import warnings

import numpy as np
import pytest

from minertia.codegen.generate import generate
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.codegen.targets.selftest import reference
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
