"""Dynamics of arms: minertia, FIGAROH, plain and physical least squares; every entry is scored by `minertia score`."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import minertia as mi
from benchmarks.league.environments import ROOT, Unavailable, data, python_of, run, user_lines
from benchmarks.league.rows import OURS, Row
from minertia.identification import score_model

RIVALS = Path(__file__).parent / "rivals"
EFFECTS = ("rotor", "viscous", "coulomb", "offset")
FIT_PART = 2 / 3  # of a single log; the rest is judged
DRAWS = 1  # logs of the planted arm
NOISE = 0.02  # of each effort's size, planted
PLAIN, PHYSICAL = "plain least squares", "physical least squares, cvxpy"


@dataclass(frozen=True)
class Arm:
    """One log on the joint side, and what each rival is told about it."""

    name: str
    urdf: Path
    log: Path
    problem: Any
    rate: float
    cutoff: float
    decimation: int
    trim: int
    fit_to: float
    coupled: bool = False
    truth: Any = None
    lines: int = 2  # of minertia's user: the campaign and a call of identify

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a rival."""
        own = {key: getattr(self, key) for key in ("rate", "cutoff", "decimation", "trim", "fit_to", "coupled")}
        return {**own, "urdf": str(self.urdf), "log": str(self.log)}


def rows() -> Iterator[Row | Unavailable]:
    """All arms."""
    with tempfile.TemporaryDirectory() as name:
        for k in range(DRAWS):
            yield from _entries(planted(Path(name), k), Path(name))
        try:
            arm = tx40(Path(name))
        except Unavailable as err:
            yield err
            return
        yield from _entries(arm, Path(name))


def planted(folder: Path, seed: int) -> Arm:
    """A PUMA 560 whose file is wrong by a tenth or so, two motions in one log, friction and rotors planted."""
    robot = mi.read_robot("puma560_physical")
    urdf, rng = folder / "puma.urdf", np.random.default_rng(seed)
    mi.write_robot(robot, urdf, force=True)
    robot = mi.read_robot(urdf)
    values = dict(zip(robot.columns(), robot.parameter_vector(), strict=True))
    heavier = {name: v * (1 + 0.3 * (int(name[-1]) > 2)) for name, v in values.items()}
    more = {f"{s}{j}": v for j in range(1, 7) for s, v in (("IA", 0.3 / j), ("FV", 2.0 / j), ("FC", 3.0 / j))}
    truth = robot.with_parameters(heavier | more)
    t = np.arange(0, 30, 0.005)
    q, qd, qdd = (sum(parts) for parts in zip(*_waves(t, rng), strict=True))
    tau = mi.inverse_dynamics(truth, q, qd, qdd)
    noisy = tau + NOISE * tau.std(axis=0) * rng.normal(size=tau.shape)
    log = folder / f"planted{seed}.npz"
    np.savez(log, t=t, q=q + 1e-5 * rng.normal(size=q.shape), tau=noisy)
    fit_to = float(t[-1]) * FIT_PART
    campaign = _campaign(urdf, log, fit_to)
    return Arm(f"planted PUMA 560, log {seed + 1}", urdf, log, mi.build_problem(campaign), 200.0, 20.0, 10, 50, fit_to,
               truth=truth)  # fmt: skip


def _waves(t: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, ...]]:
    for _ in range(6):
        w, a, phase = rng.uniform(0.5, 6.0, 6), rng.uniform(0.05, 0.35, 6), rng.uniform(0, 6, 6)
        x = t[:, None] * w + phase
        yield a * np.sin(x), a * w * np.cos(x), -a * w**2 * np.sin(x)


def _campaign(urdf: Path, log: Path, fit_to: float, **more: Any) -> mi.Campaign:
    logs = [mi.Log(log, stop=fit_to)], [mi.Log(log, start=fit_to)]
    return mi.Campaign(urdf, *logs, effects=EFFECTS, name=log.stem, **more)


def tx40(folder: Path) -> Arm:
    """The log of a Staubli TX40, first 3.2 s fitted and the rest judged, with the example's campaign."""
    file = ROOT / "examples" / "logs" / "tx40_gautier.toml"
    campaign = mi.read_campaign(file, data("data") / "tx40_gautier")
    log = campaign.train[0]
    recording = campaign.as_logged(log, effort=True)
    fit_to = float(recording.t[0] + FIT_PART * (recording.t[-1] - recording.t[0]))
    path = folder / "tx40.npz"
    np.savez(path, t=recording.t, q=recording.q, tau=recording.tau)
    asked = replace(campaign, train=[replace(log, stop=fit_to)], validate=[replace(log, start=fit_to)])
    urdf = data("robots") / "tx40_mdh_modified.urdf"
    problem, lines = mi.build_problem(asked), user_lines(file) + 1  # its campaign file and a command
    return Arm("Staubli TX40", urdf, path, problem, 5000.0, 100.0, 10, 20, fit_to, coupled=True, lines=lines)


def _entries(arm: Arm, folder: Path) -> Iterator[Row | Unavailable]:
    yield ours(arm)
    for entry in rivals(arm, folder):
        if isinstance(entry, Unavailable):
            yield entry
            continue
        who, script, found, scored = entry
        figures = {**_scored(scored), "seconds": found["seconds"], "lines of user code": user_lines(RIVALS / script)}
        yield Row(arm.name, who, arm.log.stem, {**figures, **_against_truth(arm, found)}, _note(who, arm))


def rivals(
    arm: Arm, folder: Path, without: Sequence[str] = ()
) -> Iterator[tuple[str, str, dict[str, Any], Any] | Unavailable]:
    """Each rival: its name, its script, what it prints, and its score; without: those that are left out."""
    figaroh: dict[str, Any] = {"wls": True, "config": str(_config(arm, folder))}
    example = [("FIGAROH 1.0.2, as its example", "figaroh", "figaroh_fit.py", figaroh | {"coupled": False})]
    for who, environment, script, more in (
        *(example if arm.coupled else ()),
        ("FIGAROH 1.0.2", "figaroh", "figaroh_fit.py", figaroh),
        (PLAIN, "cvxpy", "least_squares.py", {"method": "plain"}),
        (PHYSICAL, "cvxpy", "least_squares.py", {"method": "physical", "heaviest": 40.0}),
    ):
        if who in without:
            continue
        out = folder / f"{arm.log.stem}.csv"
        out.unlink(missing_ok=True)
        settings = folder / "settings.json"
        predict = max(1, round(arm.rate / 500))
        settings.write_text(json.dumps({**arm.settings, **more, "out": str(out), "predict": predict}), encoding="utf-8")
        try:
            found = run(python_of(environment), [str(RIVALS / script), str(settings)])
        except Unavailable as err:
            yield err
            continue
        yield who, script, found, score_model(out, arm.problem)


def ours(arm: Arm) -> Row:
    """Our own entry: `identify` on the same campaign, its model scored as the others'."""
    start = time.process_time()
    found = mi.identify(arm.problem.campaign)
    seconds = time.process_time() - start
    scored = score_model(found.model(physical=False), arm.problem)
    figures = {**_scored(scored), "seconds": seconds, "lines of user code": arm.lines}
    if arm.truth is not None:
        truth = arm.problem.linear.values(dict(_standard(arm.truth)))
        own = [found.estimate.names.index(p.name) for p in found.parameters]
        values, deviations = (np.array([getattr(p, key) for p in found.parameters]) for key in ("value", "deviation"))
        figures |= _errors(arm, np.array(found.estimate.beta), truth)
        figures["held by 95 % intervals [%]"] = 100 * float(np.mean(np.abs(values - truth[own]) < 1.96 * deviations))
    return Row(arm.name, OURS, arm.log.stem, figures, f"{found.verdict.word}; effects given, all else by default")


def _standard(robot: Any) -> Iterator[tuple[str, float]]:
    names, values = robot.columns(rotors=True, friction=True), robot.parameter_vector(rotors=True, friction=True)
    yield from zip(names, values, strict=True)


def _scored(found: Any) -> dict[str, Any]:
    (log,) = found.validation
    return {"unseen residual [%]": 100 * log.relative, "grade": found.verdict.word}


def _errors(arm: Arm, beta: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Error of the base parameters, each in units of what it contributes to the efforts of the judged motion."""
    rows = arm.problem.unseen_observation()
    weight = np.linalg.norm(rows.totals[:, :, :-1].reshape(-1, rows.count), axis=0)
    return {
        "parameter error [%]": 100 * float(np.linalg.norm(weight * (beta - truth)) / np.linalg.norm(weight * truth))
    }


def _against_truth(arm: Arm, found: dict[str, Any]) -> dict[str, Any]:
    """Parameter error of a rival that gives standard parameters, and coverage of its textbook intervals."""
    if arm.truth is None or "theta" not in found:
        return {}
    B, theta = _base_of(arm), np.array(found["theta"])
    beta, truth = B @ theta, arm.problem.linear.values(dict(_standard(arm.truth)))
    figures: dict[str, Any] = _errors(arm, beta, truth)
    if found.get("gram"):
        P = np.linalg.pinv(B)  # standard parameters of base ones
        held = np.abs(beta - truth) < 1.96 * np.sqrt(np.diag(np.linalg.inv(P.T @ np.array(found["gram"]) @ P)))
        figures["held by 95 % intervals [%]"] = 100 * float(np.mean(held))
    return figures


def _base_of(arm: Arm) -> np.ndarray:
    """Base parameters (base, 14 n) of standard ones in Pinocchio's joint frames and order, then IA FV FC OFF by joint.

    Found by the regressors of both at random states; what the efforts do not show is the same in either.
    """
    import pinocchio as pin

    linear = arm.problem.linear
    model, n = pin.buildModelFromUrdf(str(arm.urdf)), linear.robot.n
    d, robot = model.createData(), linear.robot
    states = np.random.default_rng(0).uniform(-2, 2, (3, 60, n))
    theirs = np.concatenate([pin.computeJointTorqueRegressor(model, d, *s) for s in zip(*states, strict=True)])
    ours_ = mi.dynamics.torque_regressor(robot, *states).reshape(len(theirs), -1)
    links = np.linalg.lstsq(ours_, theirs, rcond=1e-10)[0]
    more = [f"{s}{j + 1}" for j in range(n) for s in ("IA", "FV", "FC", "OFF")]
    K = np.array([linear.values({name: 1.0}) for name in (*robot.columns(), *more)]).T
    return np.hstack([K[:, : 10 * n] @ links, K[:, 10 * n :]])


def _note(who: str, arm: Arm) -> str:
    if "example" in who:
        return "settings of its TX40 example; 1.0.2 does not call the example's columns of the coupled motor"
    if who.startswith("FIGAROH"):
        coupled = ", with the columns of the coupled motor" if arm.coupled else ""
        return f"weighted, Butterworth of order 4, decimation as in its TX40 example{coupled}"
    return "filter, decimation, weights and friction columns as FIGAROH's"


def _config(arm: Arm, folder: Path) -> Path:
    """A configuration of FIGAROH (JSON is YAML)."""
    joints = list(arm.problem.linear.robot.coordinate_names)
    parts = ("friction", "joint_offset", "actuator_inertia", "static_regressor", "inertia_regressor")
    zeros = [0.0] * len(joints)
    mechanics = {
        "reduction_ratios": [1.0] * len(joints),
        "ratio_essential": 30.0,
        "friction_coefficients": {"viscous": zeros, "static": zeros},
        "actuator_inertias": zeros,
        "joint_offsets": zeros,
    }
    task = {
        "enabled": True,
        "problem": {
            "include_external_forces": False,
            "use_joint_torques": True,
            "wls": True,
            "model_components": dict.fromkeys(parts, True),
        },
        "signal_processing": {
            "sampling_frequency": arm.rate,
            "cutoff_frequency": arm.cutoff,
            "filter_type": "butterworth",
            "filter_order": 4,
        },
    }
    robot = {
        "name": "arm",
        "properties": {
            "joints": {"active_joints": joints},
            "mechanics": mechanics,
            "coupling": {"has_coupled_wrist": arm.coupled},
        },
    }
    path = folder / "figaroh.yaml"
    path.write_text(json.dumps({"robot": robot, "tasks": {"identification": task}}), encoding="utf-8")
    return path
