"""Generated code of a calibrated robot: compiled, self-tested, and held against the model's own kinematics."""

from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.codegen.calibrated_programs import CALIBRATED_BUILDERS, corrected_positions, correction_slopes
from minertia.codegen.generate import DEFAULT, TARGETS, generate
from minertia.codegen.options import CodeModel
from minertia.codegen.programs import build
from minertia.codegen.setting import setting_of
from minertia.codegen.targets.names import identifier
from minertia.dynamics.model import inverse_dynamics
from minertia.excitation.excite import excite, family_of
from minertia.excitation.options import MotionSearch, MotionShape
from minertia.identification.geometry.chain import chain_of, exponential, moved
from minertia.identification.geometry.files import write_corrected
from minertia.identification.geometry.joints import joint_columns
from minertia.io.errors import InputError, MinertiaError
from minertia.robot.identified import corrected_robot
from tests.calibration.planted import arm
from tests.codegen.compiled import COMPILERS, call, library, run

GROUPS = ("sag", "gear", "harmonics", "coupling")
SIZE = 5e-4  # rad, m: of each correction, at its root mean square


def calibrated(name: str, groups: tuple[str, ...] = GROUPS, size: float = SIZE) -> tuple:
    """(chain as described, record of a calibration with every correction, corrected robot)."""
    chain, rng = arm(name), np.random.default_rng(7)
    errors = rng.normal(size=(chain.n + 1, 6)) * ([1e-3] * 3 + [3e-3] * 3)
    errors[0] = 0
    placements = chain.nominal @ exponential(errors)
    columns = joint_columns(chain, groups, rng.uniform(-1, 1, (200, chain.robot.n)), np.array(chain.robot.gravity))
    numbers = lambda T: [float(x) for x in (*T[:3, :3].ravel(), *T[:3, 3])]  # noqa: E731
    record = {
        "tip": chain.tip,
        "joints": [{"joint": j + 1, "pose": numbers(placements[k])} for k, j in enumerate(chain.joints) if k],
        "frames": [{"name": "calibrated_tool", "joint": chain.joints[-1] + 1, "pose": numbers(placements[-1])}],
        "corrections": [
            {"name": c.name, "group": c.group, "joint": c.joint + 1, "size": c.size, "value": size * rng.normal()}
            for c in columns
        ],
    }
    return chain, placements, record, corrected_robot(chain.robot, record)


def fitted_pose(chain, placements, record, q):
    """Tool poses (N, 4, 4) as the fit of the calibration predicts them, from its own columns."""
    made = joint_columns(chain, GROUPS, q, np.array(chain.robot.gravity))
    shapes = {c.name: c.shape * c.size for c in made}
    positions = chain.positions(q)
    for c in record["corrections"]:
        positions[:, c["joint"] - 1] += c["value"] / c["size"] * shapes[c["name"]]
    return moved(placements, chain.is_hinge, positions).tool


LATER = [(name, compiler) for name in ("scara", "ur10e", "stanford") for compiler in COMPILERS]


@pytest.mark.parametrize(
    ("name", "compiler"), [LATER[0], *(pytest.param(*one, marks=pytest.mark.slow) for one in LATER[1:])]
)
def test_compiled_code_is_the_calibrated_model(name, compiler, tmp_path):
    """Correction, inverse, pose and Jacobian in C against the fit's own chain, and the inverse against the forward."""
    chain, placements, record, robot = calibrated(name)
    result = generate(robot, tmp_path, programs=tuple(CALIBRATED_BUILDERS))
    assert all(result.counts[p]["multiplications"] > 0 for p in CALIBRATED_BUILDERS)
    prefix = identifier(robot.name)
    assert "malloc" not in (tmp_path / f"{prefix}.c").read_text()
    assert "FAILED" not in run(["make", "-s", f"CC={compiler}", "test"], tmp_path)
    lib, setting = library(tmp_path, prefix, compiler), setting_of(CodeModel(), robot)
    made = {p: build(setting, p, thorough=None) for p in CALIBRATED_BUILDERS}
    q = np.random.default_rng(1).uniform(-2, 2, (40, chain.n))
    found = {p: call(lib, prefix, made[p], {"q": q}) for p in CALIBRATED_BUILDERS}
    corrected, command = found["correct_joints"]["q_corrected"], found["command_joints"]["q_command"]
    assert np.abs(corrected - corrected_positions(robot, q)).max() < 1e-12
    assert np.abs(corrected - q).max() > SIZE
    again = call(lib, prefix, made["correct_joints"], {"q": command})["q_corrected"]
    assert np.abs(again - q).max() < 1e-12
    pose, wanted = found["calibrated_forward_kinematics"], fitted_pose(chain, placements, record, q)
    assert np.abs(pose["R"] - wanted[:, :3, :3]).max() < 1e-12
    assert np.abs(pose["p"] - wanted[:, :3, 3]).max() < 1e-12
    J = found["calibrated_jacobian"]["J"]
    assert np.abs(J[:, :3] - _differences(chain, placements, record, q)).max() < 1e-7


def _differences(chain, placements, record, q, step=1e-5):
    """Central differences of the fit's tool position."""
    found = []
    for k in range(chain.n):
        ahead, behind = (fitted_pose(chain, placements, record, q + s * step * np.eye(chain.n)[k]) for s in (1, -1))
        found.append((ahead - behind)[:, :3, 3] / (2 * step))
    return np.stack(found, axis=2)


def test_a_calibrated_robot_without_masses_is_generated_with_nothing_asked(tmp_path):
    """Corrected kinematics alone; with masses also its dynamics."""
    *_, robot = calibrated("scara")
    bare = replace(robot, links=(None,) * robot.n_joints, effects=())
    assert set(generate(bare, tmp_path / "bare").counts) == set(CALIBRATED_BUILDERS)
    *_, heavy = calibrated("ur10e")
    assert TARGETS["c"].usual(heavy) == (*DEFAULT, *CALIBRATED_BUILDERS)
    assert TARGETS["c"].usual(mi.read_robot("ur10e")) == DEFAULT


def test_slopes_of_corrections_are_their_derivatives():
    *_, robot = calibrated("ur10e")
    q, step = np.random.default_rng(2).uniform(-2, 2, (5, 6)), 1e-6
    found = correction_slopes(robot, q)
    for k in range(6):
        ahead, behind = (corrected_positions(robot, q + s * step * np.eye(6)[k]) for s in (1, -1))
        assert np.abs((ahead - behind) / (2 * step) - found[:, :, k]).max() < 1e-8


def test_corrections_that_change_too_fast_have_no_inverse():
    *_, robot = calibrated("ur10e", size=0.5)
    with pytest.raises(InputError, match="cannot be inverted"):
        generate(robot, None, programs=["command_joints"])


@pytest.mark.parametrize("source", ["arm.urdf", "arm.xml"])
def test_files_have_the_torques_of_the_corrected_robot(source, tmp_path, monkeypatch):
    """Inertias go with the corrected frames into TOML, URDF and MJCF, also where the user's own file is filled in."""
    mi.write_robot(mi.read_robot("ur10e"), tmp_path / source)
    monkeypatch.setattr("tests.calibration.test_code.arm", lambda name: chain_of(mi.read_robot(tmp_path / source)))
    chain, *_, robot = calibrated(source, ())
    state = np.random.default_rng(3).uniform(-1, 1, (3, 5, 6))
    tau = inverse_dynamics(robot, *state)
    write_corrected(chain.robot, robot, tmp_path)
    names = ["robot.toml", "robot.urdf" if source == "arm.urdf" else "robot.xml"]
    for name in ("other.urdf", "other.xml"):
        mi.write_robot(robot, tmp_path / name)
    for name in (*names, "other.urdf", "other.xml"):
        off = np.abs(inverse_dynamics(mi.read_robot(tmp_path / name), *state) - tau).max()
        assert off < 1e-12 * np.abs(tau).max(), name
    assert np.abs(inverse_dynamics(chain.robot, *state) - tau).max() > 1e-4 * np.abs(tau).max()
    if source == "arm.xml":
        with pytest.raises(MinertiaError, match="keeps its frames"):
            mi.write_robot(robot, tmp_path / "filled.xml", template=tmp_path / source)


def test_an_excitation_trajectory_is_found_for_the_corrected_robot():
    """Axes that corrections turn by some mrad identify no rotor inertia that parallel axes do not."""
    chain, *_, robot = calibrated("ur10e")
    counts = [mi.base_parameters(r, rotors=True).count for r in (chain.robot, robot.described, robot)]
    assert counts[0] == counts[1] < counts[2]
    found = excite(
        robot, family_of(MotionShape(duration=8.0)), search=MotionSearch(starts=1, n_samples=60, patience=0.1)
    )
    assert found.condition < 1e3
