"""Reading logs: every format, every mapping of columns."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minertia as mi
from minertia.identification.logs.bag_messages import layout_of
from minertia.identification.logs.columns_file import columns_beside
from minertia.identification.logs.file import float_column
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.logs.readers import column_names, iter_blocks, read_recording
from minertia.identification.logs.recording import Recording, joined
from minertia.identification.logs.repair import repaired
from minertia.io.errors import MinertiaError, RecordingError, ShapeError
from tests.identification.logs import chain, motion, table, write_csv

ROBOT = chain("RR")


def same(recording: Recording, m: dict[str, np.ndarray]) -> None:
    for name in ("t", "q", "tau"):
        np.testing.assert_allclose(getattr(recording, name), m[name], rtol=1e-12, atol=1e-12)


def test_arrays_cannot_be_written():
    m = motion()
    recording = Recording(m["t"], m["q"], m["tau"])
    with pytest.raises(ValueError, match="read-only"):
        recording.q[0, 0] = 1
    m["q"][0, 0] = 99
    assert recording.q[0, 0] != 99


def test_parts_share_what_cannot_change_and_copy_what_can():
    m = motion()
    whole = Recording(m["t"], m["q"], m["tau"])
    most, few = whole.select(slice(1, None)), whole.select(slice(0, 3))
    assert np.shares_memory(most.q, whole.q) and not np.shares_memory(few.q, whole.q)
    base = np.zeros((8, 2))
    view = base[1:]
    view.flags.writeable = False
    recording = Recording(np.arange(7.0), view)
    base[:] = 1.0
    assert not recording.q.any()
    data = bytearray(8 * 8)
    behind = np.frombuffer(data).reshape(4, 2)
    behind.flags.writeable = False
    recording = Recording(np.arange(4.0), behind)
    data[:8] = np.float64(5).tobytes()
    assert not recording.q.any()


def test_shapes_are_checked():
    m = motion()
    with pytest.raises(ShapeError, match="with one row per sample"):
        Recording(m["t"], m["q"], m["tau"].T)


@pytest.mark.parametrize("name", ["run.csv", "run.csv.gz", "run.txt"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
def test_csv(tmp_path: Path, name: str, delimiter: str):
    m = motion()
    recording = read_recording(write_csv(tmp_path / name, table(m), delimiter), ROBOT)
    same(recording, m)
    np.testing.assert_allclose(recording.qd, m["qd"])
    assert recording.effort_unit == "Nm"
    assert recording.column("tau2") == "tau2"


def test_csv_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    m = motion()
    path = write_csv(tmp_path / "run.csv", table(m))
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "pyarrow" else find(name, *a))
    same(read_recording(path, ROBOT), m)
    blocks = list(iter_blocks(path, ROBOT, rows=300))
    assert [b.first_row for b in blocks] == [1, 301, 601, 901, 1201, 1501, 1801]
    same(joined(blocks), m)
    (tmp_path / "run.csv").write_text("t,q1,q2,tau1,tau2\n0,1,2,,4\n1,2,3,x,5\n")
    with pytest.raises(RecordingError, match=r"column 'tau1', row 2: 'x' is not a number"):
        read_recording(path, ROBOT)


@pytest.mark.parametrize("has_arrow", [True, False])
@pytest.mark.parametrize(
    "before",
    ["# cell 3, joint 2 replaced\n", "% a\n#\n# b; c\n", "# made by numpy\n# "],
    ids=["one", "several", "header"],
)
def test_comments_before_the_header(tmp_path: Path, before: str, has_arrow: bool, monkeypatch: pytest.MonkeyPatch):
    """Lines that say something else; the last one may be the header itself, as NumPy writes it."""
    if not has_arrow:
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "pyarrow" else find(name, *a))
    m = motion()
    path = write_csv(tmp_path / "run.csv", table(m))
    path.write_text(before + path.read_text())
    same(read_recording(path, ROBOT), m)


def test_decimal_comma_and_given_header(tmp_path: Path):
    path = tmp_path / "run.csv"
    path.write_text("0,0;1,5;2,5\n0,1;1,6;2,7\n")
    columns = ColumnMap(header=("t", "q1", "tau1"), decimal=",")
    recording = read_recording(path, chain("R"), columns)
    np.testing.assert_allclose(recording.tau[:, 0], [2.5, 2.7])


def test_npz(tmp_path: Path):
    m = motion()
    np.savez(tmp_path / "run.npz", t=m["t"], q=m["q"], tau=m["tau"].T, label=np.array(["a"]))
    same(read_recording(tmp_path / "run.npz", ROBOT), m)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_in_blocks_in_any_order_of_memory(tmp_path: Path, save):
    m = motion()
    path = tmp_path / "run.npz"
    for q in (m["q"], np.asfortranarray(m["q"]), m["q"].T, np.asfortranarray(m["q"].T), m["q"].astype(">f8")):
        save(path, t=m["t"][:, None], q=q, tau=m["tau"].astype(np.float32), more=np.ones((2, 2, 2)))
        parts = list(iter_blocks(path, ROBOT, rows=333))
        assert [part.first_row for part in parts[:3]] == [1, 334, 667]
        for name, digits in (("t", 0), ("q", 0), ("tau", 1e-5)):
            found = np.concatenate([getattr(part, name) for part in parts])
            np.testing.assert_allclose(found, m[name], atol=digits)


@pytest.mark.slow
def test_npz_with_many_channels_is_read_a_few_samples_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    m = motion()
    wide = np.hstack([m["q"], np.zeros((len(m["t"]), 20))])
    columns = ColumnMap(q=("state1", "state2"), effort="tau{j}")
    for k, order in enumerate("CF"):
        path = tmp_path / f"run{k}.npz"
        np.savez(path, t=m["t"], state=np.asarray(wide, order=order), tau=m["tau"].astype("f4").astype(float))
        whole = read_recording(path, ROBOT, columns)
        with monkeypatch.context() as patch:
            patch.setattr("minertia.identification.logs.npz.BLOCK_BYTES", 22 * 8 * 3)
            sizes = [len(block) for block in iter_blocks(path, ROBOT, columns)]
            assert max(sizes) == 3 and sum(sizes) == len(m["t"])
            np.testing.assert_array_equal(read_recording(path, ROBOT, columns).q, whole.q)
            patch.setattr("minertia.identification.logs.npz.BLOCK_BYTES", 100)
            with pytest.raises(RecordingError, match="'state' has 22 channels, too many for a log"):
                read_recording(path, ROBOT, columns)


def test_npz_that_is_cut_off(tmp_path: Path):
    m = motion()
    np.savez(tmp_path / "run.npz", t=m["t"], q=m["q"], tau=m["tau"])
    whole = (tmp_path / "run.npz").read_bytes()
    place = whole.index(m["q"][50:60].tobytes())
    for name, content in (("short", whole[:-3000]), ("changed", whole[:place] + bytes(80) + whole[place + 80 :])):
        path = tmp_path / f"{name}.npz"
        path.write_bytes(content)
        with pytest.raises(RecordingError, match="truncated|damaged"):
            list(iter_blocks(path, ROBOT))


def test_npz_is_never_unpickled(tmp_path: Path):
    np.savez(tmp_path / "run.npz", t=np.arange(3.0), q=np.array([{}, {}, {}], dtype=object))
    with pytest.raises(RecordingError, match="no columns of positions"):
        read_recording(tmp_path / "run.npz", ROBOT)


def test_mat(tmp_path: Path):
    from scipy.io import savemat

    m = motion()
    savemat(tmp_path / "run.mat", {"run": {"t": m["t"], "q": m["q"], "tau": m["tau"]}})
    assert "run.q1" in column_names(tmp_path / "run.mat")
    columns = ColumnMap(t="run.t", q="run.q{j}", effort="run.tau{j}", effort_unit="Nm")
    same(read_recording(tmp_path / "run.mat", ROBOT, columns), m)


def test_mat_73(tmp_path: Path):
    h5py = pytest.importorskip("h5py")
    m = motion()
    with h5py.File(tmp_path / "run.mat", "w", userblock_size=512) as file:
        for name in ("t", "q", "tau"):
            file[name] = m[name].T
    header = b"MATLAB 7.3 MAT-file".ljust(116) + b"\0" * 8 + b"\x00\x02IM"
    with (tmp_path / "run.mat").open("r+b") as file:
        file.write(header)
    same(read_recording(tmp_path / "run.mat", ROBOT), m)


def test_parquet_in_blocks(tmp_path: Path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    m = motion()
    columns = {name: arrow.array(values) for name, values in table(m).items()}
    parquet.write_table(arrow.table(columns), tmp_path / "run.parquet")
    same(read_recording(tmp_path / "run.parquet", ROBOT), m)
    blocks = list(iter_blocks(tmp_path / "run.parquet", ROBOT, rows=500))
    assert len(blocks) == 4 and blocks[1].first_row == 501
    same(joined(blocks), m)


def test_parquet_with_lists(tmp_path: Path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    m = motion()
    columns = {"timestamp": m["t"], "state": m["q"].tolist(), "effort": m["tau"].tolist()}
    parquet.write_table(arrow.table(columns), tmp_path / "run.parquet")
    recording = read_recording(tmp_path / "run.parquet", ROBOT, ColumnMap(q="state{j}", effort_unit="Nm"))
    same(recording, m)


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_ros_bag_by_joint_name(tmp_path: Path, storage: str):
    m = motion(seconds=2.0)
    path = write_bag(tmp_path / "bag", m, storage, order=("elbow", "gripper", "shoulder"))
    robot = chain("RR", names="{}")
    robot = named(robot, "shoulder", "elbow")
    recording = read_recording(path, robot, ColumnMap(effort_unit="Nm"))
    same(recording, m)
    with pytest.raises(RecordingError, match=r"the unit of the efforts in 'effort_shoulder' is not known"):
        read_recording(path, robot)
    with pytest.raises(RecordingError, match="no columns of positions"):
        read_recording(path, ROBOT, ColumnMap(effort_unit="Nm"))


def test_ros_bag_with_two_topics(tmp_path: Path):
    m = motion(seconds=0.5)
    path = write_bag(tmp_path / "bag", m, "mcap", order=("shoulder", "elbow"), topics=("/a/joints", "/b/joints"))
    robot = named(chain("RR"), "shoulder", "elbow")
    with pytest.raises(RecordingError, match=r"in 2 topics \(/a/joints, /b/joints\); choose one with topic"):
        read_recording(path, robot, ColumnMap(effort_unit="Nm"))
    same(read_recording(path, robot, ColumnMap(effort_unit="Nm", topic="/b/joints")), m)


def test_the_topic_with_the_robots_joints_is_taken(tmp_path: Path, run):
    """Of several topics the one that holds the robot; where two do, both are named, and --topic chooses."""
    m = motion(seconds=4.0)
    path = write_bags(tmp_path / "bag", m, {"/a/gripper": ("finger",), "/b/arm": ("elbow", "shoulder")})
    robot = named(chain("RR"), "shoulder", "elbow")
    columns = ColumnMap(effort_unit="Nm")
    same(read_recording(path, robot, columns), m)
    same(read_recording(path, robot, ColumnMap(effort_unit="Nm", q="position_{joint}")), m)
    assert column_names(path, columns, robot)[0] == "t"
    with pytest.raises(RecordingError, match=r"none of the 2 topics .*/a/gripper: .*position_finger.*\[columns\]"):
        read_recording(path, named(chain("RR"), "left", "right"), columns)
    mi.write_robot(robot, tmp_path / "arm.toml")
    code, out, err = run("check", path, "--robot", tmp_path / "arm.toml", "--json")
    assert code in (0, 1) and json.loads(out)["joints"] == ["shoulder", "elbow"], err
    code, out, err = run("check", path)
    assert code == 2 and "in 2 topics (/a/gripper, /b/arm); choose one with topic: --topic /a/gripper" in err
    code, out, err = run("check", path, "--topic", "/a/gripper", "--json")
    assert json.loads(out)["joints"] == ["finger"], err
    code, out, err = run("check", path, "--topic", "/c")
    assert code == 2 and "in topic '/c'; the bag has: /a/gripper" in err


@pytest.mark.parametrize(
    "command",
    ["identify", "campaign new", "payload"]
    + [pytest.param(command, marks=pytest.mark.slow) for command in ("validate", "excite", "significance")],
)
def test_every_command_about_logs_takes_a_topic(tmp_path: Path, run, command: str):
    """Two topics with the robot's joints: refused, and read with --topic."""
    m = motion(seconds=4.0)
    both = {"/desired": ("elbow", "shoulder"), "/measured": ("shoulder", "elbow")}
    path = write_bags(tmp_path / "bag", m, both)
    other = write_bags(tmp_path / "other", {**m, "q": m["q"] + 0.1, "tau": 1.2 * m["tau"]}, both)
    (tmp_path / "columns.toml").write_text('[columns]\neffort_unit = "Nm"\n')
    robot = named(chain("RR"), "shoulder", "elbow")
    mi.write_robot(robot.with_parameters({"M2": 1.0, "MX2": 0.4, "ZZ2": 0.3, "ZZ1": 0.5}), tmp_path / "arm.toml")
    model = tmp_path / "out" / "model.toml"
    if command == "validate":
        topic = ("--topic", "/measured")
        assert (
            run("identify", tmp_path / "arm.toml", path, *topic, "--effects", "none", "--out", tmp_path / "out")[0] == 0
        )
        model.write_text(model.read_text().replace('topic = "/measured"', ""))
    quick = ("--harmonics", 2, "--starts", 1, "--samples", 40, "--duration", 4, "--out", tmp_path / "motion")
    args = {
        "identify": ("identify", tmp_path / "arm.toml", path, "--effects", "none"),
        "significance": ("significance", tmp_path / "arm.toml", path, "--effects", "none"),
        "campaign new": ("campaign", "new", tmp_path / "arm.toml", path),
        "validate": ("validate", model, path),
        "payload": ("payload", path, other, "--robot", tmp_path / "arm.toml"),
        "excite": ("excite", tmp_path / "arm.toml", "--after", path, "--limits", "velocity=1", *quick),
    }[command]
    code, _, err = run(*args)
    assert code == 2 and "in 2 topics (/desired, /measured); choose one with topic: --topic /desired" in err
    code, out, err = run(*args, "--topic", "/measured")
    assert "topic" not in err, err
    assert code == 0 or "do not determine the payload" in err, err  # it need not be one
    assert command != "campaign new" or 'topic = "/measured"' in out


def test_two_robots_on_one_topic(tmp_path: Path):
    """Messages of another robot between ours are left out."""
    m = motion(seconds=1.0)
    path = write_bag(tmp_path / "bag", m, "mcap", order=("elbow", "shoulder"), others=("left_wheel", "right_wheel"))
    recording = read_recording(path, named(chain("RR"), "shoulder", "elbow"), ColumnMap(effort_unit="Nm"))
    same(recording, m)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_joint_state(raw: bytes):
    layout = layout_of(raw)
    assert layout is None or layout.fits(raw)


def named(robot, *names):
    from dataclasses import replace

    return replace(robot, joints=tuple(replace(j, name=name) for j, name in zip(robot.joints, names, strict=True)))


def write_bags(path: Path, m, topics: dict[str, tuple[str, ...]]) -> Path:
    """A bag with joints of their own in each topic."""
    bags = pytest.importorskip("rosbags.rosbag2")
    types = pytest.importorskip("rosbags.typesys")
    store = types.get_typestore(types.Stores.ROS2_HUMBLE)
    State, Header, Time = (store.types[n] for n in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header",
                                                    "builtin_interfaces/msg/Time"))  # fmt: skip
    index = {"shoulder": 0, "elbow": 1}
    with bags.Writer(path, version=9, storage_plugin=bags.StoragePlugin.MCAP) as writer:
        connections = {topic: writer.add_connection(topic, State.__msgtype__, typestore=store) for topic in topics}
        for k, t in enumerate(m["t"]):
            stamp = 1_700_000_000 * 10**9 + round(t * 1e9)
            header = Header(stamp=Time(sec=stamp // 10**9, nanosec=stamp % 10**9), frame_id="")
            for topic, order in topics.items():
                rows = [np.array([m[s][k, index[n]] if n in index else 0.0 for n in order]) for s in ("q", "qd", "tau")]
                message = State(header=header, name=list(order), position=rows[0], velocity=rows[1], effort=rows[2])
                writer.write(connections[topic], stamp, store.serialize_cdr(message, State.__msgtype__))
    return path


def write_bag(path: Path, m, storage: str, order, topics=("/joint_states",), others=()) -> Path:
    bags = pytest.importorskip("rosbags.rosbag2")
    types = pytest.importorskip("rosbags.typesys")
    store = types.get_typestore(types.Stores.ROS2_HUMBLE)
    T = store.types
    State, Header, Time = (T[f"{n}"] for n in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header",
                                               "builtin_interfaces/msg/Time"))  # fmt: skip
    kind = bags.StoragePlugin.MCAP if storage == "mcap" else bags.StoragePlugin.SQLITE3
    index = {"shoulder": 0, "elbow": 1}
    with bags.Writer(path, version=9, storage_plugin=kind) as writer:
        connections = [writer.add_connection(topic, State.__msgtype__, typestore=store) for topic in topics]
        for k, t in enumerate(m["t"]):
            stamp = 1_700_000_000 * 10**9 + round(t * 1e9)
            pick = lambda s: np.array([m[s][k, index[n]] if n in index else 0.0 for n in order])  # noqa: E731, B023
            message = State(
                header=Header(stamp=Time(sec=stamp // 10**9, nanosec=stamp % 10**9), frame_id=""),
                name=list(order), position=pick("q"), velocity=pick("qd"), effort=pick("tau"),
            )  # fmt: skip
            zeros = np.zeros(len(others))
            other = State(header=message.header, name=list(others), position=zeros, velocity=zeros, effort=zeros)
            for connection in connections:
                for each in (message, other) if others else (message,):
                    writer.write(connection, stamp, store.serialize_cdr(each, State.__msgtype__))
    return path


@pytest.mark.parametrize(
    ("names", "unit"),
    [
        ({"q": "q{j}", "qd": "qd{j}", "qdd": "ddq{j}", "effort": "tau{j}"}, "Nm"),
        ({"q": "actual_q_{j0}", "qd": "actual_qd_{j0}", "effort": "actual_current_{j0}"}, "A"),
        ({"q": "position_{joint}", "qd": "velocity_{joint}", "effort": "torque_{joint}"}, "Nm"),
        ({"q": "{joint}_pos", "effort": "{joint}.current"}, "A"),
        ({"q": "q_{j}", "effort": "u{j}"}, "V"),
        ({"q": "q{j0}", "effort": "i{j0}"}, "A"),
    ],
)
def test_headers_recognised(tmp_path: Path, names: dict[str, str], unit: str):
    m = motion()
    columns = {"time": m["t"]}
    for signal, template in names.items():
        values = m["tau" if signal == "effort" else signal]
        columns |= {template.format(j=j + 1, j0=j, joint=f"j{j + 1}"): values[:, j] for j in range(2)}
    for decoy in ("i_des", "tau_des", "target_q_", "target_moment_", "q_ref", "tau_cmd"):
        columns |= {f"{decoy}{j}": np.full(len(m["t"]), 7.0) for j in range(3)}
    recording = read_recording(write_csv(tmp_path / "run.csv", columns), ROBOT)
    same(recording, m)
    assert recording.effort_unit == unit
    assert (recording.qd is None) == ("qd" not in names)
    assert any("assumed to be in" in note for note in recording.notes)


def test_units_signs_offsets(tmp_path: Path):
    m = motion()
    columns = table({**m, "q": np.rad2deg(m["q"]), "t": m["t"] * 1e3}, q="q", tau="i")
    path = write_csv(tmp_path / "run.csv", columns)
    drive = Drive(gains=(2.0, 4.0), signs=(1, -1), effort_signs=(-1, 1), offsets=(0.5, 0.0))
    recording = read_recording(path, ROBOT, ColumnMap(t="t", time_unit="ms", angle="deg", drive=drive))
    np.testing.assert_allclose(recording.t, m["t"])
    np.testing.assert_allclose(recording.q, m["q"] * [1, -1] + [0.5, 0])
    np.testing.assert_allclose(recording.tau, m["tau"] * [-2, -4])
    np.testing.assert_allclose(recording.in_log_unit(recording.tau), m["tau"])
    assert recording.effort_unit == "Nm" and recording.log_unit == "A"


def test_degrees_leave_lengths_alone(tmp_path: Path):
    m = motion()
    recording = read_recording(
        write_csv(tmp_path / "run.csv", table(m)), chain("RP"), ColumnMap(angle="deg", length="mm")
    )
    np.testing.assert_allclose(recording.q, m["q"] * [np.pi / 180, 1e-3])


def test_coupled_motors(tmp_path: Path):
    G = np.array([[45.0, 0.0], [32.0, 32.0]])
    m = motion()
    logged = {**m, "q": m["q"] @ G.T, "tau": m["tau"] @ np.linalg.inv(G)}
    path = write_csv(tmp_path / "run.csv", table(logged, q="qm", tau="taum"))
    drive = Drive(coupling=tuple(map(tuple, G.tolist())))
    recording = read_recording(path, ROBOT, ColumnMap(drive=drive))
    same(recording, m)
    power = (recording.tau * m["qd"]).sum(1)
    np.testing.assert_allclose(power, (logged["tau"] * (m["qd"] @ G.T)).sum(1), atol=1e-9)
    with pytest.raises(RecordingError, match="needs ratios or a coupling matrix"):
        read_recording(path, ROBOT)


def test_delay_is_taken_out(tmp_path: Path):
    m = motion()
    late = np.column_stack([np.interp(m["t"] - 0.05, m["t"], x) for x in m["tau"].T])
    path = write_csv(tmp_path / "run.csv", table({**m, "tau": late}, q="q", tau="tau"))
    recording = read_recording(path, ROBOT, ColumnMap(drive=Drive(delay=0.05)))
    np.testing.assert_allclose(recording.tau, m["tau"][: len(recording)], atol=1e-9)
    with pytest.raises(RecordingError, match="shorter than the delay"):
        read_recording(path, ROBOT, ColumnMap(drive=Drive(delay=1e4)))


@pytest.mark.parametrize("delay", [0.05, -0.05, 0.0007, -0.0007, 3.1, -3.1])
@pytest.mark.parametrize("rows", [7, 300, 10_000])
def test_delay_in_blocks(tmp_path: Path, delay: float, rows: int):
    m = {name: x[:2500] for name, x in motion().items()}
    path = write_csv(tmp_path / "run.csv", table(m, q="q", tau="tau"))
    given = ColumnMap(drive=Drive(delay=delay))
    parts = list(iter_blocks(path, ROBOT, given, rows=rows))
    t = m["t"]
    inside = (t + delay >= t[0]) & (t + delay <= t[-1])
    found = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ("t", "q", "tau")}
    np.testing.assert_array_equal(found["t"], t[inside])
    np.testing.assert_allclose(found["q"], m["q"][inside], atol=1e-12)
    wanted = np.column_stack([np.interp(t[inside] + delay, t, x) for x in m["tau"].T])
    np.testing.assert_allclose(found["tau"], wanted, atol=1e-11)
    assert parts[0].first_row == 1 + int(np.argmax(inside))
    assert ("ms earlier: they lag" if delay > 0 else "ms later: they lead") in parts[0].notes[-1]


@pytest.mark.parametrize("delay", [0.05, -0.05])
@pytest.mark.parametrize("clock", ["starts again", "has an outlier"])
def test_a_clock_that_goes_back_is_refused_in_a_delayed_log_as_in_others(tmp_path: Path, delay: float, clock: str):
    m = {name: x[:2500] for name, x in motion().items()}
    t = np.concatenate([m["t"][:1100], m["t"][:900]]) if clock == "starts again" else np.array(m["t"])
    t[1000] += 50.0 * (clock == "has an outlier")
    path = write_csv(tmp_path / "run.csv", table({**m, "t": t}, q="q", tau="tau"))
    for rows in (300, 10_000):
        blocks = list(iter_blocks(path, ROBOT, ColumnMap(drive=Drive(delay=delay)), rows=rows))
        with pytest.raises(RecordingError, match="time goes back"):
            repaired(joined(blocks))


@pytest.mark.parametrize("delay", [0.05, -0.05])
@pytest.mark.parametrize("rows", [300, 10_000])
def test_delay_of_a_log_in_bursts(tmp_path: Path, delay: float, rows: int):
    """Rows that arrive ten at a time are shifted by the times at which they were sampled."""
    m = {name: x[:2500] for name, x in motion().items()}
    late = np.column_stack([np.interp(m["t"] - delay, m["t"], x) for x in m["tau"].T])
    path = write_csv(tmp_path / "run.csv", table({**m, "t": m["t"][9::10].repeat(10), "tau": late}, q="q", tau="tau"))
    given = ColumnMap(drive=Drive(delay=delay))
    parts = list(iter_blocks(path, ROBOT, given, rows=rows))
    first, found = parts[0].first_row - 1, np.concatenate([part.tau for part in parts])
    wanted = m["tau"][first : first + len(found)]
    np.testing.assert_allclose(found, wanted, atol=2e-3 * np.abs(wanted).max())
    assert len(found) > len(m["t"]) - 60


def test_mapping_beside_the_log(tmp_path: Path):
    m = motion()
    path = write_csv(tmp_path / "run.csv", table(m, q="pos_", tau="cur"))
    (tmp_path / "columns.toml").write_text(
        '[columns]\nq = "pos_{j}"\neffort = ["cur1", "cur2"]\neffort_unit = "A"\n[drive]\ngains = [2, 3]\n'
    )
    np.testing.assert_allclose(read_recording(path, ROBOT).tau, m["tau"] * [2, 3])
    (tmp_path / "run.toml").write_text('[columns]\nq = "pos_{j}"\neffort = "cur{j}"\neffort_unit = "Nm"\n')
    np.testing.assert_allclose(read_recording(path, ROBOT).tau, m["tau"])
    assert columns_beside(tmp_path / "run.csv").effort == "cur{j}"


def test_rate_instead_of_stamps(tmp_path: Path):
    m = motion()
    columns = table(m)
    del columns["t"]
    path = write_csv(tmp_path / "run.csv", columns)
    np.testing.assert_allclose(read_recording(path, ROBOT, ColumnMap(rate_hz=200)).t, m["t"])
    with pytest.raises(RecordingError, match="there is no time column"):
        read_recording(path, ROBOT)


def test_extra_joints_need_a_word(tmp_path: Path):
    m = motion(3)
    path = write_csv(tmp_path / "run.csv", table(m))
    with pytest.raises(RecordingError, match=r"the log has 3 joints \(q1, q2, q3\), the robot 'chain' has 2"):
        read_recording(path, ROBOT)
    recording = read_recording(path, ROBOT, ColumnMap(q=("q1", "q2"), qd="", effort=("tau1", "tau2"), effort_unit="Nm"))
    assert recording.n == 2


def test_part_of_a_recording():
    m = motion()
    recording = Recording(m["t"], m["q"], m["tau"])
    part = recording.between(2.0, 4.0)
    assert part.first_row == 401 and part.t[0] == 2.0 and part.t[-1] < 4.0
    with pytest.raises(RecordingError, match="no samples from 50 s; the log runs from 0 s to"):
        recording.between(50.0)


def test_public_errors_are_ours():
    assert issubclass(RecordingError, MinertiaError)


def test_columns_of_arrow_with_and_without_gaps():
    """Parts one after the other, NaN for what is missing; `to_numpy`, which loads pandas, only where something is."""
    arrow = pytest.importorskip("pyarrow")

    class Whole:
        null_count, chunks = 0, [arrow.array([1.0, 2.0]), arrow.array([], arrow.float64()), arrow.array([3.0])[:1]]

        def to_numpy(self):
            raise AssertionError("loads pandas")

    found = float_column(Whole())
    found[0] = 5.0  # an array of its own
    assert found.tolist() == [5.0, 2.0, 3.0] and float_column(Whole()).tolist() == [1.0, 2.0, 3.0]
    for column in (arrow.array([1.0, None]), arrow.chunked_array([[1.0], [None]], arrow.float64())):
        np.testing.assert_array_equal(float_column(column), [1.0, np.nan])
