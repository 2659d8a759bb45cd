"""Logs that no robot explains: every estimator ends with a result that is not good, or with a sentence that helps."""

from __future__ import annotations

import numpy as np
import pytest

import minertia as mi
from minertia.identification.estimators import ESTIMATORS
from minertia.identification.physical.fit import NOT_FOUND
from tests.codegen.kernel_helpers import with_inertias
from tests.identification.motions import fourier_motion

EFFECTS = ("rotor", "viscous", "coulomb", "offset")


def hostile(robot: mi.Robot, kind: str, seed: int = 3) -> mi.Recording:
    """A log whose efforts are not those of its positions."""
    rng, m = np.random.default_rng(seed), fourier_motion(robot, 900, seed)
    q, tau = np.array(m.q), np.array(m.tau)
    n, largest = tau.shape[1], np.abs(tau).max(axis=0)
    made = {
        "noise": lambda: rng.normal(size=tau.shape),
        "exchanged": lambda: np.roll(tau, 1, axis=1),
        "turned round": lambda: -tau,
        "all but nothing": lambda: 1e-9 * rng.normal(size=tau.shape),
        "all but constant": lambda: 5 + 1e-9 * rng.normal(size=tau.shape),
        "far too large": lambda: 1e6 * tau * rng.choice([-1, 1], n),
        "far too small": lambda: 1e-6 * tau * rng.choice([-1, 1], n),
        "mixed": lambda: tau @ rng.normal(size=(n, n)),
        "cut off": lambda: np.clip(tau, -0.05 * largest, 0.05 * largest),
    }
    return mi.Recording(np.asarray(m.t), q, made[kind]())


KINDS = (
    *("noise", "exchanged", "turned round", "all but nothing", "all but constant"),
    *("far too large", "far too small", "mixed", "cut off"),
)
HELP = "gives no instruments; use a better excitation"  # what instrumental variables ask for


@pytest.mark.parametrize(
    ("name", "estimator", "kinds"),
    [
        *(("planar2r", estimator, KINDS[:1]) for estimator in ESTIMATORS),
        *(
            pytest.param(name, estimator, KINDS, marks=pytest.mark.slow)
            for name in ("planar2r", "puma560", "scara", "stanford", "gantry", "tx40")
            for estimator in ESTIMATORS
        ),
    ],
)
def test_every_estimator_ends_with_a_result(name: str, estimator: str, kinds: tuple[str, ...]) -> None:
    robot = with_inertias(name)
    for kind in kinds:
        campaign = mi.Campaign(robot, hostile(robot, kind), estimator=estimator, effects=EFFECTS)
        try:
            result = mi.identify(campaign)
        except mi.MinertiaError as err:
            assert estimator == "iv" and HELP in str(err), (kind, str(err))
            continue
        assert np.isfinite(result.beta).all() and result.to_dict()["parameters"], kind
        assert kind == "cut off" or not result.verdict.is_good, kind
        assert result.model().robot.n == robot.n, kind


@pytest.mark.parametrize(
    ("name", "fix"), [("planar2r", {"ZZR1": -1.0}), pytest.param("puma560", {"ZZR1": -3.0}, marks=pytest.mark.slow)]
)
def test_values_that_no_robot_has_come_with_a_result_and_a_sentence(run, tmp_path, name, fix) -> None:
    """Base parameters that are fixed where no robot can have them: plain least squares, said to be that."""
    robot = with_inertias(name)
    log = fourier_motion(robot, 900, 3)
    recording = mi.Recording(np.asarray(log.t), np.asarray(log.q), np.asarray(log.tau))
    how = {"estimator": "physical", "fix": fix, "effects": ("viscous",)}
    result = mi.identify(mi.Campaign(robot, recording, **how))
    plain = mi.identify(mi.Campaign(robot, recording, **(how | {"estimator": "wls"})))
    np.testing.assert_allclose(result.beta, plain.beta, rtol=1e-6, atol=1e-9)
    assert result.estimate.verdict["status"] == NOT_FOUND and not result.verdict.is_good
    assert any("no physically consistent parameters" in reason for reason in result.verdict.reasons)
    assert not result.model().is_physical
    mi.write_robot(robot, tmp_path / "arm.urdf")
    names = ["t", *(f"{word}{j + 1}" for word in ("q", "tau") for j in range(robot.n))]
    rows = np.column_stack([recording.t, recording.q, recording.tau])
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",", header=",".join(names), comments="")
    ((parameter, value),) = fix.items()
    given = ("--physical", "--fix", f"{parameter}={value}", "--effects", "viscous")
    code, out, err = run("identify", tmp_path / "arm.urdf", tmp_path / "run.csv", *given, "--out", tmp_path / "result")
    assert code == 0 and "there are no physically consistent parameters, with ZZR1" in out and "NOT good" in out, err
    assert "arm.urdf: not written: the parameters are not physically consistent" in err and "try --physical" not in err
    assert mi.read_model(tmp_path / "result" / "model.toml").evidence["physical"]["status"] == NOT_FOUND


def test_efforts_that_ask_for_no_mass_are_fitted_by_next_to_none() -> None:
    """The solution is the tip of every cone."""
    robot = with_inertias("planar2r")
    campaign = mi.Campaign(robot, hostile(robot, "turned round"), estimator="physical", effects=())
    result = mi.identify(campaign)
    model = result.model()
    assert model.is_physical and not result.verdict.is_good
    assert all(ten is not None and 0 < ten[9] < 1e-2 for ten in model.robot.links[1:])
