"""Checks of a log that are off are named, with what is missing."""

from __future__ import annotations

import numpy as np

from minertia.identification.audits.findings import checks_off
from minertia.identification.logs.recording import Recording
from minertia.robot.files import read_robot
from tests.arm import ARM


def test_what_is_missing_is_named_and_nothing_else(tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM.format(name="arm"))
    robot = read_robot(tmp_path / "arm.urdf")
    t, some = np.arange(20) / 100, np.zeros((20, 2))
    bare = checks_off(Recording(t, some), robot)
    assert [sentence.split()[0] for sentence in bare] == ["velocities", "efforts", "commands", "temperatures"]
    channels = {"command": some, "temperature": some}
    assert checks_off(Recording(t, some, tau=some, qd=some, channels=channels), robot) == ()
    (tmp_path / "free.urdf").write_text(ARM.format(name="arm").replace('type="revolute"', 'type="continuous"'))
    endless = checks_off(Recording(t, some, tau=some, qd=some, channels=channels), read_robot(tmp_path / "free.urdf"))
    assert len(endless) == 1 and "position limits" in endless[0]
