"""Robots on a floor, simulated in MuJoCo with known parameters: a humanoid and a mobile arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.options import ColumnMap, FloatingOptions
from tests.identification.floating_setups import SETUPS, read_table, write_table
from tests.identification.planted_standing import PlantedStanding

pytest.importorskip("mujoco")
LEFT = {"base": 0.013, "all": 0.012, "projected": 0.045}  # of an unseen motion


def campaign(planted: PlantedStanding, folder: Path, rows: str, train: Path, *unseen: Path) -> mi.Campaign:
    return mi.Campaign(
        planted.robot(folder),
        train,
        unseen,
        columns=ColumnMap(angle="rad"),
        floating=FloatingOptions(rows),
        contacts=planted.contacts(forces=rows != "projected"),
        effects=() if rows == "base" else ("rotor", "viscous", "coulomb"),
        estimator="wls",
    )


def inside(planted: PlantedStanding, folder: Path, result: mi.Identification) -> list[bool]:
    """Which intervals hold the planted values."""
    linear = result.problem.linear
    true = dict(zip(linear.names, linear.values(planted.values(folder)), strict=True))
    return [p.interval[0] <= true[p.name] <= p.interval[1] for p in result.parameters]


@pytest.mark.slow
def test_a_mobile_arm_comes_back_without_joint_efforts(tmp_path: Path) -> None:
    planted = PlantedStanding.drawn("mobile_arm", 0)
    log = planted.log(tmp_path / "fit.csv", 0, seconds=14)
    result = mi.identify(campaign(planted, tmp_path, "base", log))
    assert result.problem.excitation.rank == 10 + 7 * 9 + 4 * 4
    assert result.training.relative < 0.01 and np.mean(inside(planted, tmp_path, result)) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("rows", LEFT)
@pytest.mark.parametrize("kind, robots", [("mobile_arm", 6), ("humanoid", 4)])
def test_planted_robots_come_back(kind: str, robots: int, rows: str, tmp_path: Path) -> None:
    """Residual of an unseen motion, and 95 % intervals of all values, over robots drawn."""
    left, held = [], list[bool]()
    for seed in range(1, robots + 1):
        planted = PlantedStanding.drawn(kind, seed)
        log = planted.log(tmp_path / "fit.csv", seed, seconds=24)
        later = planted.log(tmp_path / "later.csv", seed + 1000, seconds=12, pace=2.6)
        result = mi.identify(campaign(planted, tmp_path, rows, log, later))
        left.append(result.to_dict()["validation"][0]["relative"])
        held += inside(planted, tmp_path, result)
    assert max(left) < LEFT[rows] and 0.92 <= np.mean(held) <= 0.98, (left, np.mean(held))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mobile_arm", "humanoid"])
def test_wrong_and_right_setups_are_judged(kind: str, tmp_path: Path) -> None:
    """Verdicts on set-ups chosen on the quadruped of `planted_legs`: 15, of which one may be judged wrongly."""
    planted = PlantedStanding.drawn(kind, 21)
    whole = read_table(planted.log(tmp_path / "log.csv", 21, seconds=24))
    wrong = []
    for name, (change, rows, said) in SETUPS.items():
        table = dict(whole)
        change(table)
        verdict = mi.identify(campaign(planted, tmp_path, rows, write_table(tmp_path / "one.csv", table))).verdict
        told = said in " ".join(verdict.reasons)
        if (verdict.grade == "not good") != bool(said) or not told:
            wrong.append((name, verdict.reasons[0]))
    assert len(wrong) <= 1, wrong
