"""Geometric calibration: seconds of one core and memory, and FIGAROH beside it on its own sets.

`python -m benchmarks.calibration` simulates 600 and 10,000 postures.  `... DATA ROBOTS PYTHON` also fits two thirds of
talos.csv, tiago.csv and ur10.csv of the folder DATA (FIGAROH's examples) with both, and judges the rest; PYTHON is that
of an environment with figaroh 1.0.2, which has dependencies of its own.
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
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import minertia as mi
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import CalibrationOptions, MeasureColumns
from minertia.identification.geometry.chain import chain_of, exponential, moved
from minertia.identification.logs.options import ColumnMap

UNITS = ColumnMap(angle="rad", length="m")
POINTS = ((0.1, 0.0, 0.05), (0.0, 0.1, 0.1), (-0.1, -0.05, 0.08))
SIZES = np.array([4e-4] * 3 + [1e-3, 1e-3, 4e-3])  # m, rad: of planted corrections
NOISE = 3e-5  # m
POSE = MeasureColumns("pose", at=("x1", "y1", "z1"), rotation=("phix1", "phiy1", "phiz1"), rotation_as="rpy")
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
"""  # 8 lines of user code beside its configuration


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


def beside_figaroh(
    data: Path, robots: Path, python: str
) -> Iterator[tuple[str, tuple[float, float], str, tuple[float, float] | str]]:
    """Set, (seconds, unseen error [mm]) of ours, its corrections, and the same of FIGAROH or why there is nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for own, (robot, tip, points) in SETS.items():
            header, fitted, judged = halves(folder, data / f"{own}.csv")
            options = CalibrationOptions(None, tip)
            ours, found = timed(
                Campaign(robots / robot, fitted, judged, columns=UNITS, measures=() if points else (POSE,),
                         calibration=options)
            )  # fmt: skip
            left = 1e3 * found.evidence.unseen[0].rms  # type: ignore[attr-defined]
            joints = [n for n in header if n.endswith("_joint")]
            (folder / "peer.yaml").write_text(peer_settings(own, tip, joints, points, fitted, judged), "utf-8")
            levels = ", ".join(found.problem.levels) or "no correction"
            yield own, (ours, left), levels, peer(python, robots / robot, folder)


def halves(folder: Path, path: Path) -> tuple[list[str], Path, Path]:
    """Two thirds of the rows to fit, and the others, as files."""
    with path.open(encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    made = []
    for name, is_judged in (("fitted", False), ("judged", True)):
        made.append(folder / f"{path.stem}_{name}.csv")
        with made[-1].open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *(r for k, r in enumerate(rows) if (k % 3 == 2) == is_judged)])
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


def peer(python: str, robot: Path, folder: Path) -> tuple[float, float] | str:
    """Seconds and unseen error [mm] of FIGAROH, or a sentence where it fails."""
    command = [python, "-c", PEER, str(robot), str(folder / "peer.yaml")]
    settings = os.environ | {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=settings, cwd=folder)
    except subprocess.TimeoutExpired:
        return f"FIGAROH does not end within {LIMIT} s"
    if done.returncode:
        return f"FIGAROH fails: {done.stderr.strip().splitlines()[-1]}"
    seconds, errors = json.loads(done.stdout.splitlines()[-1])
    return seconds, float(np.sqrt(np.sum(np.square(errors), axis=0).mean()))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for count in (600, 10_000):
            path = simulated(Path(folder), count)
            for levels in (("zeros", "geometry", "sag"), None):
                spent, _ = timed(Campaign("ur10e", path, columns=UNITS, calibration=CalibrationOptions(levels)))
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                print(f"{count} postures, {'stated' if levels else 'chosen'} levels: {spent:.1f} s, {memory:.0f} MiB")
    if len(sys.argv) == 4:
        for own, ours, levels, theirs in beside_figaroh(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]):
            told = theirs if isinstance(theirs, str) else f"FIGAROH {theirs[1]:.2f} mm, {theirs[0]:.1f} s"
            print(f"{own}: ours {ours[1]:.2f} mm, {ours[0]:.1f} s ({levels}); {told}")


if __name__ == "__main__":
    main()
