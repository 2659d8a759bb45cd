"""Torn rows of a log: named without being asked, dropped and counted where they are to be."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from minertia.identification.audits.audit import audit
from minertia.identification.campaigns import recorded
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import prepare_campaign
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import iter_blocks, read_recording
from minertia.io.errors import RecordingError
from tests.arm import recorded_arm
from tests.identification.logs import chain, motion, table, write_csv

ROBOT = chain("RR")
TEARS = {
    5: lambda cells: ",".join(cells[:3]),  # cut short
    9: lambda cells: ",".join(cells[:2]) + "," + ",".join(cells),  # two lines that ran into one
    12: lambda cells: ",".join([*cells[:-1], "0.1\x00\x00"]),
    40: lambda cells: ",".join(["t", "q1", "q2", "tau1", "tau2"]),
    41: lambda cells: ",".join(["0.2.1", *cells[1:]]),
    77: lambda cells: "#####",
    300: lambda cells: ",".join([cells[0], "", *cells[2:]]),
    301: lambda cells: ",".join([cells[0], "inf", *cells[2:]]),
    1999: lambda cells: cells[0] + ",0.",
}


@pytest.fixture
def torn(tmp_path):
    """A log of 2000 rows, nine of them torn."""
    path = write_csv(tmp_path / "run.csv", table(motion(2), q="q", tau="tau"))
    tear(path, TEARS)
    return path


def tear(path, tears):
    lines = path.read_text().splitlines()
    for row, spoil in tears.items():
        lines[row] = spoil(lines[row].split(","))
    path.write_text("\n".join(lines) + "\n")


def test_without_being_asked_every_torn_row_is_named(torn):
    with pytest.raises(RecordingError) as caught:
        read_recording(torn, ROBOT)
    assert caught.value.row == 5 and "3 of 5 values" in str(caught.value)
    assert "7 rows are malformed (5, 9, 12, 40, 41, 77, 1999)" in str(caught.value)  # the others can be read
    assert "--drop-torn" in str(caught.value) and "drop_torn = true in [columns]" in str(caught.value)


def test_without_pyarrow_the_sentence_is_the_same(torn, monkeypatch):
    with pytest.raises(RecordingError) as first:
        read_recording(torn, ROBOT)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else find(name))
    with pytest.raises(RecordingError) as second:
        read_recording(torn, ROBOT)
    assert str(first.value) == str(second.value)


@pytest.mark.parametrize("rows", [100, 200_000])
@pytest.mark.parametrize("delay", [0.0, 0.02])
def test_dropped_and_counted(torn, rows, delay):
    from minertia.identification.logs.options import Drive
    from minertia.identification.logs.recording import joined

    whole = motion(2)
    columns = ColumnMap(drive=Drive(delay=delay))
    recording = joined(iter_blocks(torn, ROBOT, columns, rows=rows, drop_torn=True))
    assert recording.torn == tuple(TEARS)
    if not delay:
        kept = np.setdiff1d(np.arange(2000), np.array(list(TEARS)) - 1)
        np.testing.assert_allclose(recording.q, whole["q"][kept], atol=1e-12)
        np.testing.assert_allclose(recording.t, whole["t"][kept], atol=1e-12)
    (finding,) = [f for f in audit(recording, ROBOT) if f.check == "torn rows"]
    assert "9 rows are malformed" in finding.text and "dropped" in finding.text and finding.row == 5


def test_the_clock_of_a_log_without_time_goes_on(torn):
    columns = ColumnMap(rate_hz=200.0, q="q{j}", effort="tau{j}", drop_torn=True)
    recording = read_recording(torn, ROBOT, columns)
    assert len(recording) == 2000 - len(recording.torn)
    np.testing.assert_allclose(recording.t, motion(2)["t"][np.setdiff1d(range(2000), np.array(recording.torn) - 1)])


def test_bytes_that_are_no_text(torn):
    lines = torn.read_bytes().splitlines()
    lines[100] = b"\xff\xfe\x80" * 9
    torn.write_bytes(b"\n".join(lines))
    assert read_recording(torn, ROBOT, drop_torn=True).torn == tuple(sorted((*TEARS, 100)))


def test_blanks_between_values(tmp_path):
    path = write_csv(tmp_path / "run.txt", table(motion(2), q="q", tau="tau"), " ")
    tear(path, {7: lambda cells: cells[0] + " 1", 8: lambda cells: " ".join([*cells, *cells])})
    assert read_recording(path, ROBOT, drop_torn=True).torn == (7, 8)
    with pytest.raises(RecordingError, match=r"2 rows are malformed \(7, 8\)"):
        read_recording(path, ROBOT)


def test_another_format_is_not_taken_for_damage(tmp_path):
    path = write_csv(tmp_path / "run.csv", table(motion(2), q="q", tau="tau"))
    tear(path, {row: lambda cells: ",".join(cells[:-1]) for row in range(1, 1001)})
    with pytest.raises(RecordingError, match="1000 of 2000 rows are malformed, too many for accidental damage"):
        read_recording(path, ROBOT, drop_torn=True)
    with pytest.raises(RecordingError) as caught:
        read_recording(path, ROBOT)
    assert "--drop-torn" not in str(caught.value)


def test_formats_of_numbers(tmp_path):
    columns = table(motion(2), q="q", tau="tau")
    columns["q1"][33] = np.nan
    np.savez(tmp_path / "run.npz", **columns)
    assert read_recording(tmp_path / "run.npz", ROBOT, drop_torn=True).torn == (34,)


def test_long_logs_count_all_of_them(torn, monkeypatch):
    monkeypatch.setattr(recorded, "LONG_BYTES", 1)
    monkeypatch.setattr(recorded, "BLOCK", 400)
    ready = prepare_campaign(Campaign(ROBOT, [torn], columns=ColumnMap(drop_torn=True)))
    (finding,) = [f for f in ready.train[0].findings if f.check == "torn rows"]
    assert "9 rows are malformed" in finding.text
    assert len(list(ready.train[0])) > 1


@pytest.mark.parametrize("way", ["option", *(pytest.param(way, marks=pytest.mark.slow) for way in ("map", "campaign"))])
def test_commands(run, tmp_path, way):
    folder = recorded_arm(tmp_path)
    robot, log = folder / "arm.urdf", folder / "a.csv"
    tear(log, {row: spoil for row, spoil in TEARS.items() if row != 40})
    assert run("identify", robot, log)[0] == 2
    more = ["--drop-torn"] if way == "option" else []
    if way == "map":
        (folder / "a.toml").write_text("[columns]\ndrop_torn = true\n")
    command = ["identify", robot, log, "--out", folder / "out"]
    if way == "campaign":
        text = 'format = 1\nrobot = "arm.urdf"\n[logs]\ntrain = "a.csv"\n[columns]\ndrop_torn = true\n'
        (folder / "c.toml").write_text(text)
        command = ["identify", "--campaign", folder / "c.toml", "--out", folder / "out"]
    code, _, err = run(*command, *more)
    assert code == 0 and "8 rows are malformed" in err
    assert "8 rows are malformed" in (folder / "out" / "report.html").read_text()
    if way == "option":
        assert "8 rows are malformed" in run("check", log, *more)[1]
        for args in (
            ("significance", robot, log),
            ("validate", folder / "out" / "model.toml", log),
            ("payload", log, folder / "loaded.csv", "--robot", robot),
        ):
            assert run(*args, *more)[0] == 0
