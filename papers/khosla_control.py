"""Control of the CMU DD Arm II with modelled and estimated values, and its payload on line."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from minertia.excitation.fourier import Fourier
from minertia.excitation.trajectory import Trajectory
from minertia.robot.robot import Robot
from minertia.simulation.control_model import control_model
from minertia.simulation.online_payload import OnlinePayload, watch_payload
from minertia.simulation.plant import Imperfections, Plant, PlantLog
from minertia.simulation.tracking import Gains, TrackingError, computed_torque, pd_alone, pd_gravity
from papers import khosla_model, khosla_runs
from papers.khosla_arm import ESTIMATED, INITIAL, arm
from papers.khosla_experiments import six_joint_experiments
from papers.khosla_runs import PERIOD, Experiment
from papers.page import Page

LOAD, CENTRE, INERTIA = 1.0, (0.02, 0.0, 0.05), (2e-3, 0, 0, 2e-3, 0, 1e-3)  # kg, m, kg m2
FORGETTING = (0.95, 0.98, 0.995)
PICK, DROP, END = 1.5, 4.0, 6.0  # s


# ------------------------------------------------------------------ control


def work_motion(duration: float, seed: int = 5) -> Trajectory:
    """All six joints along a Fourier series."""
    family = Fourier(duration, 4)
    free = 0.25 * np.random.default_rng(seed).normal(size=(6, family.free))
    return family.from_free(np.array([0.0, 0.4, 0.3, 0.0, 0.6, 0.0]), free).sample(round(duration / PERIOD) + 1)


def estimated_arm(experiment: Experiment) -> Robot:
    """The arm with what an experiment found."""
    values = experiment.result.linear.standard_values(experiment.result.beta)
    return arm(INITIAL, 6).with_parameters(values)


def tracking_logs(duration: float = 6.0) -> dict[str, PlantLog]:
    """The same motion under several laws with the same gains."""
    motion, gains = work_motion(duration), Gains(20.0)
    modelled, found = control_model(arm(INITIAL, 6)), control_model(estimated_arm(six_joint_experiments()[0]))
    posture = motion.q[0]
    laws = {
        "computed torque, modelled values": computed_torque(modelled, gains),
        "computed torque, estimated values": computed_torque(found, gains),
        "PD + gravity, estimated values": pd_gravity(found, gains, posture),
        "PD alone, estimated inertias": pd_alone(found, gains, posture),
    }
    plant = Plant(arm(ESTIMATED, 6), period=PERIOD, substeps=2)
    return {name: plant.run(law, motion) for name, law in laws.items()}


def add_control(page: Page) -> None:
    """The section on computed torque."""
    page.heading("Computed torque with modelled and with estimated values")
    page.text(
        "The paper says that its estimates went into a computed-torque controller and gives no figures. Ours, in "
        "MuJoCo on the six-joint arm, one motion of all joints, the same gains throughout (20 rad/s, damping 1); the "
        "modelled values are the printed initial ones, the estimated values those found above. Largest error in "
        "degrees:"
    )
    logs = tracking_logs()
    rows = []
    for name, log in logs.items():
        error = TrackingError.of(name, log)
        rows.append((name, *(f"{np.degrees(e):.3g}" for e in error.largest)))
    page.table(("law", *(f"joint {j + 1}" for j in range(6))), rows)
    pair = list(logs.items())[:2]
    ratio = np.linalg.norm(pair[0][1].error) / np.linalg.norm(pair[1][1].error)
    page.text(f"Over the whole motion and all joints the estimated values leave an error {ratio:.0f} times smaller.")
    page.figure("tracking", "Norm of the joint errors along the motion, four laws.", lambda f: _draw_tracking(f, logs))


def _draw_tracking(figure: Any, logs: dict[str, PlantLog]) -> None:
    axes = figure.subplots()
    for name, log in logs.items():
        axes.semilogy(log.t, np.degrees(np.linalg.norm(log.error, axis=1)) + 1e-5, label=name, lw=1.1)
    axes.set(xlabel="time [s]", ylabel="error [degrees]", ylim=(1e-3, None))
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))


# ------------------------------------------------------------------ payload


@cache
def payload_run() -> OnlinePayload:
    """A load is picked up and put down again while the arm moves; the controller knows nothing of it."""
    true = arm(ESTIMATED, 6)
    motion = work_motion(END)
    size = khosla_runs.largest_torques(true, [motion])
    plant = Plant(true, period=PERIOD, imperfections=Imperfections(torque_noise=khosla_runs.TORQUE * size), seed=1)
    loaded = true.with_payload(LOAD, CENTRE, INERTIA)
    known = replace(true, links=estimated_arm(six_joint_experiments()[0]).links)
    return watch_payload(true, motion, [(PICK, loaded), (DROP, true)], plant, model=control_model(known))


def add_payload(page: Page) -> None:
    """The section on the load."""
    page.heading("On-line: the payload")
    seen = payload_run()
    page.text(
        "The strategy of the paper: the arm off-line, the load on-line. The arm of six joints, with the values found "
        f"above, picks up {LOAD:g} kg at {PICK:g} s and puts it down at {DROP:g} s; a recursive estimator with a "
        "memory of half a second watches (ten parameters, square-root form). No figures are published for this part."
    )
    rows = []
    for t in (PICK - 0.1, PICK + 0.5, PICK + 1.0, DROP - 0.1, DROP + 1.0, END - 0.1):
        values, deviations = seen.at(t)
        true = LOAD if PICK < t < DROP else 0.0
        rows.append((f"{t:.1f} s", f"{true:g}", f"{values[9]:.3f} ± {deviations[9]:.3f}", f"{values[8]:.4f}"))
    page.table(
        ("time", "true mass [kg]", "estimated mass [kg]", f"estimated MZ [kg m] (true {LOAD * CENTRE[2]:g})"), rows
    )
    ratios = [khosla_model.stated_over_found(forgetting) for forgetting in FORGETTING]
    page.text(
        "± is one deviation. With forgetting, weights lambda^k make the values and their squares the spread of what "
        "noise adds. So the covariance is P (sum of lambda^2k y y') P and not P, whose deviations are sqrt(1 + lambda) "
        "times too wide. Stated deviations over the spread of 300 runs in white noise: "
        + ", ".join(f"{ratio:.2f} at lambda {f:g}" for f, ratio in zip(FORGETTING, ratios, strict=True))
        + "."
    )
    page.figure(
        "payload", "Estimated mass with two deviations, and the true one (dashed).", lambda f: _draw_payload(f, seen)
    )


def _draw_payload(figure: Any, seen: OnlinePayload) -> None:
    axes = figure.subplots()
    axes.fill_between(seen.t, seen.mass - 2 * seen.mass_deviation, seen.mass + 2 * seen.mass_deviation, alpha=0.3, lw=0)
    axes.plot(seen.t, seen.mass, lw=1.1)
    axes.step([0, PICK, DROP, END], [0, LOAD, 0, 0], where="post", color="black", ls="--", lw=1)
    axes.set(xlabel="time [s]", ylabel="mass [kg]", ylim=(-0.5 * LOAD, 1.8 * LOAD))
