"""Planted errors come back in a rehearsal, with intervals that hold."""

import json

import pytest

from minertia.calibration.rehearse import rehearse_calibration
from minertia.cli.root import run
from minertia.io.errors import UnknownName


@pytest.mark.slow
def test_intervals_of_a_rehearsal_hold():
    found = rehearse_calibration("puma560", 40, levels=("zeros", "geometry"), draws=12)
    assert 0.89 <= found.coverage <= 0.99  # 216 values: 3 deviations of their own scatter
    assert found.left < 3e-4 < 5e-3 < found.nominal
    assert set(found.deviations) == {"zeros", "lengths", "angles"} and max(found.deviations.values()) < 2e-4


def test_the_command_rehearses(capsys):
    assert run(["calibrate", "scara", "--rehearse", "20", "--effects", "zeros", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["postures"] == 20 and found["left"] < found["nominal"]
    with pytest.raises(UnknownName, match="kind of measurement for a rehearsal"):
        rehearse_calibration("scara", 20, "pixel")
