"""Bad logs end in one sentence that names file, column and row."""

from __future__ import annotations

import contextlib
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minertia.identification.audits.audit import audit
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.logs.readers import read_recording
from minertia.identification.logs.repair import repaired
from minertia.identification.signals.filtering import prepared
from minertia.identification.signals.options import Filter
from minertia.io.errors import MinertiaError, RecordingError
from tests.fuzz.guard import assert_reads_or_says
from tests.identification.logs import chain, motion, table, write_csv

ROBOT = chain("RR")
HEAD = "t,q1,q2,tau1,tau2\n"


def reading(tmp_path: Path, text: str | bytes, name: str = "run.csv", columns: ColumnMap | None = None):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_recording(path, ROBOT, columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        (HEAD, "a header and no rows"),
        ("t,q1,q2\n0,1,2\n", "no columns of efforts are recognised for the 2 coordinates"),
        ("t,q1,q2,u\n0,1,2,3\n", "nor of commanded positions, such as q_cmd1 or command_<joint>; write"),
        ("t,q1,q2,tau1\n0,1,2,3\n", r"column 'tau2': there is no such column \(effort of joint 'j2'"),
        ("q1,q2,tau1,tau2\n1,2,3,4\n", "there is no time column"),
        (
            HEAD + "0,1,2,3,4\n1,2,3",
            r"column 'q2', row 2: the line has 3 of 5 values; check whether the log was truncated",
        ),
        (HEAD + "0,1,2,3,4\n1,2,3,4,5,6\n", r"row 2: the line has 6 values, but the header names 5"),
        (HEAD + "0,1,2,3,4\n1,2,oops,4,5\n", r"column 'q2', row 2: 'oops' is not a number"),
        (HEAD + "0,1,2,3,4\n" + HEAD + "1,2,3,4,5\n", r"row 2: 't' is not a number; this is a second header"),
        (HEAD + "0,1,2,3,4\n,1,2,3,4\n", r"column 't', row 2: the time is not a number; drop .* --drop-torn"),
        (
            "t,q1,q2,tau1,tau2,q1,q2,tau1,tau2\n" + ",".join("123456789") + "\n",
            "check whether the file contains two robots, and",
        ),
        ("0,1,2,3,4\n1,2,3,4,5\n", "the first line contains numbers, not names"),
        (
            b"# d\xe9j\xe0 vu\n" + HEAD.encode() + b"0,1,2,3,4\n",
            "not a text table in UTF-8; save it as CSV in UTF-8",
        ),
        ((HEAD + "0,1,2,3,4\n").encode("utf-16"), "not a text table in UTF-8; save it as CSV in UTF-8"),
        ("t;q1;q2;tau1;tau2\n0,5;1;2;3;4\n", r"decimal sign is a comma, write columns.decimal = ',' into '.*run.toml'"),
        (HEAD + "2026-01-01 00:00:00.5,1,2,3,4\n", "write times as numbers of seconds"),
        (HEAD.upper() + "0,1,2,3,4\n", r"write columns.q = \[\"c1\", \"c2\"\] into .*the log has: T, Q1"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)), "is not a text table"),
    ],
)
def test_sentence(tmp_path: Path, text: str | bytes, message: str):
    with pytest.raises(RecordingError, match=message) as caught:
        reading(tmp_path, text)
    assert "\n" not in str(caught.value) and "run.csv" in str(caught.value)


def test_wrong_delimiter(tmp_path: Path):
    with pytest.raises(RecordingError, match="split at ';' the header is one column"):
        reading(tmp_path, HEAD + "0,1,2,3,4\n", columns=ColumnMap(delimiter=";"))


def test_missing_and_unknown_files(tmp_path: Path):
    with pytest.raises(RecordingError, match="there is no such file"):
        read_recording(tmp_path / "no.csv", ROBOT)
    with pytest.raises(RecordingError, match="format of the log is not known"):
        reading(tmp_path, "x", "run.docx")


def test_broken_files_of_every_format(tmp_path: Path):
    for name in ("a.csv.gz", "a.parquet", "a.npz", "a.mat", "a.mcap", "a.db3"):
        with pytest.raises(RecordingError):
            reading(tmp_path, b"this is nothing of the sort" * 9, name)
    whole = gzip.compress((HEAD + "0,1,2,3,4\n" * 5000).encode())
    with pytest.raises(RecordingError, match="is truncated"):
        reading(tmp_path, whole[: len(whole) // 2], "b.csv.gz")


def test_mixed_lengths(tmp_path: Path):
    m = motion()
    np.savez(tmp_path / "run.npz", t=m["t"], q=m["q"], tau=m["tau"][:-7])
    with pytest.raises(RecordingError, match=r"column 'tau1', row 1994: has 1993 rows, but 't' has 2000"):
        read_recording(tmp_path / "run.npz", ROBOT)


def test_columns_that_do_not_exist(tmp_path: Path):
    path = write_csv(tmp_path / "run.csv", table(motion()))
    with pytest.raises(
        RecordingError, match=r"column 'pos1': there is no such column \(q of joint 'j1'\); the log has"
    ):
        read_recording(path, ROBOT, ColumnMap(q="pos{j}"))
    with pytest.raises(RecordingError, match=r"q names 1 columns; the robot 'chain' has 2 coordinates: j1, j2"):
        read_recording(path, ROBOT, ColumnMap(q=("q1",)))
    with pytest.raises(RecordingError, match="is not a template"):
        read_recording(path, ROBOT, ColumnMap(q="q{k}"))
    with pytest.raises(MinertiaError, match="effort_unit of ColumnMap must be .* not 'Amps'"):
        ColumnMap(effort_unit="Amps")


def test_drives_that_do_not_fit(tmp_path: Path):
    path = write_csv(tmp_path / "run.csv", table(motion()))
    with pytest.raises(RecordingError, match="gains of the drive has 3 numbers; the robot has 2"):
        read_recording(path, ROBOT, ColumnMap(drive=Drive(gains=(1, 2, 3))))
    with pytest.raises(RecordingError, match="cannot be inverted"):
        read_recording(path, ROBOT, ColumnMap(drive=Drive(coupling=((1, 1), (1, 1)))))
    with pytest.raises(RecordingError, match="not both"):
        Drive(ratios=(1, 1), coupling=((1, 0), (0, 1)))


def test_gaps_in_values_stop_the_filter(tmp_path: Path):
    columns = {name: values.copy() for name, values in table(motion()).items()}
    columns["tau2"][100:181] = np.nan
    recording = read_recording(write_csv(tmp_path / "run.csv", columns), ROBOT)
    for use in (repaired, lambda r: prepared(r, Filter(cutoff_hz=5))):
        with pytest.raises(
            RecordingError, match=r"column 'tau2', row 101: 81 values are not numbers, in rows 101 to 181"
        ):
            use(recording)
    finding = next(f for f in audit(recording, ROBOT) if f.check == "not a number")
    assert (finding.level, finding.channel, finding.row) == ("error", "tau2", 101)
    assert "rows 101 to 181" in finding.text


def test_a_single_gap_and_a_single_row_are_told_in_the_singular(tmp_path: Path):
    columns = {name: values.copy() for name, values in table(motion()).items()}
    columns["tau2"][100] = np.nan
    recording = read_recording(write_csv(tmp_path / "run.csv", columns), ROBOT)
    with pytest.raises(RecordingError, match=r"column 'tau2', row 101: this is not a number; omit"):
        repaired(recording)
    (finding,) = (f for f in audit(recording.select(slice(0, 1)), ROBOT) if f.check == "length")
    assert finding.text == "a log of 1 sample is too short to identify anything"


@given(st.binary(max_size=300))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_our_errors_escape_from_bytes(tmp_path: Path, content: bytes):
    with contextlib.suppress(MinertiaError):
        reading(tmp_path, content)


CELL = st.one_of(
    st.floats().map(repr), st.sampled_from(["", "nan", "x", '"', "1e999", "0x1", "1_0", "\0", "q1", "1;2"])
)


@given(st.lists(st.lists(CELL, min_size=4, max_size=6), max_size=6), st.sampled_from([",", ";", "\t", " "]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_our_errors_escape_from_tables(tmp_path: Path, rows: list[list[str]], delimiter: str):
    text = HEAD.replace(",", delimiter) + "".join(delimiter.join(row) + "\n" for row in rows)
    with contextlib.suppress(MinertiaError):
        recording = reading(tmp_path, text)
        audit(recording, ROBOT)
        repaired(recording)


def absurd(name: str, change) -> dict[str, np.ndarray]:
    columns = table(motion())
    columns[name] = change(columns[name].copy())
    return columns


def with_outlier(x: np.ndarray) -> np.ndarray:
    x[4] = -1e200
    return x


@pytest.mark.parametrize(
    ("name", "change", "columns", "message"),
    [
        ("q1", lambda x: x * 1e300, None, r"column 'q1', row 2: the value is .*is implausible; correct the log"),
        ("tau2", with_outlier, None, r"column 'tau2', row 5: the value is -1e\+200, .*units, ratios and gains"),
        (
            "tau1",
            lambda x: x * 1e25,
            ColumnMap(effort_unit="A", drive=Drive(gains=(1e9, 1.0))),
            r"column 'tau1', row .*gains",
        ),
        (
            "t",
            lambda x: x * 1e-300,
            None,
            r"column 't', row 1: the times run from 0 s to .* which is implausible; check the unit of time",
        ),
        ("t", lambda x: x * 1e300, None, r"column 't', row 1: the times run .*time_unit"),
    ],
)
def test_what_no_robot_measures(tmp_path: Path, name: str, change, columns: ColumnMap | None, message: str):
    values = absurd(name, change)
    path = write_csv(tmp_path / "run.csv", values)
    with pytest.raises(RecordingError, match=message):
        read_recording(path, ROBOT, columns)


@pytest.mark.parametrize("seed", range(25))
def test_logs_of_any_numbers_are_audited_repaired_and_filtered_or_refused(tmp_path: Path, seed: int):
    """Scales, outliers, standstill and noise in any column: a result or one sentence, and no warning."""
    rng = np.random.default_rng(seed)
    columns = table(motion(seconds=3))
    for name in rng.choice(list(columns), size=rng.choice([1, 2, len(columns)]), replace=False):
        x = columns[name].copy()
        kind, at = rng.integers(6), rng.integers(len(x))
        if kind == 0:
            x *= 10.0 ** rng.choice([300, 150, 25, 15, -15, -150, -300])
        elif kind == 1:
            x[:] = rng.choice([0.0, 1.0, 1e308, 1e25, np.inf, np.nan])
        elif kind == 2:
            x[at] = rng.choice([1e308, -np.inf, np.nan, 1e22, 1e-300])
        elif kind == 3:
            x[at:] = x[at]
        elif kind == 4:
            x += rng.choice([1e6, 1e16, 1e300])
        else:
            x = rng.normal(size=len(x)) * rng.choice([1, 1e10, 1e-10])
        columns[name] = x
    path = write_csv(tmp_path / "run.csv", columns)

    def use() -> None:
        recording = read_recording(path, ROBOT)
        audit(recording, ROBOT)
        prepared(repaired(recording))

    assert_reads_or_says(use)
