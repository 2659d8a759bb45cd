"""Published base parameters: the PUMA 560 of Gautier & Khalil, SYMORO's RX90, counts of well-known arms."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minertia.base.derive import base_parameters
from minertia.robot.files import read_robot
from tests.shared import SHARED, needs_shared

COUNTS = {
    "puma560": (36, 40),
    "rx90": (36, 40),
    "stanford": (33, 37),
    "scara": (8, 11),
    "planar2r": (4, 5),
    "panda": (43, 48),
    "iiwa14": (43, 48),
    "ur10e": (36, 40),
}
FILES = {
    "ur10e.urdf": (36, 40),
    "kuka_lwr4.urdf": (43, 48),
    "double_pendulum.urdf": (6, 7),
    "cartpole.urdf": (4, 4),
    "RX90.par": (36, 40),
    "Stanford.par": (33, 37),
    "solo12.urdf": (68, 72),
    "airbot_play.urdf": (36, 40),
    "xmate7_XM7p.urdf": (43, 48),
    "kinova_gen3.urdf": (43, 48),
    "scara_rrpr_noinertia.urdf": (8, None),
    "puma560.urdf": (36, 40),
    "tx40_mdh_modified.urdf": (36, 40),
    "panda_nohand.mjcf.xml": (43, 48),
    "ur5e.mjcf.xml": (36, 40),
}

# the summary of section V of Gautier & Khalil 1990, in letters
PUMA_560 = {
    "ZZR1": "ZZ1 + YY2 + YY3 + D4**2*(M4+M5+M6) + 2*R3*MZ3 + (R3**2 + D3**2)*(M3+M4+M5+M6)",
    "XXR2": "XX2 - YY2 - D3**2*(M3+M4+M5+M6)",
    "XZR2": "XZ2 - D3*MZ3 - D3*R3*(M3+M4+M5+M6)",
    "ZZR2": "ZZ2 + D3**2*(M3+M4+M5+M6)",
    "MXR2": "MX2 + D3*(M3+M4+M5+M6)",
    "XXR3": "XX3 - YY3 + YY4 + 2*R4*MZ4 + (R4**2 - D4**2)*(M4+M5+M6)",
    "XYR3": "XY3 - D4*MZ4 - D4*R4*(M4+M5+M6)",
    "ZZR3": "ZZ3 + YY4 + 2*R4*MZ4 + (D4**2 + R4**2)*(M4+M5+M6)",
    "MXR3": "MX3 + D4*(M4+M5+M6)",
    "MYR3": "MY3 + MZ4 + R4*(M4+M5+M6)",
    "XXR4": "XX4 + YY5 - YY4",
    "ZZR4": "ZZ4 + YY5",
    "MYR4": "MY4 - MZ5",
    "XXR5": "XX5 + YY6 - YY5",
    "ZZR5": "ZZ5 + YY6",
    "MYR5": "MY5 + MZ6",
    "XXR6": "XX6 - YY6",
}
PUMA_ALONE = [
    "XY2",
    "YZ2",
    "MY2",
    "XZ3",
    "YZ3",
    "XY4",
    "XZ4",
    "YZ4",
    "MX4",
    "XY5",
    "XZ5",
    "YZ5",
    "MX5",
    "XY6",
    "XZ6",
    "YZ6",
    "ZZ6",
    "MX6",
    "MY6",
]


@pytest.mark.parametrize("name", COUNTS)
def test_counts_of_bundled_robots(name):
    robot = read_robot(name)
    for method in ("closed-form", "mlc", "numeric"):
        counts = tuple(base_parameters(robot, method, rotors=rotors).count for rotors in (False, True))
        assert counts == COUNTS[name]


@needs_shared
@pytest.mark.parametrize("name", FILES)
def test_counts_of_robot_files(name):
    if name.endswith(".mjcf.xml"):
        pytest.importorskip("mujoco")
    robot = read_robot(SHARED / "robots" / name)
    plain, rotors = FILES[name]
    found = base_parameters(robot)
    assert found.count == plain == found.certificate.rank
    assert found.certificate.is_clear
    assert not any(found.is_numeric)
    if rotors is not None:
        assert base_parameters(robot, rotors=True).count == rotors


@needs_shared
def test_a_quadruped_with_a_floating_base():
    robot = read_robot(SHARED / "robots" / "solo12.urdf", base="floating")
    assert base_parameters(robot).count == 94


@needs_shared
@pytest.mark.parametrize(("name", "snapped", "as_written"), [("puma560.urdf", 36, 38), ("kinova_gen3.urdf", 43, 45)])
def test_rounded_angles_are_what_makes_the_difference(name, snapped, as_written):
    path = SHARED / "robots" / name
    assert base_parameters(read_robot(path)).count == snapped
    assert base_parameters(read_robot(path, snap=0)).count == as_written
    notes = read_robot(path).notes
    assert any("snap" in note.text or "taken as" in note.text for note in notes)


def test_the_puma_560_of_gautier_and_khalil():
    found = base_parameters(read_robot("puma560"))
    relations = found.relation_texts()
    assert set(relations) == {*PUMA_560, *PUMA_ALONE}
    rng = np.random.default_rng(0)
    for _ in range(5):
        values = {name: float(rng.normal()) for name in (*found.columns, "D3", "R3", "D4", "R4")}
        for name, published in PUMA_560.items():
            ours = eval(relations[name], {}, dict(values))
            assert ours == pytest.approx(eval(published, {}, dict(values)), rel=1e-12), name
    assert [relations[name] for name in PUMA_ALONE] == PUMA_ALONE
    none = {name for name, kind in found.classes().items() if kind == "none"}
    assert none == {"XX1", "XY1", "XZ1", "YY1", "YZ1", "MX1", "MY1", "MZ1", "M1", "MZ2", "M2"}


@needs_shared
def test_the_rx90_of_symoro():
    """SYMORO's grouped list, evaluated on random parameters, gives our values and so the same torques."""
    text = (SHARED / "facts" / "RX90_regrouped_symoro.txt").read_text()
    robot = read_robot(SHARED / "robots" / "RX90.par")
    found = base_parameters(robot, rotors=True)
    rng = np.random.default_rng(1)
    chi = rng.normal(size=len(found.columns))
    symbols = dict(robot.symbol_values)
    values = dict(zip(found.columns, chi, strict=True)) | symbols | {f"{f}{k}": 0.3 for f in "CS" for k in range(1, 7)}
    for line in re.findall(r"^(\w+ = .+)$", text.split("Equations:")[1].split("*=*")[0], flags=re.M):
        name, formula = line.split(" = ")
        if not formula.startswith(("cos", "sin")):
            values[name] = eval(formula, {}, dict(values))
    table = text.split("Dynamic inertia parameters")[2].split("*=*")[0]
    theirs = np.zeros(len(found.columns))
    for row in table.strip().splitlines()[1:]:
        j, *entries = row.split()
        for symbol, entry in zip(
            ["XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M", "IA"], entries, strict=True
        ):
            if entry != "0":
                theirs[found.columns.index(f"{symbol}{j}")] = values[entry]
    assert np.count_nonzero(theirs) == 40
    assert np.allclose(found.K @ theirs, found.K @ chi, rtol=1e-10, atol=1e-10)


def test_khoslas_classes_depend_on_the_frames():
    """CMU DD Arm II: 7 of the first two links' parameters show in classic DH frames, 5 in modified ones."""
    found = base_parameters(read_robot("cmu_dd_arm2"))

    def shown(frames):
        return [n for n, kind in found.classes(frames).items() if kind != "none" and n[-1] in "12"]

    assert shown("file") == ["ZZ1", "MX1", "M1", "ZZ2", "MX2", "MY2", "M2"]
    assert len(shown("joint")) == 5


def test_chosen_columns_are_kept_first():
    robot = read_robot("puma560")
    found = base_parameters(robot, rotors=True, keep=("IA1", "IA2", "YY3"))
    assert {"IA1", "IA2", "YY3"} <= set(found.kept)
    assert found.count == 40
    assert found.certificate.error < 1e-9
    assert found.relation_texts()["IAR1"].startswith("IA1 + ")


def test_conversion_between_sets():
    robot = read_robot("puma560")
    closed, lin = base_parameters(robot), base_parameters(robot, "mlc")
    chi = np.random.default_rng(2).normal(size=60)
    assert np.allclose(closed.conversion_to(lin) @ closed.values(chi), lin.values(chi))
