"""The bundled robots: they read, have the counts they should, and carry what was published."""

from importlib.resources import files

import numpy as np
import pytest

from minertia import base_parameters, check_robot, inverse_dynamics, list_robots, read_robot
from minertia.base.numeric import random_states
from minertia.robot.inertia import impossible, pseudo_inertia
from tests.oracles import ConstrainedOracle
from tests.robot.dh_helpers import (
    FACTS,
    SHARED,
    classic_model,
    link_frames,
    matrix,
    pinocchio_model,
    published,
    rank,
    regressor,
    rotor_columns,
)

ROBOTS = (
    *("cmu_dd_arm2", "delta", "emps", "five_bar", "gantry", "iiwa14", "palletiser", "panda", "parallelogram_arm"),
    *("planar2r", "puma260", "puma560", "puma560_physical", "rx90", "scara", "stanford", "tx40", "ur10e"),
)
# with closed loops: coordinates; base parameters of the links, with rotors, with friction and offsets, too
LOOPS = {
    "delta": ("arm1 arm2 arm3", (34, 34, 57)),
    "five_bar": ("left_arm right_arm", (11, 11, 21)),
    "palletiser": ("waist arm flange crank", (25, 26, 40)),
    "parallelogram_arm": ("waist arm roll bend turn crank", (39, 42, 62)),
}
COUNTS = {
    "puma560": (36, 40),
    "puma560_physical": (36, 40),
    "puma260": (36, 40),
    "rx90": (36, 40),
    "tx40": (36, 40),
    "stanford": (33, 37),
    "scara": (8, 11),
    "planar2r": (4, 5),
    "panda": (43, 48),
    "iiwa14": (43, 48),
    "ur10e": (36, 40),
    "gantry": (3, 4),
    "emps": (1, 1),
}
TIPS = {"delta": "platform", "five_bar": "right_forearm", "palletiser": "flange", "parallelogram_arm": "turn"}
SLOW = {"delta": pytest.mark.slow}
needs_facts = pytest.mark.skipif(not FACTS.is_file(), reason="the shared facts are not here")


def test_all_are_there():
    assert list_robots() == ROBOTS


@pytest.mark.parametrize("name", ROBOTS)
def test_files_read_and_say_where_they_come_from(name):
    text = (files("minertia.robot") / "library" / f"{name}.toml").read_text(encoding="utf-8")
    assert text.startswith("# ") and f"format = {3 if name in LOOPS else 1}\n" in text
    robot = read_robot(name)
    assert not robot.notes
    plain = read_robot(name, letters=False)
    assert plain.joints == robot.numeric.joints or name == "cmu_dd_arm2"
    assert robot.has_letters == any(v is not None or name == "cmu_dd_arm2" for v in robot.symbols.values())


@pytest.mark.parametrize("name", COUNTS)
def test_counts_by_an_independent_regressor(name):
    pytest.importorskip("pinocchio")
    model = pinocchio_model(read_robot(name))
    W = regressor(model)
    assert (rank(W), rank(np.hstack([W, rotor_columns(model.nv)]))) == COUNTS[name]


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in LOOPS])
def test_counts_and_coordinates_of_robots_with_loops(name):
    robot = read_robot(name)
    coordinates, counts = LOOPS[name]
    assert robot.coordinate_names == tuple(coordinates.split())
    assert not [note for note in check_robot(robot) if note.level != "info"]
    assert robot.joints[robot.tip].name == TIPS[name]
    assert base_parameters(robot).count == counts[0]


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in LOOPS])
def test_counts_of_robots_with_loops_with_their_effects(name):
    robot, counts = read_robot(name), LOOPS[name][1]
    assert (
        base_parameters(robot, rotors=True).count,
        base_parameters(robot, rotors=True, friction=True).count,
    ) == counts[1:]


@pytest.mark.parametrize("name", LOOPS)
def test_robots_with_loops_accelerate_as_constrained_trees_of_pinocchio(name):
    """Parallelograms as cut joints of a tree whose joints are all free, too."""
    robot = read_robot(name, letters=False).without_effects(["rotors", "friction"])
    oracle = ConstrainedOracle(robot)
    rng = np.random.default_rng(4)
    q, qd, qdd = random_states(robot, 3, 4)
    seed = np.array(robot.seed)[list(robot.independent)]
    q = seed + rng.uniform(-0.3, 0.3, q.shape)
    tau = inverse_dynamics(robot, q, qd, qdd)
    for k in range(len(q)):
        np.testing.assert_allclose(oracle.forward_dynamics(q[k], qd[k], tau[k]), qdd[k], atol=1e-8)


def same_dynamics(model, other, n_states=20):
    import pinocchio as pin

    data, others = model.createData(), other.createData()
    rng = np.random.default_rng(3)
    worst, largest = 0.0, 0.0
    for _ in range(n_states):
        q, v, a = rng.uniform(-3, 3, (3, model.nv))
        tau = pin.rnea(model, data, q, v, a)
        worst = max(worst, np.abs(tau - pin.rnea(other, others, q, v, a)).max())
        largest = max(largest, np.abs(tau).max())
        M = np.triu(pin.crba(model, data, q))
        np.testing.assert_allclose(M, np.triu(pin.crba(other, others, q)), atol=1e-12 * np.abs(M).max())
        gravity = pin.computeGeneralizedGravity(model, data, q)
        np.testing.assert_allclose(gravity, pin.computeGeneralizedGravity(other, others, q), atol=1e-12)
    return worst / largest


# ---------------------------------------------------------------------- PUMA 560


@needs_facts
def test_puma560_has_the_published_dynamics():
    pytest.importorskip("pinocchio")
    ours = pinocchio_model(read_robot("puma560"))
    assert same_dynamics(ours, classic_model(published("PUMA 560")["links"])) < 1e-14


@needs_facts
def test_puma560_has_the_published_drives():
    robot = read_robot("puma560")
    for effects, link in zip(robot.effects, published("PUMA 560")["links"], strict=True):
        N, (plus, minus) = link["G"], link["Tc"]
        assert effects["IA"] == pytest.approx(N**2 * link["Jm"])
        assert effects["FV"] == pytest.approx(N**2 * link["B"])
        for qd in (1, -1):
            motor = plus if N * qd > 0 else minus  # signed torques of the motor
            assert effects["FC"] * qd + effects["OFF"] == pytest.approx(N * motor)


def test_puma560_has_the_letters_of_the_paper():
    robot = read_robot("puma560")
    assert set(robot.symbols) == {"D3", "R3", "D4", "R4"}
    with_letters = [(k + 1, s.letters) for k, j in enumerate(robot.joints) for s in j.p if not isinstance(s, int)]
    assert with_letters == [(3, {"D3"}), (3, {"R3"}), (4, {"D4"}), (4, {"R4"})]


def test_published_puma560_cannot_exist_and_the_physical_one_can():
    assert [impossible(ten) is not None for ten in read_robot("puma560").links] == [True, False, True] + [False] * 3
    for ten in read_robot("puma560_physical").links:
        assert impossible(ten) is None
        P = pseudo_inertia(ten)
        scale = np.sqrt(np.diag(P))
        assert np.linalg.eigvalsh(P / np.outer(scale, scale)).min() > 1e-2


def test_physical_puma560_has_the_published_torques():
    pytest.importorskip("pinocchio")
    robot, physical = read_robot("puma560"), read_robot("puma560_physical")
    assert [dict(e) for e in robot.effects] == [dict(e) for e in physical.effects]
    assert robot.joints == physical.joints and robot.symbols == physical.symbols
    assert same_dynamics(pinocchio_model(robot), pinocchio_model(physical)) < 1e-12


# ---------------------------------------------------------------------- the others


@needs_facts
def test_stanford_has_the_published_dynamics_with_centres_in_centimetres():
    pytest.importorskip("pinocchio")
    links = published("Stanford arm")["links"]
    for link in links[1:]:
        link["r"] = [0.1 * r for r in link["r"]]
    robot = read_robot("stanford")
    assert same_dynamics(pinocchio_model(robot), classic_model(links)) < 1e-14
    assert [e["IA"] for e in robot.effects] == [link["Jm"] for link in links]


def test_puma260_has_the_measured_gravity_coefficients():
    pin = pytest.importorskip("pinocchio")
    robot = read_robot("puma260")
    assert all(impossible(ten) is None for ten in robot.links)
    assert all(np.linalg.eigvalsh(pseudo_inertia(ten)).min() > 0 for ten in robot.links)
    model = pinocchio_model(robot)
    rng = np.random.default_rng(0)
    for q in rng.uniform(-3, 3, (10, 6)):
        s23, c23, s5, c5, c4 = np.sin(q[1] + q[2]), np.cos(q[1] + q[2]), np.sin(q[4]), np.cos(q[4]), np.cos(q[3])
        hand = -0.192 * np.array([s5 * c4 * c23 + c5 * s23, s5 * c4 * c23 + c5 * s23, c5 * c4 * s23 + s5 * c23])
        expected = [0, 5.509 * np.cos(q[1]) - 1.1762 * s23 + hand[0], -1.1762 * s23 + hand[1]]
        tau = pin.computeGeneralizedGravity(model, model.createData(), q)
        np.testing.assert_allclose(tau[:3], expected, atol=1e-9)
        np.testing.assert_allclose(tau[4], hand[2], atol=1e-9)


def test_tx40_coupling():
    robot = read_robot("tx40")
    G = np.array(robot.coupling)
    assert np.diag(G).tolist() == [32, 32, 45, -48, 45, 32] and G[5, 4] == 32 and np.count_nonzero(G) == 7
    assert list(robot.coupled_motors) == [5]


def test_tx40_geometry_is_that_of_its_urdf():
    pin = pytest.importorskip("pinocchio")
    path = SHARED / "robots" / "tx40_mdh_modified.urdf"
    if not path.is_file():
        pytest.skip("the shared robot files are not here")
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    q = np.random.default_rng(0).uniform(-2, 2, 6)
    pin.forwardKinematics(model, data, q)
    for frame, placement in zip(link_frames(read_robot("tx40"), q), data.oMi[1:], strict=True):
        np.testing.assert_allclose(frame, placement.homogeneous, atol=1e-10)


def test_panda_reaches_the_known_flange():
    frame = link_frames(read_robot("panda"), np.zeros(7))[-1]
    np.testing.assert_allclose(frame[:3, 3], [0.088, 0, 0.333 + 0.316 + 0.384], atol=1e-12)
    np.testing.assert_allclose(frame[:3, 2], [0, 0, -1], atol=1e-12)


def test_iiwa_and_ur10e_stretched_out():
    frame = link_frames(read_robot("iiwa14"), np.zeros(7))[-1]
    np.testing.assert_allclose(frame, matrix((np.eye(3).tolist(), (0, 0, 0.36 + 0.42 + 0.4 + 0.126))), atol=1e-12)
    frame = link_frames(read_robot("ur10e"), np.zeros(6))[-1]
    np.testing.assert_allclose(frame[:3, 3], [-1.18425, -0.2907, 0.06085], atol=1e-12)


def test_gantry_axes():
    frames = link_frames(read_robot("gantry"), [1, 2, 3])
    np.testing.assert_allclose(frames[-1][:3, 3], [2, 1, 3], atol=1e-12)


def test_emps_values():
    robot = read_robot("emps")
    assert robot.gravity == (0, 0, 0) and robot.links[0][9] == 95.1089
    assert dict(robot.effects[0]) == {"FV": 203.5034, "FC": 20.3935, "OFF": -3.1648}


# ---------------------------------------------------------------------- UR10e


def test_ur10e_has_the_names_of_its_driver_and_the_masses_of_its_maker():
    """Gravity of the arm stretched out, by hand from the published centres."""
    robot = read_robot("ur10e", letters=False)
    wrists = tuple(f"wrist_{k}_joint" for k in (1, 2, 3))
    assert robot.coordinate_names == ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", *wrists)
    assert not check_robot(robot)
    wrist = 2.1 + 1.98 + 0.615
    shoulder = 13.051 * (0.6127 - 0.38) + 3.989 * (0.6127 + 0.57155 - 0.24) + wrist * (0.6127 + 0.57155)
    elbow = 3.989 * (0.57155 - 0.24) + wrist * 0.57155
    tau = inverse_dynamics(robot, np.zeros(6), np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(tau, [0, -9.81 * shoulder, -9.81 * elbow, 0, 0, 0], atol=1e-9)
