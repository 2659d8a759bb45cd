"""Headers in other languages: columns, units, encoding and decimal sign that a proposed campaign finds."""

from __future__ import annotations

import pytest

from minertia.identification.campaigns.new import as_written, new_campaign
from minertia.identification.logs.csv import CsvLog
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.worded import worded
from minertia.io.documents import toml_document
from minertia.robot.files import read_robot

ARM = read_robot("planar2r")
GERMAN = ["Zeit [ms]", *(f"Achse {k} Istposition [°]" for k in (1, 2)), *(f"Achse {k} Motorstrom [A]" for k in (1, 2))]
ROWS = [
    ";".join(f"{10 * row:d},5" if k == 0 else f"{row + k / 8:.3f}".replace(".", ",") for k in range(5))
    for row in range(40)
]


@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252", "utf-16"])
def test_a_german_spreadsheet_needs_gains_alone(tmp_path, encoding):
    path = tmp_path / "Messung.csv"
    path.write_bytes("\r\n".join([";".join(GERMAN), *ROWS, ""]).encode(encoding))
    found = toml_document(new_campaign("planar2r", [path]))
    columns, drive = found["columns"], found["drive"]
    assert columns.get("encoding", "utf-8") == encoding and columns["decimal"] == ","
    assert (columns["t"], columns["time_unit"], columns["angle"], columns["effort_unit"]) == (
        GERMAN[0],
        "ms",
        "deg",
        "A",
    )
    assert (columns["q"], columns["effort"]) == (GERMAN[1:3], GERMAN[3:])
    assert drive["gains"] == ["?", "?"]
    log = CsvLog(path, as_written(path, ColumnMap()))
    assert log.preview(2) == [row.split(";") for row in ROWS[:2]]
    block = next(log.blocks(GERMAN, 100))
    assert block.columns[GERMAN[4]][3] == 3.5  # read with the encoding that was found


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Zeit", "Gelenkwinkel 0", "Gelenkwinkel 1", "Drehmoment 0", "Drehmoment 1"], {"q", "effort", "t"}),
        (["Sollposition 1 [rad]", "Sollposition 2 [rad]"], set()),  # a command is no measurement
        (["Position 1 [°]", "Position 2 [rad]"], {"q"}),  # units that disagree are not taken
        (["Position 1", "Position 2", "Position 3"], set()),  # of another robot
        (["Position 1", "Position 1 (2)"], set()),
        (["Corriente 2 [A]", "Corriente 1 [A]"], {"effort"}),
    ],
)
def test_a_signal_needs_one_column_of_each_joint(names, expected):
    found = worded(names, ARM)
    assert {key for key in ("t", "q", "effort") if getattr(found, key)} == expected
    assert found.angle is None
    if names[0].startswith("Corriente"):
        assert found.effort == (names[1], names[0]) and found.effort_unit == "A"


def test_binary_files_are_no_text_in_another_encoding(tmp_path):
    path = tmp_path / "noise.csv"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0" + bytes(range(256)))
    assert CsvLog(path, ColumnMap()).text_encoding() == "utf-8"  # whose reader says what is wrong
