"""The whole way: files in, corrected robot out, read by other engines; bad input; public measurements."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import minertia as mi
from minertia.calibration.calibrate import calibrate
from minertia.cli.root import run
from minertia.identification.campaigns.options import CalibrationOptions, MeasureColumns
from minertia.identification.geometry.chain import chain_of, moved
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.recording import Recording
from minertia.io.errors import MinertiaError
from minertia.report.folders import write_identification
from tests.calibration.planted import arm, planted, write_csv
from tests.shared import SHARED
from tests.test_docs import json_table

UNITS = ColumnMap(angle="rad", length="m")
DATA = SHARED / "data"
needs_shared = pytest.mark.skipif(not (DATA / "irb120_tracker").is_dir(), reason="the shared data are not here")


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    """(folder with fitted.csv and unseen.csv of a planted UR10e, true values)."""
    folder = tmp_path_factory.mktemp("readings")
    chain = arm("ur10e")
    postures, truth, state = planted(chain, 90, 2)
    names = tuple(f"q{j}" for j in range(1, 7))
    write_csv(folder / "fitted.csv", postures.take(np.arange(60)), names)
    write_csv(folder / "unseen.csv", postures.take(np.arange(60, 90)), names)
    return folder, truth, state


def test_from_files_to_a_corrected_robot(readings, tmp_path, capsys):
    folder, _, state = readings
    out = tmp_path / "out"
    given = ["calibrate", "ur10e", str(folder / "fitted.csv"), "--validate", str(folder / "unseen.csv")]
    code = run([*given, "--angle", "rad", "--length", "m", "--effects", "zeros,geometry", "--out", str(out), "--json"])
    assert code == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == json_table()["calibrate"] | {"format"}
    assert found["verdict"]["good"] and found["count"] == found["shown_here"] == 33
    assert found["validation"][0]["rms"] < 4e-5 < 1e-3 < found["validation"][0]["nominal_rms"]
    # the corrected robot places the tool where the planted one does, up to where it stands
    chain = chain_of(mi.read_robot(str(out / "robot.toml")))
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (20, 6))
    true = moved(state.placements, chain.is_hinge, chain.positions(q)).tool[:, :3, 3]
    made = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool[:, :3, 3]
    spread = lambda x: np.linalg.norm(x[:, None] - x[None], axis=2)  # noqa: E731
    assert np.abs(spread(true) - spread(made)).max() < 2e-4


def test_a_campaign_is_run_by_both_commands_and_remembered(readings, tmp_path, capsys):
    """From a file, from Python and by identify: one result; its model reads other files as its own were read."""
    folder, _, _ = readings
    text = (
        'format = 1\nrobot = "ur10e"\n[logs]\ntrain = ["fitted.csv"]\nvalidate = ["unseen.csv"]\n[columns]\n'
        'q = "q{j}"\nangle = "rad"\nlength = "m"\n[[measure]]\nkind = "point"\nat = ["x1", "y1", "z1"]\n'
        '[calibration]\nlevels = ["zeros", "geometry"]\n'
    )
    (folder / "c.toml").write_text(text)
    found = []
    for command in ("calibrate", "identify"):
        assert run([command, "--campaign", str(folder / "c.toml"), "--out", str(tmp_path / command), "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1] and found[0]["verdict"]["grade"] == "good"
    again = mi.calibrate(mi.read_campaign(folder / "c.toml"))
    assert again.to_dict()["parameters"] == found[0]["parameters"]
    model = mi.read_model(tmp_path / "calibrate" / "model.toml")
    (residuals,) = mi.validate(model, folder / "unseen.csv")
    assert residuals.rms == pytest.approx(found[0]["validation"][0]["rms"], rel=1e-9)
    robots = [mi.read_robot(str(tmp_path / "calibrate" / name)) for name in ("model.toml", "robot.toml")]
    q = np.zeros((1, 6))
    tools = [moved(c.nominal, c.is_hinge, c.positions(q)).tool for c in map(chain_of, robots)]
    assert np.abs(tools[0] - tools[1]).max() < 1e-12
    nominal = chain_of(mi.read_robot("ur10e"))
    assert np.abs(tools[0] - moved(nominal.nominal, nominal.is_hinge, nominal.positions(q)).tool).max() > 1e-4


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        ({"effects": ("viscous",)}, "effects does not apply to a calibration"),
        ({"estimator": "ridge"}, "use auto"),
        ({"train": Recording(t=np.arange(9.0), q=np.zeros((9, 6)))}, "a calibration reads files"),
    ],
)
def test_what_a_calibration_would_not_heed_is_refused(readings, stated, sentence):
    asked = mi.Campaign("ur10e", readings[0] / "fitted.csv", calibration=CalibrationOptions(), columns=UNITS)
    with pytest.raises(MinertiaError, match=sentence):
        mi.identify(replace(asked, **stated))


def test_pinocchio_and_mujoco_place_the_tool_where_we_do(tmp_path):
    pinocchio = pytest.importorskip("pinocchio")
    mujoco = pytest.importorskip("mujoco")
    source = tmp_path / "arm.urdf"
    mi.write_robot(mi.read_robot("ur10e"), source)
    robot = mi.read_robot(str(source))
    chain = chain_of(robot)
    postures, _, _ = planted(chain, 60, 5)
    write_csv(tmp_path / "r.csv", postures, tuple(f"q{j}" for j in range(1, 7)))
    found = calibrate(robot, tmp_path / "r.csv", columns=UNITS, options=CalibrationOptions(("zeros", "geometry")))
    write_identification(tmp_path / "out", found)
    text = (tmp_path / "out" / "robot.urdf").read_text()
    assert '<minertia exact="true"/>' in text
    own = chain_of(found.model().robot, "calibrated_point_1")
    q = np.random.default_rng(1).uniform(-1.5, 1.5, (10, 6))
    ours = moved(own.nominal, own.is_hinge, own.positions(q)).tool
    again = chain_of(mi.read_robot(str(tmp_path / "out" / "robot.urdf")), "calibrated_point_1")
    assert np.abs(moved(again.nominal, again.is_hinge, again.positions(q)).tool - ours).max() < 1e-12
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "out" / "robot.urdf"))
    data = model.createData()
    place = model.getFrameId("calibrated_point_1")
    for k in range(10):
        pinocchio.framesForwardKinematics(model, data, q[k])
        assert np.abs(data.oMf[place].homogeneous - ours[k]).max() < 1e-9
    mjcf = tmp_path / "out" / "robot.xml"
    mi.write_robot(found.model().robot, mjcf)
    physics = mujoco.MjModel.from_xml_path(str(mjcf))
    state = mujoco.MjData(physics)
    last = chain_of(found.model().robot)
    there = moved(last.nominal, last.is_hinge, last.positions(q)).tool
    for k in range(10):
        state.qpos[:] = q[k]
        mujoco.mj_kinematics(physics, state)
        assert np.abs(state.body(found.model().robot.joints[-1].link).xpos - there[k, :3, 3]).max() < 1e-9


def test_zeros_for_the_controller_are_the_same_robot(readings, tmp_path):
    folder, _, _ = readings
    made = [
        calibrate("ur10e", folder / "fitted.csv", columns=UNITS, options=CalibrationOptions(("zeros",), zeros=place))
        for place in ("file", "controller")
    ]
    q = np.random.default_rng(3).uniform(-1, 1, (5, 6))
    one, other = (chain_of(m.model().robot) for m in made)
    shift = np.array([made[1].to_dict()["zeros"].get(name, 0.0) for name in one.names])
    a = moved(one.nominal, one.is_hinge, one.positions(q)).tool
    b = moved(other.nominal, other.is_hinge, other.positions(q + shift)).tool
    assert np.abs(a - b).max() < 1e-12
    assert np.abs(shift).max() > 1e-4
    assert "Zeros for the controller" in made[1].problem.sections(made[1].estimate)[-1].title
    write_identification(tmp_path / "out", made[1])
    rows = [line.split(",") for line in (tmp_path / "out" / "zeros.csv").read_text().splitlines()[1:]]
    assert {name: float(zero) for name, zero, _ in rows} == made[1].to_dict()["zeros"]
    assert not [part for part in made[0].problem.sections(made[0].estimate) if "controller" in part.title]


BAD = {
    "unit": ("q1,q2,q3,q4,q5,q6,x1,y1,z1\n0,0,0,0,0,0,1,1,1\n", ColumnMap(), "the unit of the joints"),
    "joints": ("a,x1,y1,z1\n0,1,1,1\n", UNITS, "names neither the joints"),
    "points": ("q1,q2,q3,q4,q5,q6,u\n0,0,0,0,0,0,1\n", UNITS, "names no measured points"),
    "empty": ("", UNITS, "the file is empty"),
    "header": ("q1,q2,q3,q4,q5,q6,x1,y1,z1\n", UNITS, "a header and no rows"),
    "cells": ("q1,q2,q3,q4,q5,q6,x1,y1,z1\n0,0\n", UNITS, "the row has 2 cells"),
    "word": ("q1,q2,q3,q4,q5,q6,x1,y1,z1\n0,0,0,0,0,no,1,1,1\n", UNITS, "'no' is not a number"),
    "missing": ("q1,q2,q3,q4,q5,q6,x1,y1,z1\n0,0,0,0,0,0,0,0,0\n", UNITS, "no posture has a reading"),
    "few": ("q1,q2,q3,q4,q5,q6,x1,y1,z1\n0,0,0,0,0,0,1,1,1\n", UNITS, "too few"),
    "camera": (
        "q1,q2,q3,q4,q5,q6,u,v\n0,0,0,0,0,0,1,1\n",
        ColumnMap(angle="rad"),
        "needs camera",
    ),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input_gets_one_sentence(case, tmp_path):
    text, columns, sentence = BAD[case]
    path = tmp_path / "m.csv"
    path.write_text(text)
    measures = (MeasureColumns("pixel", "1", ("u", "v")),) if case == "camera" else ()
    with pytest.raises(MinertiaError) as caught:
        calibrate("ur10e", path, columns=columns, measures=measures)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_blank_readings_are_counted(readings, tmp_path):
    folder, _, _ = readings
    rows = (folder / "fitted.csv").read_text().splitlines()
    cells = rows[3].split(",")
    rows[3] = ",".join([*cells[:6], "0", "0", "0", *cells[9:]])
    rows[4] = ",".join([*rows[4].split(",")[:6], "", "", "", *rows[4].split(",")[9:]])
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    found = calibrate("ur10e", tmp_path / "m.csv", columns=UNITS, options=CalibrationOptions(("zeros",)))
    assert "2 of 60 readings are missing" in found.to_dict()["notes"][0]


def points(count):
    return tuple(MeasureColumns("point", str(k), (f"x{k}", f"y{k}", f"z{k}")) for k in range(1, count + 1))


@needs_shared
@pytest.mark.slow
def test_tracker_of_an_irb_120():
    columns = ColumnMap(q="q_cmd{j}", angle="deg", length="mm")
    found = calibrate(
        SHARED / "robots" / "irb120.urdf",
        DATA / "irb120_tracker" / "postures.csv",
        columns=columns,
        measures=points(3),
        options=CalibrationOptions(tip="tool0"),
    )
    assert found.estimate.shown.count == found.estimate.shown.here == 33
    assert found.verdict.is_good and "sag" in found.estimate.choice.levels
    assert found.training.rms < 9e-5 and dict(found.estimate.choice.tried)[found.estimate.choice.levels].rms < 1.5e-4


@needs_shared
def test_sockets_of_a_panda():
    ball = MeasureColumns("same_point", "ball", groups=("place", "socket"), of="socket", within=("place",), apart=0.05)
    found = calibrate(
        SHARED / "robots" / "panda_ball.urdf",
        DATA / "mukca_panda" / "panda_3.csv",
        columns=ColumnMap(q="q{j}", angle="rad", length="m"),
        measures=(ball,),
        options=CalibrationOptions(tip="ball_link"),
    )
    assert found.estimate.shown.count == 25 and found.estimate.shown.here == 25
    assert found.verdict.is_good
    assert (
        dict(found.estimate.choice.tried)[found.estimate.choice.levels].rms < 2.2e-4 < 2e-3 < found.training.nominal_rms
    )


@needs_shared
@pytest.mark.slow
def test_no_correction_is_supported_where_that_is_so():
    found = calibrate(
        SHARED / "robots" / "tiago_no_hand.urdf",
        DATA / "figaroh_calibration" / "tiago.csv",
        columns=UNITS,
        options=CalibrationOptions(tip="arm_7_link"),
    )
    assert not found.verdict.is_good and found.estimate.choice.levels == ()
    assert any("no correction is supported" in reason for reason in found.verdict.reasons)


@needs_shared
def test_a_universal_robot_gets_the_file_of_its_driver(tmp_path):
    """Placements read back from kinematics.yaml move the tool as the corrected robot does."""
    source = SHARED / "robots" / "ur10_figaroh.urdf"
    chain = chain_of(mi.read_robot(str(source)), "wrist_3_link")
    postures, _, _ = planted(chain, 60, 4)
    write_csv(tmp_path / "r.csv", postures, tuple(f"q{j}" for j in range(1, 7)))
    options = CalibrationOptions(("zeros", "geometry"), tip="wrist_3_link")
    found = calibrate(str(source), tmp_path / "r.csv", columns=UNITS, options=options)
    write_identification(tmp_path / "out", found)
    text = (tmp_path / "out" / "kinematics.yaml").read_text()
    assert re.search(r"^  hash: calib_\d+$", text, re.M)
    numbers = [float(value) for value in re.findall(r"^    \w+: (\S+)$", text, re.M)]
    assert len(numbers) == 36
    placements = [_placed(numbers[6 * k : 6 * k + 6]) for k in range(6)]
    corrected = chain_of(found.model().robot, "wrist_3_link")
    q = np.random.default_rng(8).uniform(-1.5, 1.5, (10, 6))
    inner = corrected.nominal.copy()
    inner[1:6] = placements[1:]  # the first is where the robot stands
    given = moved(inner, corrected.is_hinge, corrected.positions(q)).tool
    own = moved(corrected.nominal, corrected.is_hinge, corrected.positions(q)).tool
    assert np.abs(given - own).max() < 1e-12
    assert np.abs(own - moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool).max() > 1e-4


def _placed(numbers):
    T = np.eye(4)
    T[:3, 3] = numbers[:3]
    T[:3, :3] = Rotation.from_euler("xyz", numbers[3:]).as_matrix()
    return T
