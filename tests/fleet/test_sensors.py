"""A fleet of arms with a wrist sensor: its tool and friction are found, and its bias is that of each day."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import minertia as mi
from minertia.fleet.fleet import Fleet
from minertia.fleet.options import FitOptions
from tests.arm import ARM
from tests.identification.planted_sensor import FC, FV, Planted, planted, write_log

FLEET = """format = 1
[types.arm]
robot = "arm.urdf"
filter = { cutoff_hz = 5.0 }
[[types.arm.sensor]]
at = "lower"
name = "s"
[[robots]]
id = "A?"
"""
MASS, DRIFT = 2.5, 3.0  # kg, N a day


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Planted]:
    """Two robots of one type on two days; the bias along x grows from day to day."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "arm.urdf").write_text(ARM.format(name="arm"))
    (folder / "FLEET.toml").write_text(FLEET)
    plant = planted(mi.read_robot(folder / "arm.urdf"), "lower", MASS)
    for number in range(4):
        robot, day = f"A{number % 2}", number // 2
        own = replace(plant, chi={**plant.chi, "BFX3": plant.chi["BFX3"] + DRIFT * day})
        place = folder / "logs" / f"robot={robot}" / f"day=2026-03-0{day + 2}"
        place.mkdir(parents=True)
        write_log(place / "run.csv", own, seconds=12, seed=number)
    return folder, plant


def test_tool_friction_and_biases_come_back(logged: tuple[Path, Planted], tmp_path: Path) -> None:
    folder, plant = logged
    fleet = Fleet.open(tmp_path / "store", folder / "FLEET.toml")
    added = fleet.add(folder / "logs", workers=0)
    assert added.count("new") == 4 and not added.faults, added.faults
    again = Fleet.open(tmp_path / "store")  # records are read without the fleet file
    fit = again.fit(options=FitOptions(symbols=("FV", "FC")))
    found = dict(zip(fit.type.names, fit.type.values, strict=True))
    for name in ("M3", "MX3", "MY3", "MZ3"):
        assert found[name] == pytest.approx(plant.chi[name], rel=0.01, abs=0.003), name
    assert "BFX3" not in found
    own = fit.robots["A0"]
    values = dict(zip(own.names, own.values, strict=True))
    assert values["FV1"] == pytest.approx(FV, rel=0.05) and values["FC1"] == pytest.approx(FC, rel=0.05)
    model = again.model(fit, "A0")
    model.save(tmp_path / "A0.toml")
    (left,) = mi.validate(tmp_path / "A0.toml", folder / "logs/robot=A1/day=2026-03-03/run.csv")
    assert left.relative < 0.03 and left.to_dict()["per_joint"][2]["rmse"] < 0.1


def test_a_log_without_the_wrench_is_named(logged: tuple[Path, Planted], tmp_path: Path) -> None:
    folder, plant = logged
    place = tmp_path / "logs/robot=A0/day=2026-03-09"
    place.mkdir(parents=True)
    log = write_log(place / "run.csv", plant, seconds=4, seed=9)
    log.write_text(log.read_text().replace("fx", "gx"))
    found = Fleet.open(tmp_path / "store", folder / "FLEET.toml").add(tmp_path / "logs", workers=0)
    assert "no columns fx" in found.faults[0].reason
