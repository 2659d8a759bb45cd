"""Plain least squares, and physical least squares with cvxpy: `python least_squares.py SETTINGS.json`.

Pinocchio's regressor with rotor, viscous and Coulomb friction and an offset for each joint; positions pass a zero-phase
Butterworth, both sides of the equation the same decimation (Gautier 1997), rows are weighted by the residual of each
joint.  "physical" constrains every pseudo-inertia to be positive semidefinite.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
from scipy.signal import butter, decimate, filtfilt

asked = json.loads(Path(sys.argv[1]).read_text())
log, start = np.load(asked["log"]), time.process_time()
t, rate, n = log["t"], asked["rate"], log["q"].shape[1]
low = butter(4, asked["cutoff"] / (rate / 2))
q = filtfilt(*low, log["q"], axis=0)
qd = np.gradient(q, t, axis=0)
qdd = np.gradient(qd, t, axis=0)
arm = pin.buildModelFromUrdf(asked["urdf"])
data = arm.createData()
arm.gravity.linear = np.array([0, 0, -9.81])


def regressor(rows):
    found = np.zeros((len(rows), n, 14 * n + 3 * asked["coupled"]))
    for row, k in enumerate(rows):
        found[row, :, : 10 * n] = pin.computeJointTorqueRegressor(arm, data, q[k], qd[k], qdd[k])
        for j in range(n):
            found[row, j, 10 * n + 4 * j : 10 * n + 4 * j + 4] = qdd[k, j], qd[k, j], np.sign(qd[k, j]), 1.0
        if asked["coupled"]:  # motor 6 turns with joints 5 and 6
            found[row, 4:6, -3:] = qdd[k, 4] + qdd[k, 5], qd[k, 4] + qd[k, 5], np.sign(qd[k, 4] + qd[k, 5])
    return found


def solved(W, y):
    return np.linalg.lstsq(W.reshape(-1, W.shape[2]), y.ravel(), rcond=1e-9)[0]


edge = asked["trim"]
fit = np.arange(edge, np.searchsorted(t, asked["fit_to"], side="right") - edge)
W = decimate(regressor(fit), asked["decimation"], axis=0)
y = decimate(log["tau"][fit], asked["decimation"], axis=0)
sigma = np.std(y - W @ solved(W, y), axis=0)
W, y = W / sigma[:, None], y / sigma
theta = solved(W, y)
if asked["method"] == "physical":
    import cvxpy as cp

    R = np.linalg.qr(np.hstack([W.reshape(-1, W.shape[2]), y.reshape(-1, 1)]), mode="r")
    x, limits = cp.Variable(W.shape[2]), []
    for j in range(n):
        m, mx, my, mz, xx, xy, yy, xz, yz, zz = (x[10 * j + k] for k in range(10))
        half = (xx + yy + zz) / 2
        pseudo = [[half - xx, -xy, -xz, mx], [-xy, half - yy, -yz, my], [-xz, -yz, half - zz, mz], [mx, my, mz, m]]
        limits += [cp.bmat(pseudo) >> 0, x[10 * n + 4 * j : 10 * n + 4 * j + 3] >= 0]
        limits.append(m <= asked["heaviest"])  # else links of no consequence are unbounded
    cp.Problem(cp.Minimize(cp.sum_squares(R[:, :-1] @ x - R[:, -1])), limits).solve(solver=cp.CLARABEL)
    theta = x.value
seconds = time.process_time() - start
whole = np.arange(0, len(t), asked["predict"])
table = np.column_stack([t[whole], regressor(whole) @ theta])
head = ",".join(["t", *(f"tau{k + 1}" for k in range(n))])
np.savetxt(asked["out"], table, delimiter=",", header=head, comments="", fmt="%.9g")
flat = W.reshape(-1, W.shape[2])  # weighted by deviations: its Gram matrix is the information for white residuals
gram = (flat.T @ flat).tolist() if asked["method"] == "plain" else None
said = f"correlation {np.corrcoef((y * sigma).ravel(), (W @ theta * sigma).ravel())[0, 1]:.4f}"
print(json.dumps({"seconds": seconds, "theta": theta.tolist(), "gram": gram, "said": said}))
