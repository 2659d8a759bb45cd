"""Makes puma560_physical.toml: the PUMA 560 that can exist and lies nearest to the published one.

Run: python tools/physical_puma560.py   (needs pin and clarabel)

The published links are moved as little as possible (squares of the ten parameters, each in the unit of its link)
under two conditions: every combination of parameters that the torques show keeps its published value, and every
pseudo-inertia is positive definite with a margin.  That is a small semidefinite program.  It has a solution, so the
two arms have the same torques; only what no torque can show differs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import clarabel
import numpy as np
import pinocchio as pin
from scipy import sparse

from minertia import base_parameters, read_robot
from minertia.robot.inertia import impossible, pseudo_inertia, to_com
from minertia.robot.parameters import LINK_SYMBOLS

LIBRARY = Path(__file__).resolve().parents[1] / "src" / "minertia" / "robot" / "library"
MARGIN = 0.05  # of the mean entry of the published pseudo-inertia's diagonal blocks
LENGTH = 0.1  # m: what a change of inertia or first moment is compared with
N_STATES = 200
NOISE = 1e-12  # what the solver leaves of a zero
TO_PIN = (9, 6, 7, 8, 0, 1, 3, 2, 4, 5)  # m, mc, Ixx Ixy Iyy Ixz Iyz Izz

# link 1 was never measured: a round guess near the mass of the other large link, which no torque shows
GUESS_1 = (0.35, 0.0, 0.0, 0.35, 0.0, 0.35, 0.0, 0.0, 0.0, 13.0)

HEADER = """\
# PUMA 560, physically consistent.
# Same geometry, drives and limits as puma560; its links are the nearest ones that can exist.  Every base parameter has
# the published value, so the torques are those of puma560; what no torque can show was changed as little as possible
# (least squares on the ten parameters of each link, each in units of the link's mass and 0.1 m) until every
# pseudo-inertia was positive definite with a margin of 5 % of its mean diagonal.  The mass of link 1 is a guess.
# Made by tools/physical_puma560.py; the published numbers and their sources are in puma560.
"""


def visible(robot) -> np.ndarray:
    """Orthonormal rows that span what torques show of the stacked ten parameters, shape (36, 60)."""
    model = pin.Model()
    for joint in robot.numeric.joints:
        placement = pin.SE3(np.array(joint.R, float), np.array(joint.p, float))
        model.addJoint(0 if joint.parent is None else joint.parent + 1, pin.JointModelRZ(), placement, joint.name)
    data, rng = model.createData(), np.random.default_rng(0)
    rows = [pin.computeJointTorqueRegressor(model, data, *rng.uniform(-3, 3, (3, model.nv))) for _ in range(N_STATES)]
    W = np.vstack(rows).reshape(-1, robot.n_joints, 10)
    ours = np.empty_like(W)
    ours[:, :, TO_PIN] = W
    _, s, Vt = np.linalg.svd(ours.reshape(len(W), -1), full_matrices=False)
    return Vt[s > 1e-9 * s[0]]


def nearest(start: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Parameters, shape (links, 10), nearest to `start` with the same K x and positive definite pseudo-inertias."""
    n = len(start)
    mass = start[:, 9]
    unit = np.stack([np.r_[np.full(6, m * LENGTH**2), np.full(3, m * LENGTH), m] for m in mass]).ravel()
    x0 = start.ravel()
    corner = np.array([(i, j) for j in range(4) for i in range(j + 1)])
    weight = np.where(corner[:, 0] == corner[:, 1], 1.0, np.sqrt(2.0))
    svec = np.stack([pseudo_inertia(e)[corner[:, 0], corner[:, 1]] * weight for e in np.eye(10)], axis=1)
    floors = []
    for ten in start:
        P = pseudo_inertia(ten)
        floor = MARGIN * np.diag([*[np.trace(P[:3, :3]) / 3] * 3, P[3, 3]])
        floors.append(floor[corner[:, 0], corner[:, 1]] * weight)
    A = sparse.vstack([sparse.csc_matrix(K), sparse.csc_matrix(-np.kron(np.eye(n), svec))]) @ sparse.diags(unit)
    b = np.concatenate([K @ x0, *(-floor for floor in floors)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = 1e-11
    cones = [clarabel.ZeroConeT(len(K)), *(clarabel.PSDTriangleConeT(4) for _ in range(n))]
    quadratic = sparse.csc_matrix(sparse.eye(10 * n))
    solution = clarabel.DefaultSolver(quadratic, -x0 / unit, A.tocsc(), b, cones, settings).solve()
    sys.stdout.write(f"solver: {solution.status}\n")
    x = np.array(solution.x) * unit
    return (x - K.T @ (K @ (x - x0))).reshape(n, 10)  # what torques show, to the last digit


def cleaned(robot, tens: np.ndarray) -> np.ndarray:
    """Six digits of what no torque shows; the rest follows from the published base parameters, without noise."""
    base = base_parameters(robot)
    names = list(base.columns)
    kept = [names.index(name) for name in base.kept]
    free = [k for k in range(len(names)) if k not in kept]
    x = np.array([float(f"{v:.6g}") if abs(v) > NOISE else 0.0 for v in tens.ravel()])
    published = np.array(robot.links, float).ravel()
    change = base.K[:, free] @ (x - published)[free]
    x[kept] = published[kept] - change  # K of the kept columns is 1
    return x.reshape(tens.shape)


def _digits(value: float) -> str:
    return "0.0" if abs(value) < NOISE else f"{value:.15g}"


def main() -> None:
    """Solve, write the file, and say what came out."""
    robot = read_robot("puma560")
    published = np.array(robot.links, float)
    start = published.copy()
    start[0] = GUESS_1
    K = visible(robot)
    start = (start.ravel() - K.T @ (K @ (start - published).ravel())).reshape(start.shape)
    tens = cleaned(robot, nearest(start, K))
    text = (LIBRARY / "puma560.toml").read_text()
    body = text[text.index("format = 1") :].replace('name = "PUMA 560"', 'name = "PUMA 560, physical"')
    tables = iter(tens)

    def table(_: re.Match[str]) -> str:
        ten = next(tables)
        return "[joint.link]\n" + "".join(f"{s} = {_digits(v)}\n" for s, v in zip(LINK_SYMBOLS, ten, strict=True))

    body = re.sub(r"\[joint\.link\]\nmass.*\ncom.*\ninertia.*\n", table, body)
    (LIBRARY / "puma560_physical.toml").write_text(HEADER + body)
    for ten in read_robot("puma560_physical").links:
        mass, com, inertia = to_com(ten)
        moments = np.linalg.eigvalsh(inertia).round(6)
        sys.stdout.write(
            f"{mass:8.4f} kg  centre {com.round(4)} m  moments {moments} kg m2  {impossible(ten) or 'ok'}\n"
        )
    change = K @ (np.array(read_robot("puma560_physical").links, float) - published).ravel()
    sys.stdout.write(f"{len(K)} visible combinations, largest change {np.abs(change).max():.2g}\n")


if __name__ == "__main__":
    main()
