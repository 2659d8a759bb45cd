"""Logs of a floating base: base rows, all rows with measured forces, and rows without effect of contact forces."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.cli import main
from minertia.identification.campaigns.floating import (
    contact_findings,
    contact_flags,
    filled,
    kept_samples,
    projections,
    read_signals,
    settled_floating,
    sticking,
)
from minertia.identification.efforts.inertial import Inertial, inertial_fault
from minertia.identification.model_file import read_model
from minertia.identification.problem.solve import stated_variances
from minertia.io.errors import MinertiaError
from minertia.options import ColumnMap, FloatingOptions
from minertia.studio.job_work import JobWork
from minertia.studio.project import CAMPAIGN, Project
from minertia.studio.work import VIEW, run
from tests.identification.floating_setups import ACCEL, GYRO, QUATERNION, SETUPS, read_table, write_table
from tests.identification.planted_legs import PlantedLegs, contacts, quadruped, urdf

RADIANS = ColumnMap(angle="rad")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[PlantedLegs, dict[str, Path]]:
    folder, rng = tmp_path_factory.mktemp("legs"), np.random.default_rng(0)
    legs = PlantedLegs.drawn(rng)
    logs = {
        "lift": legs.log(folder / "lift.csv", rng, lifts=True),
        "sway": legs.log(folder / "sway.csv", rng, lifts=False),
    }
    return legs, logs | {"later": legs.log(folder / "later.csv", rng, lifts=True, seconds=6)}


def campaign(logs: dict[str, Path], rows: str, fitted: str = "lift", judged: str | None = "later") -> mi.Campaign:
    return mi.Campaign(
        quadruped(),
        logs[fitted],
        () if judged is None else logs[judged],
        columns=RADIANS,
        floating=FloatingOptions(rows),
        contacts=contacts(forces=rows != "projected"),
        effects=() if rows == "base" else ("viscous", "coulomb"),
        estimator="wls",
    )


def inside(legs: PlantedLegs, result: mi.Identification) -> list[bool]:
    """Which intervals hold the planted values."""
    linear = result.problem.linear
    true = dict(zip(linear.names, linear.values(legs.values), strict=True))
    return [p.interval[0] <= true[p.name] <= p.interval[1] for p in result.parameters]


def mass_of(result: mi.Identification) -> float:
    standard = result.model(physical=False).standard
    return sum(value for name, value in standard.items() if name[0] == "M" and name[1:].isdigit())


@pytest.mark.parametrize("rows, count, left", [
    pytest.param("base", 94, 0.013, marks=pytest.mark.slow),
    pytest.param("all", 118, 0.013, marks=pytest.mark.slow),
    pytest.param("projected", 118, 0.02, marks=pytest.mark.slow),
])  # fmt: skip
def test_planted_legs_come_back(planted, tmp_path: Path, rows: str, count: int, left: float) -> None:
    legs, logs = planted
    result = mi.identify(campaign(logs, rows))
    assert result.problem.excitation.rank == count and result.verdict.grade != "not good", result.verdict.reasons
    (unseen,) = result.to_dict()["validation"]
    assert unseen["relative"] < left and np.mean(inside(legs, result)) > 0.85
    true = sum(value for name, value in legs.values.items() if name[0] == "M" and name[1:].isdigit())
    assert mass_of(result) == pytest.approx(true, rel=0.01)
    result.model(physical=False).save(tmp_path / "model.toml")
    (again,) = mi.validate(tmp_path / "model.toml", logs["later"])
    assert again.relative == pytest.approx(unseen["relative"], rel=1e-6)


def test_feet_that_never_lift_are_no_identification(planted) -> None:
    """Swaying on all feet fits to a per cent without force sensors, and says nothing of other motion."""
    _, logs = planted
    result = mi.identify(campaign(logs, "projected", "sway", None))
    assert result.training.relative < 0.02 and result.verdict.grade == "not good"
    assert "lift and wave each foot" in result.verdict.reasons[0]


def test_a_campaign_file_of_a_floating_base(planted, tmp_path: Path, capsys) -> None:
    _, logs = planted
    (tmp_path / "legs.urdf").write_text(urdf())
    text = 'format = 1\nrobot = "legs.urdf"\nbase = "floating"\n[columns]\nangle = "rad"\n[model]\neffects = []\n'
    text += f'[logs]\ntrain = ["{logs["lift"]}"]\nvalidate = ["{logs["later"]}"]\n[estimator]\nname = "wls"\n'
    text += '[floating]\nrows = "base"\n'
    for contact in contacts(forces=True):
        text += (
            f'[[contact]]\nname = "{contact.name}"\nframe = "{contact.frame}"\nat = {[float(x) for x in contact.at]}\n'
        )
        text += f'force = "{contact.force}"\n'
    (tmp_path / "c.toml").write_text(text)
    assert main(["identify", "--campaign", str(tmp_path / "c.toml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["validation"][0]["relative"] < 0.013
    assert main(["check", str(logs["lift"]), "--robot", str(tmp_path / "legs.urdf")]) in (0, 1)
    (tmp_path / "p.toml").write_text(text.replace('"base"', '"projected"').replace("force =", "active = 'always' #"))
    assert main(["check", str(logs["sway"]), "--campaign", str(tmp_path / "p.toml")]) == 1
    hidden = "FL never lifts, which hides one value (a mass at the contact point)"
    assert hidden in " ".join(capsys.readouterr().out.split())


def test_the_studio_checks_logs_of_a_floating_base(planted, tmp_path: Path) -> None:
    _, logs = planted
    (tmp_path / "legs.urdf").write_text(urdf())
    robot = mi.read_robot(tmp_path / "legs.urdf", base="floating")
    always = tuple(replace(contact, active="always") for contact in contacts(forces=False))
    replace(campaign(logs, "projected", "sway", None), robot=robot, contacts=always).save(tmp_path / CAMPAIGN)
    _, grade, _ = run("check", JobWork(Project(tmp_path), tmp_path / "runs/1", {}, lambda *_: None))
    (log,) = json.loads((tmp_path / "runs/1" / VIEW).read_text())["logs"]
    found = [finding["text"] for finding in log["findings"]]
    assert grade == "good" and any(text.startswith("FL never lifts") for text in found)


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["base", "projected"])
def test_results_of_a_floating_base_go_on(planted, tmp_path: Path, rows: str, capsys) -> None:
    """Robot files of a model leave about as much of the log as the model, and code is generated."""
    _, logs = planted
    (tmp_path / "legs.urdf").write_text(urdf())
    asked = replace(campaign(logs, rows), robot=mi.read_robot(tmp_path / "legs.urdf", base="floating"))
    asked.save(tmp_path / "c.toml")
    assert main(["identify", "--campaign", str(tmp_path / "c.toml"), "--out", str(tmp_path / "found")]) == 0
    exports = read_model(tmp_path / "found/model.toml").exports
    assert exports["urdf"]["read_by"] == "Pinocchio"
    for export in exports.values():
        (left,) = export["left"]
        assert left["file"]["relative"] < 2 * left["model"]["relative"]
    assert main(["generate", str(tmp_path / "found/model.toml"), "--out", str(tmp_path / "code")]) == 0
    for export in ("c", "fmu"):
        args = ["convert", str(tmp_path / "found/model.toml"), str(tmp_path / export), "--export", export]
        assert main(args) == 0 and "efforts there are those that were written" in capsys.readouterr().err


@pytest.mark.parametrize("wrong, said", [
    ("gyro", "there is no column 'spin_x' for the gyroscope"),
    ("force", "contact 'FL' has none"),
    ("frame", "toe"),
    ("attitude", "there is no column 'pose_x' for the attitude of the base"),
    ("none", "add a [[contact]] for each foot"),
    ("fixed", 'set base = "floating"'),
])  # fmt: skip
def test_errors_are_one_sentence(planted, wrong: str, said: str) -> None:
    _, logs = planted
    asked, feet = campaign(logs, "projected", judged=None), contacts(forces=False)
    change = {
        "gyro": {"floating": FloatingOptions("projected", gyro="spin_{k}")},
        "force": {"floating": FloatingOptions("all")},
        "frame": {"contacts": (replace(feet[0], frame="toe"), *feet[1:])},
        "attitude": {
            "floating": FloatingOptions("projected", attitude="pose_{k}"),
            "contacts": (replace(feet[0], active=""), *feet[1:]),
        },
        "none": {"contacts": ()},
        "fixed": {"robot": quadruped().on_ground},
    }[wrong]
    with pytest.raises(MinertiaError) as error:
        mi.identify(replace(asked, **change))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_contacts_are_found_without_flags(planted) -> None:
    _, logs = planted
    asked = settled_floating(campaign(logs, "projected", judged=None))
    unflagged = replace(asked, contacts=tuple(replace(one, active="") for one in asked.contacts))
    logged = contact_flags(asked, read_signals(asked, asked.train[0]))
    signals = read_signals(unflagged, asked.train[0])
    found = contact_flags(unflagged, signals)
    assert not (logged & ~found).any() and np.mean(found & ~logged) < 0.08  # one too many costs samples only
    told = contact_findings(unflagged, signals)[0]
    assert told.channel == "FL" and "lifted 2 times" in told.text


def test_projections_remove_unknown_efforts_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    unknown, sizes = rng.normal(size=(4, 3, 8)), rng.uniform(0.1, 2, 8)
    unknown[1, 2] = 0.0  # a foot in the air
    P = projections(unknown, sizes)
    np.testing.assert_allclose(P @ unknown.transpose(0, 2, 1), 0, atol=1e-12)
    np.testing.assert_allclose(P @ P, P, atol=1e-12)
    assert np.linalg.matrix_rank(P, tol=1e-9).tolist() == [5, 6, 5, 5]


def test_samples_near_a_change_of_contacts_are_left_out() -> None:
    flags = np.zeros((400, 1), bool)
    flags[200:] = True
    kept = kept_samples(flags, 200.0, 20.0, None)
    assert kept.min() >= 15 and not ((kept > 190) & (kept < 210)).any() and ((kept > 150) & (kept < 250)).any()
    qd = np.where(np.arange(400) < 300, 1.0, -1.0)[:, None]
    qd[300] = 0.0
    assert np.flatnonzero(sticking(qd, 200.0, 20.0)[:, 0]).tolist() == list(range(290, 311))
    qd[300] = -1.0  # a fast joint reverses between two samples
    assert np.flatnonzero(sticking(qd, 200.0, 20.0)[:, 0]).tolist() == list(range(290, 311))


def test_noise_of_an_effort_with_few_equations_is_the_stated_one() -> None:
    """Stated levels wrong by a common factor of 2, and the last effort always projected out."""
    stated, left = np.array([1.0, 4.0, 9.0]), np.array([1000.0, 500.0, 0.0])
    found = stated_variances(4 * stated * left, left, stated)
    assert found == pytest.approx(4 * stated, rel=0.01)


def test_columns_of_slower_sensors_are_interpolated() -> None:
    t = np.arange(200) / 200
    slower = np.where(np.arange(200) % 4, np.nan, np.sin(t))[:, None]
    found = filled(slower, ["gyro_x"], t, "log.csv")
    np.testing.assert_allclose(found[:197, 0], np.sin(t)[:197], atol=1e-4)
    slower[50:70] = np.nan
    with pytest.raises(MinertiaError, match=r"column 'gyro_x': it has no values for 0.12 s"):
        filled(slower, ["gyro_x"], t, "log.csv")


IMU_SETUPS = ["quaternion w first", "attitude inverse", "gravity reversed", "no gravity", "accelerometer in g"]


@pytest.mark.parametrize("setup", [*IMU_SETUPS, "gyro in deg/s", "unit's axes exchanged", "right, base rows"])
def test_kinematics_name_a_wrong_inertial_unit(planted, setup: str) -> None:
    change, _, said = SETUPS[setup]
    table = read_table(planted[1]["later"])
    change(table)
    gyro, accel, attitude = (np.column_stack([table[name] for name in own]) for own in (GYRO, ACCEL, QUATERNION))
    fault = inertial_fault(Inertial(gyro, accel, attitude, 200.0, 9.81), ("gyro_{k}", "accel_{k}", "base_q{k}"))
    assert said in (fault or "") and (fault is None) == (not said), fault


def test_a_verdict_names_contacts_that_are_logged_wrongly(planted, tmp_path: Path) -> None:
    change, rows, said = SETUPS["feet exchanged"]
    table = read_table(planted[1]["later"])
    change(table)
    result = mi.identify(campaign({"lift": write_table(tmp_path / "log.csv", table)}, rows, judged=None))
    assert result.verdict.grade == "not good" and said in result.verdict.reasons[0]


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["base", "projected"])
@pytest.mark.parametrize("setup", ["feet slip", "mass of the base wrong in the file", "load in another log"])
def test_further_setups_are_judged(planted, tmp_path: Path, rows: str, setup: str) -> None:
    """Slipping feet and a wrong file are right set-ups; a load that is forgotten in one log is not."""
    legs, logs = planted
    rng, asked = np.random.default_rng(1), campaign(logs, rows)
    if setup == "feet slip":
        log = legs.log(tmp_path / "slip.csv", rng, lifts=True, slips=0.02)
        asked = campaign(logs | {"slip": log}, rows, "slip")
    elif setup == "load in another log":
        loaded = PlantedLegs(dict(legs.values) | {"M0": legs.values["M0"] + 2.0, "MZ0": legs.values["MZ0"] + 0.2})
        log = loaded.log(tmp_path / "loaded.csv", rng, lifts=True, seconds=6)
        asked = campaign(logs | {"loaded": log}, rows, judged="loaded")
    else:
        twice = tuple(2 * value for value in asked.robot.base_link)
        asked = replace(asked, robot=replace(asked.robot, base_link=twice))
    result = mi.identify(asked)
    true = sum(value for name, value in legs.values.items() if name[0] == "M" and name[1:].isdigit())
    assert mass_of(result) == pytest.approx(true, rel=0.01)
    assert (result.verdict.grade == "not good") == (setup == "load in another log"), result.verdict.reasons
    if setup == "load in another log":
        assert "something changed between these logs (a payload" in result.verdict.reasons[0]


@pytest.mark.slow
@pytest.mark.parametrize("rows", ["base", "all", "projected"])
def test_intervals_hold(rows: str, tmp_path: Path) -> None:
    """95 % intervals of all values hold 92 to 98 % over planted robots."""
    held: list[bool] = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        legs = PlantedLegs.drawn(rng)
        log = legs.log(tmp_path / f"{seed}.csv", rng, lifts=True, seconds=16)
        held += inside(legs, mi.identify(campaign({"lift": log}, rows, judged=None)))
    assert 0.92 <= np.mean(held) <= 0.98
