"""The corrected robot goes on: identify, excite, generate and the studio take it, and none loses its corrections."""

import json
from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.cli.root import run
from minertia.codegen.calibrated_programs import CALIBRATED_BUILDERS, corrected_positions
from minertia.dynamics.model import inverse_dynamics
from minertia.identification.geometry.chain import chain_of
from minertia.identification.geometry.folds import GeometryRows
from minertia.identification.geometry.joints import joint_columns
from minertia.identification.logs.recording import Recording
from tests.calibration.planted import planted, write_csv
from tests.calibration.test_code import calibrated
from tests.studio.running import client, done, running, uploaded

NAMES = tuple(f"q{j}" for j in range(1, 7))
SAG = 6e-4  # rad: of each planted correction, at its root mean square

CAMPAIGN = """format = 1
robot = "{robot}"
[logs]
train = ["1.csv"]
validate = ["2.csv"]
[columns]
angle = "rad"
effort_unit = "Nm"
[model]
effects = []
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with arm.urdf, and out/: its calibration, with planted errors of frames and sag."""
    folder = tmp_path_factory.mktemp("arm")
    mi.write_robot(mi.read_robot("ur10e"), folder / "arm.urdf")
    chain = chain_of(mi.read_robot(folder / "arm.urdf"))
    postures, _, state = planted(chain, 100, 3, sizes={"zeros": 8e-3, "lengths": 2e-3, "angles": 3e-3})
    columns = tuple(joint_columns(chain, ("compliance",), postures.q, np.array(chain.robot.gravity)))
    sagged = type(state)(state.placements, SAG * np.arange(1.0, len(columns) + 1), state.own)
    tool = GeometryRows(chain, postures, columns).layout(("compliance",)).moved(sagged).tool
    for measure, own in zip(postures.measures, state.own, strict=True):
        measure.values[:] = tool[:, :3, :3] @ own + tool[:, :3, 3]
    write_csv(folder / "m.csv", postures, NAMES)
    given = ["calibrate", str(folder / "arm.urdf"), str(folder / "m.csv"), "--angle", "rad", "--length", "m"]
    assert run([*given, "--effects", "zeros,geometry,compliance", "--out", str(folder / "out")]) == 0
    return folder


def pinocchio_torques(folder, q, qd, qdd):
    """Joint torques of the corrected URDF, by another program."""
    pinocchio = pytest.importorskip("pinocchio")
    model = pinocchio.buildModelFromUrdf(str(folder / "out" / "robot.urdf"))
    data = model.createData()
    return np.array([pinocchio.rnea(model, data, *row) for row in zip(q, qd, qdd, strict=True)])


def motion(seed, t):
    """Positions, velocities and accelerations of six joints: four harmonics."""
    rng, q = np.random.default_rng(seed), np.zeros((3, len(t), 6))
    for w in 2 * np.pi * 0.125 * np.arange(1, 5):
        a, b = 0.5 * rng.normal(size=(2, 6))
        s, c = np.sin(w * t)[:, None], np.cos(w * t)[:, None]
        q += [a * s + b * c, w * (a * c - b * s), -w * w * (a * s + b * c)]
    return q


def write_log(path, seed, folder):
    t = np.arange(0, 6, 0.01)
    q, qd, qdd = motion(seed, t)
    tau = pinocchio_torques(folder, q, qd, qdd)
    tau += 2e-3 * np.abs(tau).max(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)
    head = ",".join(["t", *NAMES, *(f"tau{j}" for j in range(1, 7))])
    np.savetxt(path, np.column_stack([t, q, tau]), delimiter=",", header=head, comments="")


def test_a_model_of_a_calibrated_robot_keeps_its_corrections(tmp_path):
    """Identified with corrected frames: the model's file has the frames before, and every correction of joints."""
    *_, robot = calibrated("planar2r")
    t = np.arange(0, 4, 0.01)
    q, qd, qdd = (x[:, :2] for x in motion(1, t))
    heavy = replace(robot, links=((1.0, 0, 0, 1.0, 0, 1.0, 0.5, 0.1, 0.0, 2.0),) * 2)
    log = Recording(t=t, q=q, tau=inverse_dynamics(heavy, q, qd, qdd))
    mi.identify(mi.Campaign(robot, log, effects=())).model().save(tmp_path / "model.toml")
    again = mi.read_robot(tmp_path / "model.toml")
    assert again.corrections == robot.corrections and len(again.corrections.terms) > 5
    assert [j.p for j in again.described.joints] == [j.p for j in robot.described.joints]


@pytest.mark.slow
def test_identify_takes_the_corrected_robot_and_keeps_its_corrections(folder, tmp_path, capsys):
    """Torques of Pinocchio for the corrected URDF are explained by the corrected robot, not by the nominal one."""
    for k in (1, 2):
        write_log(tmp_path / f"{k}.csv", k, folder)
    left = {}
    for robot in ("out/model.toml", "arm.urdf"):
        out = tmp_path / robot.replace("/", "_")
        (tmp_path / "c.toml").write_text(CAMPAIGN.format(robot=folder / robot))
        run(["identify", "--campaign", str(tmp_path / "c.toml"), "--out", str(out), "--json"])
        left[robot] = json.loads(capsys.readouterr().out)["validation"][0]["relative"]
    assert left["out/model.toml"] < 0.6 * left["arm.urdf"], left
    paths = (folder / "out" / "model.toml", tmp_path / "out_model.toml" / "model.toml")
    before, after = map(mi.read_robot, paths)
    assert before.corrections.terms and after.corrections == before.corrections
    q = np.random.default_rng(4).uniform(-1, 1, (5, 6))
    assert np.abs(corrected_positions(after, q) - corrected_positions(before, q)).max() < 1e-15
    assert np.abs(corrected_positions(after, q) - q).max() > SAG
    code = tmp_path / "code"
    assert run(["generate", str(paths[1]), "--out", str(code)]) == 0
    written = next(code.glob("*.c")).read_text()
    assert all(name in written for name in CALIBRATED_BUILDERS)


@pytest.mark.slow
def test_an_excitation_trajectory_of_the_corrected_robot_holds_its_limits(folder, tmp_path):
    """Efforts of Pinocchio for the corrected URDF stay below those asked for."""
    limits = [word for limit in ("effort=120", "velocity=1.5", "acceleration=5") for word in ("--limits", limit)]
    asked = ["excite", str(folder / "out" / "model.toml"), "--duration", "8", "--starts", "1"]
    assert run([*asked, *limits, "--out", str(tmp_path / "motion")]) == 0
    path = next(p for p in (tmp_path / "motion").glob("*.csv"))
    table = np.genfromtxt(path, delimiter=",", names=True, comments="#")
    q, qd, qdd = (
        np.column_stack([table[n] for n in table.dtype.names if n.startswith(f"{kind}_")])
        for kind in ("q", "qd", "qdd")
    )
    assert np.abs(pinocchio_torques(folder, q, qd, qdd)).max() < 121


@pytest.mark.slow
def test_the_studio_takes_the_corrected_robot(folder, tmp_path):
    """The model of a calibration is chosen as the robot: its frames are drawn, and its code corrects joints."""
    with running(tmp_path / "project") as at, client(at) as c:
        key = uploaded(c, "robot", folder / "out" / "model.toml").json()["key"]
        c.put("/api/robot", json={"file": key}).raise_for_status()
        made = done(c, "generate")
        assert made["state"] == "done", made
        code = "".join(p.read_text() for p in (tmp_path / "project" / "runs" / made["name"]).rglob("*.c"))
        assert all(name in code for name in CALIBRATED_BUILDERS)
