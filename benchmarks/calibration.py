"""Geometric calibration: seconds of one core and memory, and FIGAROH beside it on its own sets.

`python -m benchmarks.calibration` simulates 600 and 10,000 postures.  `... DATA ROBOTS PYTHON` also fits two thirds of
talos.csv, tiago.csv and ur10.csv of the folder DATA (FIGAROH's examples) with both, and judges the rest; PYTHON is that
of an environment with figaroh 1.0.2, which has dependencies of its own.  Lines of user code: the columns file and one
call of `calibrate`; FIGAROH's script without clock and printing, and its configuration with one setting a line.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minertia as mi
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import CalibrationOptions
from minertia.identification.geometry.chain import Array, chain_of, exponential, moved
from minertia.identification.geometry.errors import sizes_of
from minertia.identification.logs.options import ColumnMap

UNITS = ColumnMap(angle="rad", length="m")
POINTS = ((0.1, 0.0, 0.05), (0.0, 0.1, 0.1), (-0.1, -0.05, 0.08))
SIZES = np.array([4e-4] * 3 + [1e-3, 1e-3, 4e-3])  # m, rad: of planted corrections
NOISE = 3e-5  # m
SI = """
[columns]
angle = "rad"
length = "m"
"""  # points are recognised by their names
POSE = """
[[measure]]
kind = "pose"
at = ["x1", "y1", "z1"]
rotation = ["phix1", "phiy1", "phiz1"]
rotation_as = "rpy"
"""
SOCKETS = """
[[measure]]
kind = "same_point"
groups = ["place", "socket"]
[[measure]]
kind = "distance_between"
of = "socket"
within = ["place"]
length = 0.05
"""  # a ball in two sockets at unknown places
SETS = {  # of FIGAROH: file of the robot, tip, number of points (0: a pose)
    "ur10": ("ur10_figaroh.urdf", "wrist_3_link", 0),
    "talos": ("talos_full_v2.urdf", "gripper_left_base_link", 1),
    "tiago": ("tiago_no_hand.urdf", "arm_7_link", 4),
}
LIMIT = 240  # s of a peer
PEER = """
import json, sys, time
from figaroh.calibration.base_calibration import BaseCalibration
from figaroh.tools.robot import load_robot
start = time.process_time()
found = BaseCalibration(load_robot(sys.argv[1], load_by_urdf=True), sys.argv[2])
found.calib_config["known_baseframe"] = found.calib_config["known_tipframe"] = False
found.initialize()
found.solve(enable_logging=False)
errors = found._compute_validation_metrics()["error_fitted_per_dof"]
print(json.dumps([time.process_time() - start, [errors[f"{axis} (mm)"] for axis in "XYZ"]]))
"""


def simulated(folder: Path, count: int) -> Path:
    """A UR10e with small errors, three points measured."""
    chain, rng = chain_of(mi.read_robot("ur10e")), np.random.default_rng(0)
    q = rng.uniform(-1.5, 1.5, (count, 6))
    placements = chain.nominal @ exponential(SIZES * rng.normal(size=(7, 6)))
    tool = moved(placements, chain.is_hinge, chain.positions(q)).tool
    points = [tool[:, :3, :3] @ np.array(p) + tool[:, :3, 3] for p in POINTS]
    table = np.hstack([q, np.hstack(points) + NOISE * rng.normal(size=(count, 9))])
    names = [*(f"q{j}" for j in range(1, 7)), *(f"{a}{k}" for k in (1, 2, 3) for a in "xyz")]
    np.savetxt(folder / "readings.csv", table, delimiter=",", header=",".join(names), comments="")
    return folder / "readings.csv"


def timed(campaign: Campaign) -> tuple[float, mi.Identification]:
    start = time.process_time()
    found = mi.calibrate(campaign)
    return time.process_time() - start, found


@dataclass(frozen=True)
class Score:
    """Seconds, errors of unseen readings [mm], and lines of user code."""

    seconds: float
    errors: Array
    lines: int

    @property
    def rms(self) -> float:
        """Root mean square [mm]."""
        return float(np.sqrt(np.mean(self.errors**2)))


def ours(folder: Path, robot: Path, fitted: Path, judged: Path, tip: str, columns: str) -> tuple[Score, str]:
    """Score of a calibration, and its corrections; columns: text of the columns file."""
    (folder / "columns.toml").write_text(columns, "utf-8")
    options = CalibrationOptions(None, tip)
    spent, found = timed(Campaign(robot, fitted, judged, columns=folder / "columns.toml", calibration=options))
    problem: Any = found.problem
    misses = problem.predicted(found.estimate, problem.unseen[0], found.evidence.unseen[0]).left
    errors = 1e3 * sizes_of(problem.unseen[0].measurements.postures.measures, misses)
    return Score(spent, errors, count_lines(columns) + 1), ", ".join(problem.levels) or "no correction"


def count_lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def count_settings(settings: Any) -> int:
    """Lines of settings as YAML, with lists of numbers and names on one line."""
    if isinstance(settings, dict):
        return sum(1 + count_settings(value) for value in settings.values())
    return sum(count_settings(value) for value in settings) if isinstance(settings, list) else 0


def beside_figaroh(data: Path, robots: Path, python: str) -> Iterator[tuple[str, Score, str, Score | str]]:
    """Set, score of ours, its corrections, and the score of FIGAROH or why there is none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for own, (robot, tip, points) in SETS.items():
            header, fitted, judged = parted(folder, data / f"{own}.csv", lambda k, row: k % 3 == 2)
            score, levels = ours(folder, robots / robot, fitted, judged, tip, SI if points else SI + POSE)
            joints = [n for n in header if n.endswith("_joint")]
            (folder / "peer.yaml").write_text(peer_settings(own, tip, joints, points, fitted, judged), "utf-8")
            yield own, score, levels, peer(python, robots / robot, folder)


def sockets(data: Path, robots: Path) -> Iterator[tuple[str, str, Score, str]]:
    """Set, place left out, score there, and corrections: arms with a ball in sockets, each place left out in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in sorted(data.glob("panda_*.csv")):
            with path.open(encoding="utf-8") as file:
                places = sorted({row["place"] for row in csv.DictReader(file)})
            for place in places:
                _, fitted, judged = parted(folder, path, lambda k, row, place=place: row["place"] == place)
                robot = robots / "panda_ball.urdf"
                yield path.stem, place, *ours(folder, robot, fitted, judged, "ball_link", SI + SOCKETS)


def parted(folder: Path, path: Path, is_judged: Callable[[int, dict[str, str]], bool]) -> tuple[list[str], Path, Path]:
    """Header of a table, and files of its rows to fit and to judge."""
    with path.open(encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    made = []
    for name, side in (("fitted", False), ("judged", True)):
        made.append(folder / f"{path.stem}_{name}.csv")
        chosen = [r for k, r in enumerate(rows) if is_judged(k, dict(zip(header, r, strict=True))) == side]
        with made[-1].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *chosen])
    return header, made[0], made[1]


def peer_settings(name: str, tip: str, joints: list[str], points: int, fitted: Path, judged: Path) -> str:
    """A configuration of FIGAROH (JSON is YAML): all six parameters of each joint, base and tool unknown."""
    dofs = [True] * 3 + [points == 0] * 3
    markers = [
        {"name": f"m{k}", "reference_joint": joints[-1], "sensor_type": "mocap", "measurable_dof": dofs}
        for k in range(max(points, 1))
    ]
    task = {
        "enabled": True,
        "parameters": {"calibration_level": "full_params", "include_non_geometric": False, "outlier_threshold": 0.05},
        "kinematics": {"base_frame": "universe", "tool_frame": tip},
        "measurements": {"markers": markers, "poses": {"base_pose": [0.0] * 6, "tool_pose": [0.0] * 6}},
        "data": {
            "source_file": str(fitted),
            "validation_data_file": str(judged),
            "number_of_samples": len(fitted.read_text("utf-8").splitlines()) - 1,
        },
    }
    robot = {"name": name, "properties": {"joints": {"active_joints": joints}}}
    return json.dumps({"robot": robot, "tasks": {"calibration": task}})


def peer(python: str, robot: Path, folder: Path) -> Score | str:
    """Score of FIGAROH, or a sentence where it fails."""
    command = [python, "-c", PEER, str(robot), str(folder / "peer.yaml")]
    settings = os.environ | {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=settings, cwd=folder)
    except subprocess.TimeoutExpired:
        return f"FIGAROH does not end within {LIMIT} s"
    if done.returncode:
        return f"FIGAROH fails: {done.stderr.strip().splitlines()[-1]}"
    seconds, errors = json.loads(done.stdout.splitlines()[-1])
    script = "\n".join(line for line in PEER.splitlines() if "json" not in line and "time" not in line)
    lines = count_lines(script) + count_settings(json.loads((folder / "peer.yaml").read_text("utf-8")))
    return Score(seconds, np.sqrt(np.sum(np.square(errors), axis=0)), lines)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for count in (600, 10_000):
            path = simulated(Path(folder), count)
            for levels in (("zeros", "geometry", "sag"), None):
                spent, _ = timed(Campaign("ur10e", path, columns=UNITS, calibration=CalibrationOptions(levels)))
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                print(f"{count} postures, {'stated' if levels else 'chosen'} levels: {spent:.1f} s, {memory:.0f} MiB")
    if len(sys.argv) == 4:
        for own, score, levels, theirs in beside_figaroh(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]):
            told = theirs if isinstance(theirs, str) else f"FIGAROH {_told(theirs)}"
            print(f"{own}: ours {_told(score)} ({levels}); {told}")


def _told(score: Score) -> str:
    return f"{score.rms:.2f} mm, {score.seconds:.1f} s, {score.lines} lines"


if __name__ == "__main__":
    main()
