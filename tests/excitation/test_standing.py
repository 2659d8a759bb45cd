"""Trajectories of robots with a floating base that stand on their feet or hang."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import minertia as mi
from minertia.cli import main
from minertia.codegen.kernels.build import native
from minertia.excitation import Foot, Fourier, MotionLimits
from minertia.excitation.constraint import Constraint
from minertia.excitation.limits import motion_limits
from minertia.excitation.options import MotionSearch, Optimality, Workspace
from minertia.excitation.standing import ContactLimits, settled, stand
from minertia.io.errors import Infeasible
from minertia.options import ColumnMap, FloatingOptions
from tests.identification.planted_legs import FOOT, PARTS, quadruped, urdf

STANDS = np.tile([0.0, 0.7, -1.4], 4)
OPEN = Workspace(floor=None, self_collision=False)
LEGS = ("FL", "FR", "RL", "RR")


@pytest.fixture(autouse=True)
def without_compiling(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Short searches do not pay for compiled code."""
    if native() is not None and "slow" not in request.keywords:
        monkeypatch.setenv("MINERTIA_KERNELS", "interpreter")


def limits(*lifted: str) -> MotionLimits:
    feet = [Foot(f"{leg}_calf", tuple(FOOT), lifted=leg in lifted) for leg in LEGS]
    return motion_limits(quadruped(), velocity=2.0, acceleration=20.0, workspace=OPEN).with_feet(*feet)


def contact_limits(own: MotionLimits) -> ContactLimits:
    (found,) = own.constraints
    assert isinstance(found, ContactLimits)
    return found


def test_contact_forces_of_a_quadruped_on_three_feet() -> None:
    """Margins against statics about the centre of mass, slopes against differences."""
    robot, own = stand(quadruped(), limits("RR"), STANDS)
    assert robot.coordinate_names[:6] == ("base x", "base y", "base z", "base roll", "base pitch", "base yaw")
    assert robot.n == 6 + 3 and len(robot.passive) == 9
    q = np.array([robot.seed[j] for j in robot.independent])[None]
    still = np.zeros_like(q)
    up = contact_limits(own).margins(q, still, still)[:, [0, 5, 10]] * 0.7 + 0.3  # forces over a third of the weight
    whole = np.concatenate([[0.0, 0, 0, 0, 0, 0, 1], STANDS])[None]
    posed = [mi.dynamics.forward_kinematics(quadruped(), whole, joint.link) for joint in quadruped().joints]
    frames = [(np.eye(3), np.zeros(3)), *((R[0], p[0]) for R, p in posed)]
    masses = np.array([8.0, *[*PARTS.values()] * 4])
    centre = masses @ np.array([p + R @ [0, 0, -0.05] for R, p in frames]) / masses.sum()
    points = np.array([(R @ FOOT + p)[:2] for R, p in (frames[3 * k + 3] for k in range(3))])
    shares = np.linalg.solve(np.vstack([points.T, np.ones(3)]), [*centre[:2], 1])
    np.testing.assert_allclose(up[0] / 3, shares, atol=1e-9)
    rng = np.random.default_rng(0)
    state = q + 0.02 * rng.normal(size=(2, 9)), rng.normal(size=(2, 9)), rng.normal(size=(2, 9))
    weights = rng.normal(size=(2, contact_limits(own).margins(*state).shape[1]))
    for one, other in zip(contact_limits(own).slopes(*state, weights),
                          Constraint.slopes(contact_limits(own), *state, weights), strict=True):  # fmt: skip
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    start = settled(own, robot)
    assert contact_limits(own).margins(start[None], still, still).min() > 0.2


def test_postures_that_do_not_stand_are_refused() -> None:
    for given, posture, said in (
        (limits(), None, "needs the posture in which it stands"),
        (limits(), STANDS + 0.1 * (np.arange(12) == 2), "mm above"),
        (limits("RL", "RR"), STANDS, "three points that are not in line"),
        (replace(limits(), feet=(Foot("trunk", size=(0.1, 0.1)),)), STANDS, "needs 6 joints before 'trunk'"),
    ):
        with pytest.raises(Infeasible, match=said):
            stand(quadruped(), given, posture)


def test_a_robot_that_hangs_is_planned_with_its_base_held() -> None:
    found = mi.excite(
        quadruped(), Fourier(6.0, harmonics=2), limits=motion_limits(quadruped(), workspace=OPEN),
        search=MotionSearch(starts=1, n_samples=40, patience=0.02),
    )  # fmt: skip
    assert found.base.robot.n == 12 and any("hangs" in note for note in found.notes)


def test_the_feet_of_a_command_are_read_from_a_limits_file(tmp_path: Path, capsys) -> None:
    (tmp_path / "legs.urdf").write_text(urdf())
    (tmp_path / "stand.toml").write_text('[[foot]]\nframe = "FL_calf"\nat = [0, 0, -0.2]\n')
    command = ["excite", str(tmp_path / "legs.urdf"), "--base", "floating", "--out", str(tmp_path / "out")]
    command += ["--limits", str(tmp_path / "stand.toml")]
    assert main(command) == 2
    assert "give its joint positions with --start" in " ".join(capsys.readouterr().err.split())
    assert main([*command, "--start", ",".join(map(str, STANDS))]) == 2
    assert "three points" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_humanoid_on_one_leg_keeps_its_foot_down_and_gives_its_mass(seed: int, tmp_path: Path) -> None:
    """Planned with the nominal file, simulated in MuJoCo with drawn masses, identified from base rows.

    Joints are controlled in position, with the efforts of the nominal file; with its gravity alone, seed 2 falls.
    """
    mujoco = pytest.importorskip("mujoco")
    from tests.identification import planted_standing as own

    planted = own.PlantedStanding.drawn("humanoid", seed)
    robot, posture = planted.robot(tmp_path), np.array([0, 0, -0.4, 0.8, -0.4, 0] * 2 + [0.0] * 7)
    sole = {"at": own.SOLE, "size": (0.24, 0.14), "friction": 0.6}
    bounds = motion_limits(robot, velocity=2.0, acceleration=15.0, workspace=OPEN)
    bounds = bounds.with_feet(Foot("L_foot", **sole), Foot("R_foot", lifted=True, **sole))
    found = mi.excite(
        robot, Fourier(16.0, harmonics=8), limits=bounds, start=posture, optimality=Optimality("logdet"),
        search=MotionSearch(starts=1, seed=seed, n_samples=160, patience=0.15),
    )  # fmt: skip
    assert dict(found.margins.constraints)["contact forces"] >= 0 and found.base.count == 10 + 7 * 19 - 14
    t = np.arange(0, 16.001, own.KNOT)
    whole = found.joint_motion.whole(t)[0]
    R, p = mi.dynamics.forward_kinematics(robot, np.concatenate([[0, 0, 0, 0, 0, 0, 1.0], posture])[None], "L_foot")
    q = np.zeros((len(t), 7 + 19))
    q[:, :3] = whole[:, :3] - [0, 0, float((p[0] + R[0] @ own.SOLE)[2])]
    q[:, [4, 5, 6, 3]] = Rotation.from_euler("XYZ", whole[:, 3:6]).as_quat()
    q[:, 7:] = whole[:, 6:]
    contacts = own.KINDS["humanoid"].contacts
    usual, true = (mujoco.MjModel.from_xml_string(xml) for xml in (planted.usual, planted.xml))
    held = own.holding(usual, q, np.tile([1.0, 1e-9], (len(q), 1)), contacts, moves=True)
    table = own.simulated(true, t, q, held, planted.gains, contacts, round(16 / own.STEP))
    assert table["down"][:, 0].all() and not table["down"][:, 1].any()
    log = planted.write(tmp_path / "log.csv", table, np.random.default_rng(seed))
    result = mi.identify(
        mi.Campaign(
            robot, log, columns=ColumnMap(angle="rad"), floating=FloatingOptions("base"),
            contacts=planted.contacts(forces=True), effects=(), estimator="wls",
        )
    )  # fmt: skip
    fitted, real = (
        sum(v for name, v in values.items() if name[0] == "M" and name[1:].isdigit())
        for values in (result.model(physical=False).standard, planted.values(tmp_path))
    )
    assert fitted == pytest.approx(real, rel=0.01)
