"""Files of measurements: bags with poses, units in headers, and what is wrong with others in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from minertia.identification.campaigns.options import MeasureColumns
from minertia.identification.geometry.chain import moved
from minertia.identification.geometry.readings import read_measurements, still_parts
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import RecordingError
from tests.calibration.planted import arm

STOPS, RATE = 6, 20.0  # postures, Hz
START = 1_700_000_000 * 10**9
POSE, TF, POINT = "geometry_msgs/msg/PoseStamped", "tf2_msgs/msg/TFMessage", "geometry_msgs/msg/PointStamped"


def motion() -> tuple[np.ndarray, np.ndarray]:
    """(joint positions over time, postures): half a second at each posture, half a second on the way."""
    postures = np.random.default_rng(4).uniform(-1, 1, (STOPS, 6))
    still, way = [np.repeat(q[None], 11, axis=0) for q in postures], np.linspace(0, 1, 11)[1:-1, None]
    parts = [still[0]]
    for before, after, own in zip(postures[:-1], postures[1:], still[1:], strict=True):
        parts += [before + way * (after - before), own]
    return np.concatenate(parts), postures


def bag(path: Path, kind: str) -> Path:
    """Joint states, and a moment later the tool's pose with quaternions of either sign; noise with mean zero."""
    bags, typesys = pytest.importorskip("rosbags.rosbag2"), pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    types: Any = store.types
    chain, (q, _) = arm("ur10e"), motion()
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool
    names = list(chain.robot.coordinate_names)
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "tracker")

    def message(k: int) -> Any:
        turn = (-1) ** k * Rotation.from_matrix(tool[k, :3, :3]).as_quat()
        place = [float(x) for x in tool[k, :3, 3]]
        point, vector = (types[f"geometry_msgs/msg/{name}"](*place) for name in ("Point", "Vector3"))
        rotation = types["geometry_msgs/msg/Quaternion"](*(float(x) for x in turn))
        if kind == POSE:
            return types[POSE](header, types["geometry_msgs/msg/Pose"](point, rotation))
        if kind == POINT:
            return types[POINT](header, point)
        made, transform = types["geometry_msgs/msg/TransformStamped"], types["geometry_msgs/msg/Transform"]
        other = types["geometry_msgs/msg/Vector3"](0.0, 0.0, 0.0)
        return types[TF](
            [made(header, "table", transform(other, rotation)), made(header, "flange", transform(vector, rotation))]
        )

    with bags.Writer(path, version=9, storage_plugin=bags.StoragePlugin.MCAP) as writer:
        states = writer.add_connection("/states", "sensor_msgs/msg/JointState", typestore=store)
        poses = writer.add_connection("/tf" if kind == TF else "/tracker", kind, typestore=store)
        for k in range(len(q)):
            at = START + round(1e9 * k / RATE)
            state = types["sensor_msgs/msg/JointState"](header, names, q[k], np.zeros(0), np.zeros(0))
            writer.write(states, at, store.serialize_cdr(state, "sensor_msgs/msg/JointState"))
            writer.write(poses, at + 1000, store.serialize_cdr(message(k), kind))
    return path


@pytest.mark.parametrize(("kind", "columns"), [(POSE, {}), (POINT, {}), (TF, {"pose_frame": "flange"})])
def test_a_bag_has_a_posture_for_each_stop(kind, columns, tmp_path):
    chain, (_, postures) = arm("ur10e"), motion()
    found = read_measurements([bag(tmp_path / "bag", kind)], chain, ColumnMap(**columns))
    assert np.abs(found.postures.q - postures).max() < 1e-12
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(postures)).tool
    (measure,) = found.postures.measures
    assert np.abs(measure.values[:, :3] - tool[:, :3, 3]).max() < 1e-12
    if kind != POINT:
        assert np.abs(measure.values[:, 3:].reshape(-1, 3, 3) - tool[:, :3, :3]).max() < 1e-12
    assert any(f"at {STOPS} stops" in note for note in found.notes)


def test_frames_of_tf_are_asked_for(tmp_path):
    path = bag(tmp_path / "bag", TF)
    with pytest.raises(RecordingError, match="several child frames .flange, table.; choose one with pose_frame"):
        read_measurements([path], arm("ur10e"), ColumnMap())
    with pytest.raises(RecordingError, match="no topic holds measured poses"):
        read_measurements([path], arm("ur10e"), ColumnMap(pose_topic="/other"))


def test_a_motion_without_stops_has_none():
    t = np.arange(100) / RATE
    assert still_parts(np.sin(t)[:, None], t) == []
    assert still_parts(np.where(t < 2, 0.0, 1.0)[:, None], t) == [slice(0, 40), slice(40, 100)]


def test_units_of_the_header_count_where_none_are_given(tmp_path):
    chain, path = arm("ur10e"), tmp_path / "a.csv"
    header = [*(f"q{j} [deg]" for j in range(1, 7)), *(f"{a}1 (mm)" for a in "xyz")]
    rows = np.column_stack([np.full((5, 6), 90.0), np.full((5, 3), 250.0)])
    np.savetxt(path, rows, delimiter=",", header=",".join(header), comments="")
    found = read_measurements([path], chain, ColumnMap())
    assert np.allclose(found.postures.q, np.pi / 2) and np.allclose(found.postures.measures[0].values, 0.25)
    given = read_measurements(
        [path], chain, ColumnMap(length="m"), [MeasureColumns("point", at=[f"{a}1 (mm)" for a in "xyz"])]
    )
    assert np.allclose(given.postures.measures[0].values, 250.0)


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252", "utf-16"])
@pytest.mark.parametrize("apart", [",", ";", "  "])
def test_tables_are_read_as_spreadsheets_and_trackers_write_them(encoding, apart, tmp_path):
    chain, path = arm("ur10e"), tmp_path / "a.txt"
    header = [*(f"q{j}[°]" for j in range(1, 7)), *(f"{a}1(mm)" for a in "xyz")]
    rows = [apart.join(header), *[apart.join(["90.0"] * 6 + ["250.0"] * 3)] * 5]
    path.write_text("\n".join(rows), encoding)
    found = read_measurements([path], chain, ColumnMap())
    assert np.allclose(found.postures.q, np.pi / 2) and np.allclose(found.postures.measures[0].values, 0.25)


def test_joints_of_points_alone_are_asked_for(tmp_path):
    text = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
    (tmp_path / "m.ply").write_text(text + "1 2 3\n")
    with pytest.raises(RecordingError, match="no joint positions; put these into a table 'm.csv' beside them"):
        read_measurements([tmp_path / "m.ply"], arm("ur10e"), ColumnMap(angle="rad", length="mm"))


@pytest.mark.parametrize("kind", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_points_of_a_ply_file_go_with_the_joints_beside_it(kind: str, tmp_path: Path) -> None:
    """The same readings as those of a table; a mesh and colours around the points do not matter."""
    chain, q = arm("ur10e"), np.random.default_rng(2).uniform(-1, 1, (7, 6))
    x = np.float32(1000 * moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool[:, :3, 3])
    names = [f"q{j}" for j in range(1, 7)]
    np.savetxt(tmp_path / "m.csv", q, delimiter=",", header=",".join(names), comments="")
    order = {"binary_little_endian": "<", "binary_big_endian": ">"}.get(kind, "")
    body = b"".join(
        b"%.17g %.17g %.17g 7\n" % tuple(p.tolist()) if not order else p.astype(order + "f4").tobytes() + b"\x07"
        for p in x
    )
    head = f"ply\nformat {kind} 1.0\ncomment tracker\nelement vertex 7\n" + "".join(
        f"property float {axis}\n" for axis in "xyz"
    )
    more = "property uchar red\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n"
    (tmp_path / "m.ply").write_bytes(
        (head + more).encode() + body + (b"3 0 1 2\n" if not order else b"\x03" + b"\x00" * 12)
    )
    found = read_measurements([tmp_path / "m.ply"], chain, ColumnMap(angle="rad", length="mm")).postures
    assert np.array_equal(found.q, q) and found.measures[0].name == "1"
    assert np.abs(found.measures[0].values - x.astype(float) / 1000).max() < 1e-12


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("solid\n", "is no PLY file"),
        ("ply\nformat ascii 1.0\nelement face 1\nproperty float x\nend_header\n1\n", "does not begin with vertices"),
        ("ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nend_header\n1\n", "announces 2 vertices"),
        ("ply\nformat ascii 1.0\nelement vertex 1\nproperty list uchar int x\nend_header\n1\n", "not a number"),
        ("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n", "2 rows for 1 points"),
    ],
)
def test_a_bad_ply_file_gets_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "m.ply").write_text(text)
    (tmp_path / "m.csv").write_text("q1\n0\n0\n")
    with pytest.raises(RecordingError, match=sentence):
        read_measurements([tmp_path / "m.ply"], arm("ur10e"), ColumnMap(angle="rad", length="mm"))
