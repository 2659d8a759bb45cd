"""Folders of SAGE as logs of commands and positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minertia import read_recording, read_robot
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.closed_loop.commanded import is_commanded
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import column_names, is_there, open_log
from minertia.io.errors import RecordingError

ROBOT = read_robot("planar2r")
ROWS = 40


def folder(path: Path, names: tuple[str, ...] = ROBOT.coordinate_names, clock: float = 1e6) -> Path:
    """A motion at 50 Hz, whose commands are sent 3 ms before states are read, the first state before any."""
    path.mkdir()
    control, state = ["type,timestamp,positions"], ["type,timestamp,positions,velocities,torques", "OTHER,0,x,y,z"]
    for k in range(ROWS):
        t = 0.02 * k * clock
        control.append(f'CONTROL,{t + 0.017 * clock},"[{0.1 * k}, {-0.1 * k}, 7.0]"')
        state.append(f'STATE_MOTOR,{t},"[{k}.5, -{k}.5, 1]","[0, 0, 0]","[3, 4, 5]"')
    (path / "control.csv").write_text("\n".join(control))
    (path / "state_motor.csv").write_text("\n".join(state) + "\n")
    if names:
        (path / "joint_list.txt").write_text("\n ".join((*names, "gripper")) + "\n")
    return path


@pytest.mark.parametrize("clock", [1e6, 1.0])
@pytest.mark.parametrize("names", [ROBOT.coordinate_names, ()])
def test_each_state_has_the_command_before_it(tmp_path: Path, names: tuple[str, ...], clock: float) -> None:
    log = folder(tmp_path / "multisine", names, clock)
    assert is_there(log) and not is_there(tmp_path)
    two = None if names else ColumnMap(q=("q1", "q2"), command=("q_cmd1", "q_cmd2"))  # of three that have numbers
    found = read_recording(log, ROBOT, two, effort=False)
    k = np.arange(1, ROWS)
    assert found.t == pytest.approx(0.02 * k) and found.tau is None
    assert found.q[:, 0] == pytest.approx(k + 0.5) and found.q[:, 1] == pytest.approx(-k - 0.5)
    assert found.channels["command"][:, 0] == pytest.approx(0.1 * (k - 1))


def test_a_campaign_takes_the_folder_as_a_log_of_commands(tmp_path: Path) -> None:
    log = folder(tmp_path / "multisine")
    assert is_commanded(Campaign(ROBOT, log))
    named = ColumnMap(effort=tuple(f"logged_torque_{name}" for name in ROBOT.coordinate_names), effort_unit="Nm")
    assert read_recording(log, ROBOT, named).tau[0] == pytest.approx([3.0, 4.0])  # type: ignore[index]
    assert "radians" in " ".join(open_log(log, ColumnMap()).assumed())


def test_columns_have_the_names_of_the_list(tmp_path: Path) -> None:
    names = column_names(folder(tmp_path / "a", ("Pitch", "Elbow")))
    assert {"t", "position_Pitch", "command_Elbow", "logged_velocity_gripper"} <= set(names)


def test_what_is_wrong_is_told_with_its_file_and_row(tmp_path: Path) -> None:
    log = folder(tmp_path / "a")
    text = (log / "state_motor.csv").read_text()
    (log / "state_motor.csv").write_text(text.replace("[5.5, -5.5, 1]", "[5.5, __import__('os'), 1]"))
    with pytest.raises(RecordingError, match=r"state_motor.csv.*row 7.*not a list of numbers"):
        read_recording(log, ROBOT, effort=False)
    (log / "state_motor.csv").write_text(text.replace("[5.5, -5.5, 1]", "[5.5, -5.5]"))
    with pytest.raises(RecordingError, match="differ in length from row to row"):
        read_recording(log, ROBOT, effort=False)
    (log / "state_motor.csv").write_text("type,timestamp\nSTATE_MOTOR,1\n")
    with pytest.raises(RecordingError, match="no rows of STATE_MOTOR with timestamp and positions"):
        read_recording(log, ROBOT, effort=False)
    (log / "state_motor.csv").write_text(text.replace(", 1]", "]"))
    with pytest.raises(RecordingError, match=r"has 2 positions per row, but control\.csv has 3"):
        read_recording(log, ROBOT, effort=False)
