"""FIGAROH 1.0.2 on a log, as its TX40 example uses it: `python figaroh_fit.py SETTINGS.json`.

Positions are filtered and differentiated over the whole log; the fit uses the rows before `fit_to`; efforts are
predicted at every sample.  The settings name the log (t, q, tau on the joint side), the URDF and FIGAROH's own options.
"""

import contextlib
import json
import sys
import time
from pathlib import Path

import numpy as np
from figaroh.identification.base_identification import BaseIdentification
from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced
from figaroh.tools.robot import load_robot

asked = json.loads(Path(sys.argv[1]).read_text())
log = np.load(asked["log"])


class LoggedArm(BaseIdentification):
    def load_trajectory_data(self, data_source=None):
        fit = log["t"] <= asked["fit_to"] if data_source is None else np.ones(len(log["t"]), bool)
        self.raw_data = {"timestamps": log["t"][fit][:, None], "positions": log["q"][fit], "velocities": None,
                         "accelerations": None, "torques": log["tau"][fit]}  # fmt: skip
        return self.raw_data

    def process_kinematics_data(self, filter_config=None):
        self.filter_kinematics_data(self.filter_config)

    def process_torque_data(self, **kwargs):
        ends = slice(asked["trim"], -asked["trim"])
        torques = self.raw_data["torques"][ends]
        for key in ("timestamps", "positions", "velocities", "accelerations"):
            self.processed_data[key] = self.processed_data[key][ends]
        return torques

    def _compute_validation_metrics(self):
        """Rebuilds the regressor without added columns, and fails on them: done below instead."""
        return None

    def with_coupled_motor(self, W, v, a):
        """Rotor, viscous and dry friction of motor 6, which turns with joints 5 and 6."""
        n, more = len(v), np.zeros((len(W), 3))
        for row, other in ((4, 5), (5, 4)):
            turning = np.sign(v[:, 4] + v[:, 5])
            more[row * n : (row + 1) * n] = np.column_stack([a[:, other], v[:, other], turning])
        return np.hstack([W, more])


with contextlib.redirect_stdout(sys.stderr):
    start = time.process_time()
    robot = load_robot(asked["urdf"], load_by_urdf=True)
    arm = LoggedArm(robot, asked["config"])
    joints = [robot.model.joints[robot.model.getJointId(name)] for name in robot.model.names[1:]]
    arm.identif_config |= {"active_joints": list(robot.model.names[1:]), "act_J": joints}
    arm.identif_config |= {"act_idxq": [j.idx_q for j in joints], "act_idxv": [j.idx_v for j in joints]}
    arm.filter_config = {
        "differentiation_method": "gradient",
        "filter_params": {"nbutter": 4, "f_butter": asked["cutoff"], "f_sample": asked["rate"]},
    }
    arm.initialize()
    done = arm.processed_data
    if asked["coupled"]:
        arm.dynamic_regressor = arm.with_coupled_motor(arm.dynamic_regressor, done["velocities"], done["accelerations"])
        arm.standard_parameter |= {"Iam6": 0.0, "fvm6": 0.0, "fsm6": 0.0}
    arm.solve(decimate=True, decimation_factor=asked["decimation"], plotting=False, wls=asked["wls"])
    seconds = time.process_time() - start
    fitted = len(arm.phi_base)
    training = arm.rms_error
    said = f"correlation {arm.correlation:.4f}, verification (execution): {arm.verify(scope='execution').status}"
    arm.load_trajectory_data("whole")
    arm.process_kinematics_data()
    arm.process_torque_data()
    state = [arm.processed_data[k] for k in ("positions", "velocities", "accelerations")]
    W = build_regressor_basic(robot, *state, arm.identif_config)
    if asked["coupled"]:
        W = arm.with_coupled_motor(W, *state[1:])
    tau = build_regressor_reduced(W, arm._idx_eliminated)[:, arm._base_indices] @ arm.phi_base
    tau = tau.reshape(-1, len(state[0])).T
    head = ",".join(["t", *(f"tau{k + 1}" for k in range(tau.shape[1]))])
    table = np.column_stack([arm.processed_data["timestamps"].ravel(), tau])
    np.savetxt(asked["out"], table, delimiter=",", header=head, comments="", fmt="%.9g")
print(json.dumps({"seconds": seconds, "count": fitted, "training_rmse": float(training), "said": said}))
