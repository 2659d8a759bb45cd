"""BAM 1.0.2 on runs of one servo: `python bam_servo.py SETTINGS.json` with logs, and published values or a fit.

Runs are resampled to 200 Hz, as BAM's own processing does.  Prints the mean absolute error of each judged run [rad].
"""

import contextlib
import json
import sys
import time
from pathlib import Path

import numpy as np
from bam.feetech.actuator import STS3215Actuator
from bam.model import models
from bam.simulate import Simulator

asked = json.loads(Path(sys.argv[1]).read_text())
runs = np.load(asked["runs"])  # goal, position, enabled (sample, run); inertia, moment, kp (run)
DT = asked["dt"]


class Load:
    """Pendulum whose inertia and gravity moment are known, instead of a point mass on a rod."""

    def __init__(self, log):
        self.inertia, self.moment = log["inertia"], log["moment"]

    def compute_mass(self, q, dq):
        return self.inertia

    def compute_bias(self, q, dq):
        return -self.moment * np.sin(q)


class Servo12V(STS3215Actuator):
    """The 12 V version.  measured: gain by the error, as its authors measured it; else the constant one."""

    def __init__(self, measured):
        super().__init__(Load)
        self.vin, self.constant, self.measured = 12.1, asked["error_gain"], measured
        self.max_pwm = 0.99981 if measured else asked["duty_limit"]

    def compute_control(self, q_target, q, dq, dt):
        step = self.model.max_velocity.value * dt
        error = np.abs(np.clip(q_target, self.q_target_smooth - step, self.q_target_smooth + step) - q)
        # their table of 100 errors is a constant voltage and a gain; outside of it the gain is that of its ends
        table = np.clip(0.16289 + 0.00029089 / np.maximum(error, 1e-9), 0.164787755, 0.257703684)
        self.error_gain = table if self.measured else self.constant
        return super().compute_control(q_target, q, dq, dt)


def batch(chosen):
    """Log of several runs, as `bam.logs` makes it."""
    entries = [
        {"goal_position": g, "position": p, "torque_enable": e, "speed": np.zeros(len(chosen))}
        for g, p, e in zip(*(runs[key][:, chosen] for key in ("goal", "position", "enabled")), strict=True)
    ]
    return {"dt": DT, "entries": entries} | {key: runs[key][chosen] for key in ("inertia", "moment", "kp")}


def positions(model, log):
    """Simulated positions (sample, run), the loop closed."""
    return np.array(Simulator(model).rollout_log(log, simulate_control=True)[0])


def loaded(name, values, measured=False):
    """Model of BAM with the given values."""
    model = models[name]()
    model.set_actuator(Servo12V(measured))
    model.load_parameters_from_dict(values)
    return model


def fitted(name, chosen, trials):
    """Fit to some runs by the sampler of `bam.fit` with its bounds, from a fixed seed."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    log, measured = batch(chosen), runs["position"][:, chosen]

    def score(trial):
        model = loaded(name, {})
        for key, one in model.get_parameters().items():
            one.value = trial.suggest_float(key, one.min, one.max)
        return float(np.mean(np.abs(positions(model, log) - measured)))

    sampler = optuna.samplers.CmaEsSampler(restart_strategy="bipop", seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(score, n_trials=trials)
    return loaded(name, study.best_params)


found = {}
with contextlib.redirect_stdout(sys.stderr):
    for task in asked["tasks"]:
        start, values, judged = time.process_time(), task.get("values"), task["judged"]
        if values:
            model = loaded(task["model"], values, task["measured"])
        else:
            model = fitted(task["model"], task["fitted"], task["trials"])
        seconds = time.process_time() - start
        errors = np.mean(np.abs(positions(model, batch(judged)) - runs["position"][:, judged]), axis=0)
        found[task["name"]] = {"errors": errors.tolist(), "seconds": seconds}
        print(task["name"], 1e3 * np.mean(errors), file=sys.stderr, flush=True)
print(json.dumps(found))
