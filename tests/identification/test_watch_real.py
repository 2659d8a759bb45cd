"""The on-line watch on logs of real robots: parts that were neither fitted nor learned from, and a real load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minertia.identification.campaigns.read import read_campaign
from minertia.identification.identify import identify
from minertia.identification.watch import learn_levels, watch_log
from tests.shared import SHARED, needs_shared

CAMPAIGNS = Path(__file__).parents[2] / "examples" / "logs"
pytestmark = needs_shared
QUIET = ("05-20sec_8harm", "06-20sec_5harm", "19_14harm50sec")


@pytest.mark.parametrize(
    "name", ["emps", *(pytest.param(name, marks=pytest.mark.slow) for name in ("airbot_play", "dvrk_psm"))]
)
def test_the_unseen_end_of_a_log_raises_no_alarm(name):
    """Fitted to the first 40 % of each log, learned from the next 30 %, watched on the rest."""
    campaign = read_campaign(CAMPAIGNS / f"{name}.toml", SHARED / "data" / name)
    logs = [campaign.recording(log, whole=True) for log in campaign.train]
    parts = [[_part(r, *ends) for ends in ((0.0, 0.4), (0.4, 0.7), (0.7, 1.0))] for r in logs]
    model = identify(replace(campaign, train=[first for first, _, _ in parts], validate=())).model()
    levels = learn_levels(model, [second for _, second, _ in parts])
    for _, _, last in parts:
        assert watch_log(model, last, levels).alarms == ()


def _part(recording, first, last):
    begin, length = recording.t[0], recording.t[-1] - recording.t[0]
    return recording.between(begin + first * length, begin + last * length)


@pytest.mark.slow
@pytest.mark.parametrize("normal", [("10-30sec_12harm", "12-40sec_12harm"), ("06-20sec_5harm",)])
def test_the_load_of_a_ur10e_is_named_and_nothing_else(normal):
    """2.805 kg at the flange from currents; their published gains are good to some tens of per cent."""
    data = SHARED / "data" / "ur10e_innopolis"
    model = identify(replace(read_campaign(CAMPAIGNS / "ur10e_innopolis.toml", data), validate=())).model()
    levels = learn_levels(model, [data / f"ur10e_20_02_{name}.csv.gz" for name in normal])
    for name in (*(f"02_{quiet}" for quiet in QUIET), *(f"01_22-joint_{j}" for j in (1, 2, 3))):
        assert watch_log(model, data / f"ur10e_20_{name}.csv.gz", levels).alarms == (), name
    seen = watch_log(model, data / "ur10e_20_02_19_14harm50secLoad.csv.gz", levels)
    (alarm,) = seen.alarms
    assert alarm.what == "load" and alarm.raised < 6.0  # the arm begins to move at 4 s
    assert alarm.mass == pytest.approx(2.805, abs=2 * alarm.deviation) and alarm.deviation < 0.5
    assert seen.load is not None and any("do not determine" in caution for caution in seen.load.cautions)
