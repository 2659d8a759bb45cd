"""Servo gains whose scale the logs do not determine: what is assumed of them leaves the other gains alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia
from minertia import read_robot
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command
from minertia.identification.closed_loop import fit
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.judge import loose_names
from minertia.identification.closed_loop.logs import LoopLog, made_log
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording

ROBOT = read_robot("ur10e")  # the inertia and weight of its last link are nothing beside the rotor that turns it
ASKED = Campaign(ROBOT, command=Command(delay=0.004), effects=("rotor", "viscous", "coulomb"))
RATE = 100.0
ROTORS = np.array([3.0, 4.0, 1.5, 0.3, 0.2, 0.1])
EQUAL, DIFFERENT = np.full(6, 2000.0), np.array([2800.0, 3600.0, 2800.0, 900.0, 400.0, 300.0])


def log_of(gains: np.ndarray) -> Recording:
    """A log of servos with damping and friction in proportion to their gains."""
    command = Command(kp=tuple(gains), kd=tuple(0.04 * gains), delay=0.004)
    model = loop_model(replace(ASKED, command=command), 1 / RATE)
    values = {"IA": ROTORS, "FV": 0.02 * gains, "FC": 0.006 * gains}
    theta = np.array([values[name[:2]][int(name[2:]) - 1] for name in model.names])
    rng, t = np.random.default_rng(0), np.arange(400) / RATE
    f, phase = rng.uniform(0.1, 1.2, (6, 6)), rng.uniform(0, 2 * np.pi, (6, 6))
    u = 0.2 * np.sum(np.sin(2 * np.pi * f[:, None] * t[:, None] + phase[:, None]) / f[:, None] ** 0.7, axis=0)
    u *= np.minimum(t / 0.5, 1.0)[:, None] ** 2
    plain = LoopLog("plant", None, 1 / RATE, np.zeros_like(u), u, None, u[0], np.zeros(6), 0.0, 0)  # type: ignore[arg-type]
    found = simulated(model, theta, plain, 20, slopes=False)
    assert found is not None
    return Recording(t=t, q=found.q + 1e-3 * rng.normal(size=u.shape), channels={"command": u})


@pytest.mark.parametrize("gains", [EQUAL, DIFFERENT], ids=["equal", "different"])
def test_one_kp_is_assumed_only_where_the_log_does_not_contradict_it(gains: np.ndarray) -> None:
    result = minertia.identify(replace(ASKED, train=(log_of(gains),)))
    is_one = bool(np.ptp(gains) == 0)
    found = {p.name: p for p in result.parameters}
    said = " ".join(result.verdict.reasons)
    choices = {c["option"]: c for c in result.to_dict()["choices"]}
    assert "the scale of KP6 was not identifiable alone" in said
    assert choices["one kp for all servos"]["selected"] == is_one
    if is_one:
        assert "the servos were assumed to be equal" in said
        assert found["KP"].value == pytest.approx(2000.0, rel=0.01)
    else:
        assert "Schwarz's criterion allows" in choices["one kp for all servos"]["reason"]
        assert "kp of joint wrist_3_joint was assumed to be that of joint wrist_2_joint" in said
    alone = ["KP"] if is_one else [f"KP{j}" for j in range(1, 6)]
    for name in (*alone, *(f"IA{j}" for j in range(1, 6))):
        truth = ROTORS[int(name[2:]) - 1] if name.startswith("IA") else gains[int(name[2:] or 1) - 1]
        assert abs(found[name].value - truth) < 5 * found[name].deviation < 0.5 * truth, name
    assert result.training.rmse < 1.05e-3


def test_a_gain_far_from_its_best_value_is_loose(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small its standard deviation is there: inertia shows in the ratio to kp."""
    monkeypatch.setattr(fit, "ITERATIONS", 0)
    log = made_log(ASKED, "log", log_of(DIFFERENT))
    model = loop_model(ASKED, 1 / RATE)
    values = {"IA": ROTORS, "FC": 0.006 * DIFFERENT, "KP": DIFFERENT, "KD": 0.06 * DIFFERENT}
    far = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.002])
    theta = np.array([(far * values[name[:2]])[int(name[2]) - 1] for name in model.names])
    found = fit.reached(model, [log], theta, fit.coarse_steps([log]))
    assert loose_names(model, found.theta, found.deviation) == ["KP6"]


def test_of_values_known_in_ratio_only_the_gain_is_not_identifiable() -> None:
    """With the rotor, friction and gain of a far larger joint: beside them the last link is nothing."""
    log = made_log(ASKED, "log", log_of(DIFFERENT))
    model = loop_model(ASKED, 1 / RATE)
    far = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1e5])
    values = {"IA": ROTORS, "FC": 0.006 * DIFFERENT, "KP": DIFFERENT, "KD": 0.06 * DIFFERENT}
    theta = np.array([(far * values[name[:2]])[int(name[2]) - 1] for name in model.names])
    found = fit.output_error(model, [log], theta, steps=fit.coarse_steps([log]), iterate=False)
    assert list(found.hidden) == ["KP6"]
