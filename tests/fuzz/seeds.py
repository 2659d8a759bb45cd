"""Small valid files of every format that is read, to be broken."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.model import model_text
from minertia.identification.signals.filtering import prepared
from minertia.identification.signals.options import Filter
from minertia.robot.files import read_robot
from minertia.robot.formats.usd.write import to_usda
from tests.identification.fits import fitted
from tests.identification.logs import motion, recorded, table
from tests.robot.urdf_helpers import INERTIAL, joint, link, two_joints, urdf
from tests.robot.usd_helpers import TWO, stage

JOINTS = ("joint1", "joint2")
URDF = (
    two_joints(),
    urdf(
        link("base", ""),
        link("a"),
        link("b", INERTIAL + '<visual><origin xyz="0 0 1"/><geometry><box size="1 1 1"/></geometry></visual>'),
        link("c"),
        joint("j1", "base", "a", inside='<axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="2" effort="3"/>'),
        joint("j2", "a", "b", "prismatic", origin='xyz="0.1 0 0" rpy="1.5708 0 0"'),
        joint("j3", "b", "c", inside='<axis xyz="0 0 1"/><mimic joint="j1" multiplier="-2" offset="0.1"/>'),
        '<transmission name="t"><joint name="j1"/><actuator name="m"><mechanicalReduction>50</mechanicalReduction>'
        "</actuator></transmission>",
    ),
)
MJCF = (
    """<mujoco model="two"><compiler angle="degree"/><option gravity="0 0 -9.81"/>
<default><joint damping="0.5" armature="0.01"/></default>
<worldbody><body name="a" pos="0 0 1"><joint name="j1" axis="0 0 1" range="-90 90"/><geom size="0.1"/>
<body name="b" pos="0.5 0 0" euler="90 0 0"><inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.1 0.1"/>
<joint name="j2" type="slide" axis="1 0 0"/></body></body></worldbody>
<equality><joint joint1="j2" joint2="j1" polycoef="0 2 0 0 0"/></equality>
<actuator><motor joint="j1" gear="50"/></actuator></mujoco>
""",
    """<mujoco><worldbody><body name="a"><freejoint/><geom type="box" size="1 1 1" mass="1"/>
<body name="b" quat="1 0 0 1"><joint name="j" frictionloss="0.1"/>
<geom type="capsule" fromto="0 0 0 1 0 0" size="0.1"/></body>
</body></worldbody></mujoco>
""",
)
USD = (stage(*TWO), to_usda(read_robot("puma560_physical")))
PAR = (
    """(* Robotname = 'two' *)
NL = 2
NJ = 2
NF = 2
Type = 0
is_mobile = 0
(* Geometric parameters *)
ant = {0,1}
sigma = {0,1}
mu = {1,1}
gamma = {0,0}
b = {0,0}
alpha = {0,pi/2}
d = {0,D2}
theta = {th1,0}
r = {0,r2}
(* Dynamic parameters and external forces *)
XX = {XX1,0.5}
M = {M1,2}
IA = {IA1,0}
""",
)
DH_DOCUMENT: dict[str, Any] = {
    "format": 1,
    "name": "two",
    "gravity": [0.0, 0.0, -9.81],
    "base": "fixed",
    "convention": "khalil",
    "symbols": {"D2": 0.4, "R3": "unknown"},
    "joint": [
        {
            "kind": "revolute",
            "limits": {"position": [-1.0, 1.0], "velocity": 2.0, "effort": 3.0},
            "link": {"mass": 2.0, "com": [0.1, 0.0, 0.0], "inertia": [0.1, 0.0, 0.0, 0.1, 0.0, 0.1]},
            "drive": {"ratio": 50.0, "rotor_inertia": 1e-4, "coulomb": [0.1, 0.2]},
            "effects": {"FV": 0.1, "FC": 0.2},
        },
        {"name": "j2", "kind": "prismatic", "parent": 1, "alpha": "pi/2", "d": "D2", "r": "R3 + 0.1"},
        {"kind": "revolute", "d": "D2*cos(0.3)", "follows": {"joint": "j2", "ratio": -1.0, "offset": 0.2}},
    ],
}
LOOP_DOCUMENT: dict[str, Any] = {
    "format": 3,
    "convention": "placement",
    "symbols": {"A": 0.2},
    "joint": [
        {"name": "crank", "kind": "revolute"},
        {"name": "coupler", "kind": "revolute", "position": ["A", 0, 0], "passive": True},
        {"name": "rocker", "kind": "revolute", "parent": 0, "position": [0.45, 0, 0], "passive": True},
    ],
    "loop": [
        {
            "name": "pin",
            "kind": "revolute",
            "first": "coupler",
            "first_position": [0.5, 0, 0],
            "second": 3,
            "second_position": [0.4, 0, 0],
            "second_rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
            "seed": {"crank": 0.7, "coupler": -0.18, "rocker": 1.22},
        }
    ],
}
COLUMNS_DOCUMENT: dict[str, Any] = {
    "columns": {
        "t": "t",
        "time_unit": "s",
        "q": "q{j}",
        "qd": ["dq1", "dq2"],
        "effort": "tau{j}",
        "angle": "rad",
        "length": "m",
        "effort_unit": "A",
        "delimiter": ",",
        "decimal": ".",
    },
    "drive": {
        "position": "joint",
        "effort": "motor",
        "ratios": [50.0, -80.0],
        "gains": [0.1, 0.2],
        "signs": [1, -1],
        "effort_signs": [1, 1],
        "offsets_deg": [0.0, 90.0],
        "delay": 0.01,
    },
}
CAMPAIGN_DOCUMENT: dict[str, Any] = {
    "format": 1,
    "name": "two",
    "robot": "planar2r",
    "gravity": [0.0, -9.81, 0.0],
    "joints": [1, 2],
    "hold": {},
    "logs": {
        "train": ["run.csv", {"file": "run.csv", "from": 0.5, "to": 2.0, "load": {"mass": 1.0, "com": [0, 0, 0.1]}}],
        "validate": ["run.csv"],
        "stamps": True,
        "resample": True,
        "standstill": False,
    },
    **COLUMNS_DOCUMENT,
    "filter": {"cutoff_hz": 5.0, "order": 4, "derivative": "central", "rate_hz": 20.0, "trim_s": 0.1},
    "model": {
        "effects": ["rotor", "viscous", {"kind": "coulomb", "joints": [1]}],
        "fix": {"FV1": 0.1},
        "prior": "robot",
    },
    "estimator": {"name": "ridge"},
    "evaluation": {"cutoff_hz": 5.0, "rate_hz": 20.0, "trim_s": 0.1, "log_unit": False},
}
LIMITS_DOCUMENT: dict[str, Any] = {
    "position": [[-1.0, 0.5], [-0.5, 1.0]],
    "velocity": 1.0,
    "acceleration": [3.0, 4.0],
    "effort": [10.0, 10.0],
    "effort_margin": 0.2,
    "box": [{"frame": "j2", "lower": [-1.0, -1.0, -1.0], "upper": [1.0, 1.0, 1.0]}],
}
EXPRESSIONS = ("th2 + pi/2", "-D3", "2*R3*cos(a2) - 1e-3/4*(D2 + D3)", "sin(0.3)*cos(a1 + pi)", "1", ".5e-3")


def log_columns(samples: int = 12) -> dict[str, np.ndarray]:
    """Columns of a short log of two joints."""
    return table(motion(2, seconds=samples / 100, rate=100))


def csv_text(delimiter: str = ",") -> str:
    """A short log as text."""
    columns = log_columns()
    rows = (delimiter.join(repr(round(float(v), 6)) for v in row) for row in np.column_stack(list(columns.values())))
    return "\n".join([delimiter.join(columns), *rows]) + "\n"


def motion_text() -> str:
    """A motion as `excite` writes it."""
    from minertia.excitation.trajectory import Trajectory

    m = motion(2, seconds=0.1, rate=100)
    return Trajectory(m["t"], m["q"], m["qd"], m["qdd"]).to_csv()


@cache
def npz() -> bytes:
    """A short log as a NumPy archive."""
    file = io.BytesIO()
    m = motion(2, seconds=0.12, rate=100)
    np.savez(file, t=m["t"], q=m["q"], dq=m["qd"], tau=m["tau"])
    return file.getvalue()


@cache
def mat(compressed: bool = False) -> bytes:
    """A short log as a MATLAB file of version 5."""
    from scipy.io import savemat

    file = io.BytesIO()
    m = motion(2, seconds=0.12, rate=100)
    arrays = {"t": m["t"], "run": {"q": m["q"]}, "q": m["q"], "tau": m["tau"], "n": "text"}
    savemat(file, arrays, do_compression=compressed)
    return file.getvalue()


@cache
def parquet() -> bytes:
    """A short log as a Parquet table."""
    import pyarrow
    import pyarrow.parquet

    file = io.BytesIO()
    columns: dict[str, Any] = {**log_columns(), "state": [[1.0, 2.0]] * 12, "note": ["a"] * 12}
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def hdf5(path: Path) -> bytes:
    """A short log as a MATLAB file of version 7.3."""
    import h5py

    m = motion(2, seconds=0.12, rate=100)
    with h5py.File(path, "w", userblock_size=512) as file:
        for name in ("t", "q", "tau"):
            file[name] = np.atleast_2d(m[name].T)
    data = bytearray(path.read_bytes())
    data[:128] = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    return bytes(data)


def bag(folder: Path, storage: str, samples: int = 12) -> bytes:
    """A short ROS 2 bag of one file, without the folder's metadata."""
    from rosbags import rosbag2, typesys

    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    kinds = ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    State, Header, Time = (store.types[kind] for kind in kinds)
    plugin = rosbag2.StoragePlugin.MCAP if storage == "mcap" else rosbag2.StoragePlugin.SQLITE3
    m = motion(2, seconds=samples / 100, rate=100)
    with rosbag2.Writer(folder, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection("/joint_states", State.__msgtype__, typestore=store)
        for k, t in enumerate(m["t"]):
            header = Header(stamp=Time(sec=100, nanosec=round(t * 1e9)), frame_id="")
            values = {"position": m["q"][k], "velocity": m["qd"][k], "effort": m["tau"][k]}
            message = State(header=header, name=list(JOINTS), **values)
            stamp = 100 * 10**9 + round(t * 1e9)
            writer.write(connection, stamp, store.serialize_cdr(message, State.__msgtype__))
    (file,) = folder.glob(f"*.{storage}")
    return file.read_bytes()


@cache
def model() -> str:
    """A model of a pendulum, as `identify` writes it."""
    m = motion(1, seconds=4)
    robot = read_robot("planar2r")
    single = type(robot)("one", robot.joints[:1], gravity=(0.0, -9.81, 0.0), links=robot.links[:1])
    result = fitted(single, [prepared(recorded(1, **m), Filter(cutoff_hz=5.0))], effects=("viscous", "coulomb"))
    return model_text(result.model())
