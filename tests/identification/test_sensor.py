"""Force/torque sensors beside joints: rows, plates, loads, gains, files and wrong set-ups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import minertia as mi
from minertia.cli import main
from minertia.dynamics.model import forward_kinematics
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.options import SensorOptions
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.campaigns.sensed import PLACED, placed_frame
from minertia.identification.efforts.sensor_setups import right_angle_turns
from minertia.identification.identify import build_problem, identify
from minertia.identification.logs.options import ColumnMap
from minertia.identification.model_file import joints_alone, read_model
from minertia.identification.posterior.options import SampleOptions
from minertia.identification.sampling import sample_model
from minertia.identification.validate import validate
from minertia.io.errors import MinertiaError, RecordingError
from minertia.robot.divided import whole_links
from minertia.robot.files import read_robot
from tests.identification.planted_sensor import motion, planted, write_log

EFFECTS = ("rotor", "viscous", "coulomb")
GAINS = np.array([12.0, 12.0, 10.0, 8.0, 8.0, 8.0])


@pytest.fixture(scope="module")
def arm():
    return read_robot("ur10e")


def campaign(arm, log, at="tool0", validate=(), **options):
    stated = {name: options.pop(name) for name in ("of", "axes", "moment", "columns") if name in options}
    sensors = (SensorOptions(at=at, name="s", **stated),)
    return Campaign(arm, train=log, validate=validate, sensors=sensors, effects=EFFECTS, **options)


def deviations(model, plant):
    """Errors of all values in standard deviations."""
    truth = model.linear.K @ np.array([plant.chi.get(name, 0.0) for name in model.linear.standard])
    dev = np.sqrt(np.diag(model.covariance))
    return ((model.beta - truth) / dev)[dev > 0]


@pytest.fixture(scope="module")
def wrist(arm, tmp_path_factory):
    """A planted arm, a validation log, and the identification from another log."""
    plant, folder = planted(arm, "tool0"), tmp_path_factory.mktemp("wrist")
    train, unseen = (write_log(folder / f"{k}.csv", plant, seed=k, seconds=12) for k in (1, 2))
    return plant, unseen, identify(campaign(arm, train, validate=unseen))


def test_a_wrist_sensor_beside_joints(wrist, tmp_path):
    plant, unseen, found = wrist
    model = found.model()
    assert found.verdict.grade == "good"
    assert model.linear.count == 46 + 16 + 6  # two rotors merge with their links
    assert model.row_names[6:] == ("s fx", "s fy", "s fz", "s mx", "s my", "s mz")
    assert np.mean(np.abs(deviations(model, plant)) < 3) > 0.95
    where = model.names.index("M7")
    assert model.beta[where] == pytest.approx(2.5, rel=2e-3)
    assert model.robot.parameters()[5]["M"] > 2.5  # the exported link is whole
    model.save(tmp_path / "model.toml")
    again = read_model(tmp_path / "model.toml")
    assert again.row_names == model.row_names
    assert validate(again, unseen)[0].relative == pytest.approx(found.evidence.unseen[0].relative, rel=1e-6)


def test_models_with_sensors_serve_as_models_of_joints(wrist):
    """Whole links predict the joints' efforts; draws of the posterior and a watch need no sensor."""
    plant, unseen, found = wrist
    model = found.model()
    assert np.linalg.matrix_rank(model.covariance / np.outer(*2 * [np.sqrt(np.diag(model.covariance))])) == len(
        model.beta
    )
    alone = joints_alone(model)
    assert alone.row_names == model.row_names[:6]
    truth = whole_links(plant.robot, plant.chi)
    apart = alone.beta - alone.linear.K @ np.array([truth.get(name, 0.0) for name in alone.linear.standard])
    assert np.mean(np.abs(apart) < 3 * np.sqrt(np.diag(alone.covariance))) > 0.95
    drawn = sample_model(model, SampleOptions(n=8))
    last = drawn.bodies[0][:, 5]
    assert last == pytest.approx(truth["M6"], rel=0.5) and last.min() > 2.5


def test_a_plate_alone_in_a_campaign_file(arm, tmp_path):
    plant = planted(arm, "plate")
    write_log(tmp_path / "a.csv", plant, seed=1, seconds=12, efforts=False)
    (tmp_path / "plate.toml").write_text(
        'format = 1\nrobot = "ur10e"\n[logs]\ntrain = ["a.csv"]\n[[sensor]]\nat = "plate"\nname = "s"\n'
    )
    problem = build_problem(read_campaign(tmp_path / "plate.toml"))
    assert problem.campaign.rows == "sensors"
    assert problem.outputs == ("s fx", "s fy", "s fz", "s mx", "s my", "s mz")
    assert problem.linear.count == 46
    assert problem.excitation.rank == 46


@pytest.mark.slow
def test_gains_from_two_loads_and_not_from_one(arm, tmp_path):
    one, other = planted(arm, "tool0", 2.5), planted(arm, "tool0", 5.5, seed=5)
    a = write_log(tmp_path / "a.csv", one, seed=1, gains=GAINS, seconds=12)
    b = write_log(tmp_path / "b.csv", other, seed=2, gains=GAINS, seconds=12)
    problem = build_problem(campaign(arm, [Log(a, tool="A"), Log(b, tool="B")]))
    assert problem.gains is not None
    assert np.abs(problem.gains.gains / GAINS - 1).max() < 0.05
    assert np.abs(problem.gains.gains / GAINS - 1)[:5].max() < 0.01
    with pytest.raises(MinertiaError, match="one load on a sensor"):
        build_problem(campaign(arm, [a, b]))


@pytest.mark.slow
def test_two_loads_from_logs_to_robot_files(arm, tmp_path, monkeypatch):
    """Logs in currents with two loads: a good verdict, files that others read, code, essential values, a payload."""
    pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    one, other = planted(arm, "tool0", 2.5), planted(arm, "tool0", 5.5, seed=5)
    for name, plant, seed in (("a", one, 1), ("b", other, 2), ("c", one, 3)):
        write_log(tmp_path / f"{name}.csv", plant, seed=seed, gains=GAINS, seconds=12)
    assert main(["convert", "ur10e", "arm.urdf"]) == 0
    (tmp_path / "two.toml").write_text(
        'format = 1\nrobot = "arm.urdf"\n[logs]\ntrain = [{file = "a.csv", tool = "A"}, {file = "b.csv", tool = "B"}]\n'
        'validate = [{file = "c.csv", tool = "A"}]\n[model]\neffects = ["rotor", "viscous", "coulomb"]\n'
        '[[sensor]]\nat = "tool0"\nname = "s"\n'
    )
    assert main(["identify", "--campaign", "two.toml", "--out", "found"]) == 0
    model = read_model(tmp_path / "found/model.toml")
    (left,) = model.exports["mjcf"]["left"]
    assert model.exports["mjcf"]["read_by"] == "MuJoCo" and left["file"]["relative"] < 1.2 * left["model"]["relative"]
    t, q, qd, qdd = motion(6, 5.0, 9)
    truth = arm.with_parameters({n: v for n, v in whole_links(one.robot, one.chi).items() if not n.startswith("OFF")})
    exact, found = (np.asarray(mi.inverse_dynamics(robot, q, qd, qdd)) for robot in (truth, model.robot))
    assert np.linalg.norm(found - exact) < 0.01 * np.linalg.norm(exact)
    assert main(["validate", "found", "c.csv[1:11]", "--tool", "A"]) == 0
    assert main(["validate", "found", "c.csv", "--tool", "C"]) == 2
    assert main(["generate", "found/model.toml", "--out", "code"]) == 0
    assert main(["sample", "found", "--n", "16"]) == 0
    assert main(["significance", "--campaign", "two.toml"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("at", ["tool0", "elbow_joint", "plate"])
def test_gains_of_ten_runs(arm, tmp_path, at):
    errors, within = [], []
    for seed in range(10):
        first, second = planted(arm, at, 2.5), planted(arm, at, 5.5 if at == "tool0" else 2.5, seed=5)
        plants = (first, second if at == "tool0" else first)
        logs = [
            Log(
                write_log(tmp_path / f"{k}.csv", plant, seed=10 * seed + k, gains=GAINS), tool="AB"[k] * (at == "tool0")
            )
            for k, plant in enumerate(plants)
        ]
        gains = build_problem(campaign(arm, logs, at=at)).gains
        errors.append(gains.gains / GAINS - 1)
        within.append(np.abs(gains.gains - GAINS) < 1.96 * gains.deviations)
    rms = np.sqrt(np.mean(np.square(errors), axis=0))
    print(at, "gain errors [%]", np.round(100 * rms, 2), f"intervals {np.mean(within):.1%}")
    assert rms[:5].max() < 0.015
    assert rms[5] < 0.05
    assert np.mean(within) >= 0.9  # 60 gains: 95 % within two deviations of their number


def wrong(kind, arm):
    """A change of the logged wrench, or other options, and a word of the sentence that names the cause."""
    turn = right_angle_turns()[7]

    def in_base(wrench, q):
        R = forward_kinematics(placed_frame(arm, planted(arm, "tool0").robot.sensors[0]), q, PLACED)[0]
        return np.hstack([np.einsum("nij,nj->ni", R, wrench[:, k : k + 3]) for k in (0, 3)])

    return {
        "right": (lambda w, q: w, {}, ""),
        "base axes": (in_base, {}, 'axes = "base"'),
        "base axes said": (in_base, {"axes": "base"}, ""),
        "sign": (lambda w, q: -w, {}, 'of = "tool"'),
        "sign said": (lambda w, q: -w, {"of": "tool"}, ""),
        "axes exchanged": (lambda w, q: np.hstack([w[:, :3] @ turn.T, w[:, 3:] @ turn.T]), {}, "in other axes"),
        "N mm": (lambda w, q: w * [1, 1, 1, 1e3, 1e3, 1e3], {}, "N mm"),
        "N mm said": (lambda w, q: w * [1, 1, 1, 1e3, 1e3, 1e3], {"moment": "N mm"}, ""),
        "saturated": (lambda w, q: np.clip(w, -15, 15), {}, "saturated"),
    }[kind]


def judged(arm, tmp_path, kind):
    change, options, word = wrong(kind, arm)
    plant = planted(arm, "tool0")
    logs = [write_log(tmp_path / f"{k}.csv", plant, seed=k, seconds=12, change=change) for k in (1, 2)]
    verdict = identify(campaign(arm, logs[0], validate=logs[1], **options)).verdict
    told = " ".join(verdict.reasons)
    return verdict.grade == "good" if not word else verdict.grade == "not good" and word in told, verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    ["right", "base axes", "base axes said", "sign", "sign said", "axes exchanged", "N mm", "N mm said", "saturated"],
)
def test_wrong_and_right_set_ups(arm, tmp_path, kind):
    is_right, verdict = judged(arm, tmp_path, kind)
    assert is_right, str(verdict)


def test_a_slower_sensor_is_read_right(arm, tmp_path):
    """Wrenches that are repeated or missing in between are interpolated; too few are refused."""

    def slow(step, hold):
        def change(wrench, q):
            own = wrench.copy()
            for k in range(len(own)):
                own[k] = wrench[k - k % step] if hold else (wrench[k] if k % step == 0 else np.nan)
            return own

        return change

    plant = planted(arm, "tool0")
    for hold in (True, False):
        log = write_log(tmp_path / "slow.csv", plant, seed=1, seconds=8, change=slow(4, hold))
        own = campaign(arm, log)
        read = own.as_logged(own.train[0])
        exact = write_log(tmp_path / "fast.csv", plant, seed=1, seconds=8)
        fast = campaign(arm, exact)
        whole = fast.as_logged(fast.train[0])
        assert np.abs(read.sensed - whole.sensed)[20:-20].max() < 1.5  # noise of 0.1 N and little else
    log = write_log(tmp_path / "few.csv", plant, seed=1, seconds=8, change=slow(40, False))
    own = campaign(arm, log)
    with pytest.raises(RecordingError, match=r"a wrench every 0\.4 s"):
        own.as_logged(own.train[0])
    with pytest.raises(RecordingError, match=r"rows are 0\.01 s apart, but wrenches 0\.4 s"):
        mi.wrench("ur10e", log, columns=ColumnMap(angle="rad"))


def test_missing_columns_and_unknown_places_are_one_sentence(arm, tmp_path):
    log = write_log(tmp_path / "a.csv", planted(arm, "tool0"), seconds=2)
    with pytest.raises(MinertiaError, match="'nowhere'"):
        campaign(arm, log, at="nowhere")
    own = campaign(arm, log, columns=("fx", "fy", "fz", "tx", "ty", "nz"))
    with pytest.raises(RecordingError, match="no column 'nz'"):
        own.as_logged(own.train[0])
    text = log.read_text().replace("fx", "gx", 1)
    log.write_text(text)
    own = campaign(arm, log)
    with pytest.raises(RecordingError, match="no columns fx for"):
        own.as_logged(own.train[0])
    with pytest.raises(MinertiaError, match="torque equations"):
        build_problem(replace(campaign(arm, write_log(tmp_path / "b.csv", planted(arm, "tool0"))),
                              filter=replace(own.filter, equations="momentum")))  # fmt: skip


def wrench_bag(path, robot, q, wrench, rate=100.0, every=1, efforts=None, frames=None):
    """A bag with joint states, wrenches at a part of their rate, and tf of the sensor below a moving flange."""
    bags, typesys = pytest.importorskip("rosbags.rosbag2"), pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    types, G = store.types, "geometry_msgs/msg/"
    tau = np.zeros_like(q) if efforts is None else efforts

    def header(k, frame=""):
        at = 5_000_000_000 + round(1e9 * k / rate)
        stamp = types["builtin_interfaces/msg/Time"](int(at // 10**9), int(at % 10**9))
        return types["std_msgs/msg/Header"](stamp, frame)

    def vector(v):
        return types[f"{G}Vector3"](*(float(x) for x in v))

    def transform(k, parent, child, place, turn):
        own = types[f"{G}Transform"](vector(place), types[f"{G}Quaternion"](*(float(x) for x in turn)))
        return types[f"{G}TransformStamped"](header(k, parent), child, own)

    with bags.Writer(path, version=9, storage_plugin=bags.StoragePlugin.MCAP) as writer:
        kinds = {"/joint_states": "sensor_msgs/msg/JointState", "/ft": f"{G}WrenchStamped"}
        kinds |= {"/tf": "tf2_msgs/msg/TFMessage"}
        to = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in kinds.items()}

        def write(topic, k, message):
            writer.write(to[topic], 5_000_000_000 + round(1e9 * k / rate), store.serialize_cdr(message, kinds[topic]))

        for k in range(len(q)):
            if frames is not None:
                place, turn = frames[0][k], frames[1][k]
                half = [0.0, 0.0, np.sin(0.35), np.cos(0.35)]  # the sensor is turned about the flange's z axis
                tree = [transform(k, "base", "flange", place, turn), transform(k, "flange", "ft", (0, 0, 0.05), half)]
                write("/tf", k, types[kinds["/tf"]](tree))
            if k % every == 0:
                own = types[f"{G}Wrench"](vector(wrench[k, :3]), vector(wrench[k, 3:]))
                write("/ft", k, types[kinds["/ft"]](header(k, "ft"), own))
            if robot is not None:
                names = list(robot.coordinate_names)
                state = types[kinds["/joint_states"]](header(k), names, q[k], np.zeros(0), tau[k])
                write("/joint_states", k, state)
    return path


def test_a_bag_with_wrenches_beside_joint_states(arm, tmp_path):
    """Wrenches at a quarter of the rate of the joints are read at every joint state."""
    plant = planted(arm, "tool0")
    log = np.genfromtxt(write_log(tmp_path / "a.csv", plant, seconds=3), delimiter=",", names=True)
    q = np.column_stack([log[f"q{j}"] for j in range(1, 7)])
    tau = np.column_stack([log[f"tau{j}"] for j in range(1, 7)])
    wrench = np.column_stack([log[name] for name in ("fx", "fy", "fz", "tx", "ty", "tz")])
    bag = wrench_bag(tmp_path / "bag", arm, q, wrench, every=4, efforts=tau)
    own = campaign(arm, bag, columns=None).reading(ColumnMap(effort_unit="Nm"))
    read = own.as_logged(own.train[0])
    assert len(read) == len(q)
    assert np.abs(read.sensed[:-4] + wrench[:-4]).max() < 1.5
    with pytest.raises(RecordingError, match="there is no topic '/other' with wrenches"):
        other = own.reading(ColumnMap(wrench_topic="/other"))
        other.as_logged(other.train[0])


def test_a_bag_with_wrenches_and_tf_weighs_a_tool(tmp_path):
    """The pose of the wrench's frame is composed from the transforms of tf."""
    rng = np.random.default_rng(3)
    flange = Rotation.random(12, random_state=4)
    sensor = flange * Rotation.from_rotvec([0, 0, 0.7])
    up = sensor.inv().apply([0, 0, 9.81])
    wrench = np.hstack([1.2 * up, 1.2 * np.cross([0.0, 0.01, 0.06], up)]) + [3, -2, 8, 0.1, 0, 0.05]
    wrench += rng.normal(size=wrench.shape) * ([0.02] * 3 + [0.0005] * 3)
    frames = np.zeros((12, 3)), flange.as_quat()
    bag = wrench_bag(tmp_path / "bag", None, np.zeros((12, 6)), wrench, rate=0.2, frames=frames)
    found = mi.wrench(None, str(bag))
    values = {p.name: p.value for p in found.evidence.parameters}
    assert values["M"] == pytest.approx(1.2, abs=0.01)
    assert values["MZ"] == pytest.approx(1.2 * 0.06, abs=0.002)
