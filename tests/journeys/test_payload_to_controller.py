"""Payload to controller field: a load planted in the flange by Pinocchio comes out of `payload` as it was planted.

Pinocchio reads the robot's file itself: the pose of the flange, the efforts without and with the load are all its own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from tests.shared import SHARED, needs_shared

pin = pytest.importorskip("pinocchio")

MASS, COM = 2.8, np.array([0.012, -0.025, 0.040])
INERTIA = np.array([[0.014, 0.001, -0.0005], [0.001, 0.012, 0.0008], [-0.0005, 0.0008, 0.009]])  # about the centre
RATE, SECONDS = 50.0, 12.0


def planted(file: Path, flange: str, folder: Path) -> None:
    """empty.csv and loaded.csv of the robot of a URDF: efforts by Pinocchio, the load fixed in a frame of the file."""
    model = pin.buildModelFromUrdf(str(file))
    names = [model.names[j] for j in range(1, model.njoints)]
    frame = model.frames[model.getFrameId(flange)]
    loaded = model.copy()
    loaded.appendBodyToJoint(frame.parentJoint, pin.Inertia(MASS, COM, INERTIA), frame.placement)
    t = np.arange(round(SECONDS * RATE)) / RATE
    (folder / "columns.toml").write_text('[columns]\neffort_unit = "Nm"\n')
    for k, (name, own) in enumerate((("empty", model), ("loaded", loaded))):
        q, qd, qdd = motion(t, own, k)
        data = own.createData()
        tau = np.array([pin.rnea(own, data, *row) for row in zip(angles(own, q), qd, qdd, strict=True)])
        header = ["t", *(f"position_{n}" for n in names), *(f"effort_{n}" for n in names)]
        np.savetxt(
            folder / f"{name}.csv", np.column_stack([t, q, tau]), delimiter=",", header=",".join(header), comments=""
        )


def motion(t: np.ndarray, model: pin.Model, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smooth positions, velocities and accelerations of all joints; those that slide go some millimetres."""
    rng = np.random.default_rng(seed)
    size = np.array([0.01 if "P" in joint.shortname() else 0.6 for joint in list(model.joints)[1:]])
    q, qd, qdd = np.zeros((3, len(t), model.nv))
    for w in (1.3, 2.6, 4.1):
        angle = w * t[:, None] + rng.uniform(0, 6, model.nv)
        q, qd, qdd = q + size * np.sin(angle), qd + size * w * np.cos(angle), qdd - size * w**2 * np.sin(angle)
    return q, qd, qdd


def angles(model: pin.Model, q: np.ndarray) -> np.ndarray:
    """Positions as Pinocchio has them: cosine and sine of joints without limits."""
    columns = []
    for joint, x in zip(list(model.joints)[1:], q.T, strict=True):
        columns += [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
    return np.column_stack(columns)


def assert_planted(fields: dict) -> None:
    xx, xy, xz, yy, yz, zz = INERTIA[np.triu_indices(3)]
    ur, franka, kuka = fields["ur"], fields["franka"], fields["kuka"]
    assert ur["mass"] == pytest.approx(MASS, rel=2e-3)
    assert ur["cog"] == pytest.approx(COM, abs=1e-3)
    assert ur["inertia"] == pytest.approx([xx, yy, zz, xy, xz, yz], abs=5e-4)
    assert franka["F_x_Cload"] == pytest.approx(COM, abs=1e-3)
    assert franka["load_inertia"] == pytest.approx(INERTIA.flatten(order="F"), abs=5e-4)
    assert [kuka["CM"][k] for k in "XYZ"] == pytest.approx(1e3 * COM, abs=1.0)
    assert [kuka["J"][k] for k in "XYZ"] == pytest.approx(np.linalg.eigvalsh(INERTIA), abs=5e-4)


ROBOTS = [
    ("ur10e.urdf", "tool0"),  # the last link's frame is elsewhere and turned; ee_link has x along the axis
    pytest.param("panda.urdf", "panda_link8", marks=pytest.mark.slow),  # before a hand whose last link is a finger
    pytest.param("kinova_gen3.urdf", "end_effector_link", marks=pytest.mark.slow),  # z against the last axis
]


@needs_shared
@pytest.mark.parametrize(("name", "flange"), ROBOTS)
def test_fields_are_those_that_were_planted_in_the_flange(run, tmp_path, name, flange):
    file = SHARED / "robots" / name
    planted(file, flange, tmp_path)
    args = ("payload", tmp_path / "empty.csv", tmp_path / "loaded.csv", "--robot", file)
    code, text, err = run(*args, "--json")
    assert code == 0, err
    data = json.loads(text)
    assert data["fields_frame"] == flange and data["no_fields"] is None
    assert_planted(data["fields"])
    assert data["mass"] == data["fields"]["ur"]["mass"]
    code, text, err = run(*args)
    assert code == 0 and f"in the frame of the flange '{flange}'" in text
    printed = re.search(r"^ur: (\{.*)", text, re.MULTILINE)
    assert printed is not None and "'cog'" in printed[1]


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """A bundled arm as a URDF, whose flange is a link without a joint, and logs of it by Pinocchio."""
    folder = tmp_path_factory.mktemp("arm")
    mi.write_robot(mi.read_robot("puma560_physical"), folder / "arm.urdf")
    planted(folder / "arm.urdf", "flange", folder)
    return folder


def test_a_bundled_arm_and_its_model(run, arm):
    """From two logs, and from a model of the empty arm, which keeps the frames of the robot's file."""
    logs = (arm / "empty.csv", arm / "loaded.csv")
    code, text, err = run("payload", *logs, "--robot", arm / "arm.urdf", "--json")
    assert code == 0, err
    assert_planted(json.loads(text)["fields"])
    code, _, err = run("identify", arm / "arm.urdf", arm / "empty.csv", "--out", arm / "result")
    assert code == 0, err
    code, text, err = run("payload", arm / "result" / "model.toml", arm / "loaded.csv", "--json")
    assert code == 0, err
    data = json.loads(text)
    assert data["fields_frame"] == "flange"
    assert_planted(data["fields"])


@pytest.mark.slow
def test_no_fields_without_a_flange_and_what_to_write_instead(run, arm, tmp_path):
    """A file without a flange: the load is told, the fields are refused, and the sentence says what mends it."""
    text = (arm / "arm.urdf").read_text().replace('"flange"', '"plate"')
    (tmp_path / "arm.urdf").write_text(text)
    args = ("payload", arm / "empty.csv", arm / "loaded.csv", "--robot", tmp_path / "arm.urdf")
    code, out, err = run(*args, "--json")
    assert code == 0, err
    data = json.loads(out)
    assert data["fields"] == {} and data["fields_frame"] is None
    assert "no flange frame on 'j6'" in data["no_fields"] and "--flange NAME" in data["no_fields"]
    code, out, _ = run(*args)
    assert code == 0 and "without the fields of a controller: the file has no flange frame" in out and "ur:" not in out
    for named in ("plate", "0,0,0.05625", "0,0,0.05625,0,0,0"):
        code, out, err = run(*args, "--flange", named, "--json")
        assert code == 0, err
        assert_planted(json.loads(out)["fields"])
    code, _, err = run(*args, "--flange", "plates")
    assert code == 2 and "plate" in err
    code, _, err = run(*args, "--flange", "1,2")
    assert code == 2 and "3 or 6 numbers" in err
    found = mi.identify_payload(mi.Campaign(tmp_path / "arm.urdf", arm / "empty.csv"), arm / "loaded.csv")
    with pytest.raises(mi.MinertiaError, match="--flange NAME"):
        found.fields("ur")


def test_the_load_itself_stays_in_the_frame_that_is_named(arm):
    """The load in any frame of the link: its fields are in the flange all the same."""
    campaign = mi.Campaign(arm / "arm.urdf", arm / "empty.csv")
    for at, z in ((None, COM[2] + 0.05625), ("flange", COM[2])):
        found = mi.identify_payload(campaign, arm / "loaded.csv", at=at)
        assert found.com[2] == pytest.approx(z, abs=1e-3) and found.frame == (at or "j6")
        assert_planted(found.to_dict()["fields"])


@pytest.mark.parametrize("suffix", ["toml", "mjcf", "urdf"])
def test_a_converted_robot_keeps_its_flange(run, arm, tmp_path, suffix):
    """Fields of a robot that was converted are those of its own file, in the same frame."""
    if suffix == "mjcf":
        pytest.importorskip("mujoco")
    converted = tmp_path / f"arm.{suffix}"
    code, _, err = run("convert", arm / "arm.urdf", converted)
    assert code == 0, err
    logs = (arm / "empty.csv", arm / "loaded.csv")
    code, text, err = run("payload", *logs, "--robot", converted, "--json")
    assert code == 0, err
    data = json.loads(text)
    assert data["fields_frame"] == "flange"
    assert_planted(data["fields"])


@needs_shared
@pytest.mark.parametrize(("name", "flange"), [("ur10e.urdf", "tool0"), ("panda.urdf", "panda_link8")])
def test_flanges_of_makers_files_survive_toml(tmp_path, name, flange):
    """Also where a frame has the name of the base, and is turned against it, as on Universal Robots."""
    from minertia.robot.flange import find_flange, load_frame

    own = mi.read_robot(SHARED / "robots" / name)
    mi.write_robot(own, tmp_path / "arm.toml")
    mi.write_robot(mi.read_robot(tmp_path / "arm.toml"), tmp_path / "arm.urdf")
    for file in ("arm.toml", "arm.urdf"):
        robot = mi.read_robot(tmp_path / file)
        q = np.linspace(0.1, 0.6, own.n)
        for frame in own.frames:
            expected, found = (mi.dynamics.forward_kinematics(r, q, frame) for r in (own, robot))
            if frame not in {joint.link for joint in own.joints}:
                np.testing.assert_allclose(found[0], expected[0], atol=1e-9)
                np.testing.assert_allclose(found[1], expected[1], atol=1e-9)
        kept = [find_flange(r, load_frame(r, None)) for r in (own, robot)]
        assert [f.name for f in kept] == [flange, flange]
