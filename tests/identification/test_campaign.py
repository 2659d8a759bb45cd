"""Campaign files: read, written from headers, refused with a sentence; and one for each real log."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minertia.identification.campaigns import read as read_module
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.new import new_campaign
from minertia.identification.campaigns.options import (
    CalibrationOptions,
    Command,
    ContactOptions,
    ElasticJoints,
    FloatingOptions,
    Floor,
    MeasureColumns,
    Repairs,
    SensorOptions,
    WrenchOptions,
)
from minertia.identification.campaigns.read import read_campaign, recorded_campaign
from minertia.identification.campaigns.record import campaign_record
from minertia.identification.campaigns.write import campaign_text
from minertia.identification.identify import identify
from minertia.identification.loads.load import Load
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.terms import EffectSpec
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import CampaignError, MinertiaError, UnknownName
from minertia.io.schema import option
from minertia.robot.effects import BY_SYMBOL, WORDS
from minertia.robot.files import read_robot
from minertia.robot.variants import locked
from tests.identification.logs import motion, table, write_csv
from tests.shared import SHARED, needs_shared

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGNS = sorted((ROOT / "examples" / "logs").glob("*.toml"))
PLANAR = """
format = 1
robot = "planar2r"
gravity = [0, -9.81, 0]
joints = [2]
[logs]
train = ["run.csv", { file = "run.csv", from = 1, to = 3 }]
validate = "run.csv"
[columns]
q = "q{j}"
effort = "i{j}"
effort_unit = "A"
[drive]
gains = [2, 3]
[filter]
cutoff_hz = 5
derivative = "parabola"
[model]
effects = ["viscous", { kind = "spring", joints = [1], rest = 0.2 }]
fix = { M2 = 1.5 }
prior = "robot"
[estimator]
name = "ridge"
weight = 0.1
[evaluation]
cutoff_hz = 5
rate_hz = 50
trim_s = 0.5
"""


def written(folder: Path, text: str = PLANAR) -> Path:
    write_csv(folder / "run.csv", table(motion(), q="q", tau="i"))
    path = folder / "campaign.toml"
    path.write_text(text)
    return path


def test_everything_is_read(tmp_path: Path):
    campaign = read_campaign(written(tmp_path))
    assert campaign.robot.gravity == (0.0, -9.81, 0.0)
    assert (
        campaign.joints == campaign.robot.coordinate_names[1:]
        and campaign.fix == {"M2": 1.5}
        and campaign.prior == "robot"
    )
    assert campaign.filter.derivative == "parabola" and campaign.filter.cutoff_hz == 5
    assert campaign.estimator == "ridge" and campaign.options == {"weight": 0.1}
    assert [e.kind for e in campaign.effects] == ["viscous", "spring"]
    assert campaign.effects[1].joints == ("j1",) and campaign.effects[1].options == {"rest": 0.2}
    assert [entry.name for entry in campaign.train] == ["run.csv", "run.csv [1:3]"]
    part = campaign.recording(campaign.train[1])
    assert part.t[0] == 1.0 and part.t[-1] < 3.0
    np.testing.assert_allclose(campaign.recording(campaign.train[0]).tau, motion()["tau"] * [2, 3])
    assert replace(campaign, validate="other.csv").validate == (Log(Path("other.csv")),)


def test_a_part_of_a_log_is_written_as_on_the_command_line(tmp_path: Path):
    """The suffix of the command line works in a file, too, unless a file has that name."""
    text = PLANAR.replace('{ file = "run.csv", from = 1, to = 3 }', '"run.csv[1:3]"')
    campaign = read_campaign(written(tmp_path, text))
    assert campaign.train == read_campaign(written(tmp_path)).train
    (tmp_path / "run.csv[1:3]").write_bytes((tmp_path / "run.csv").read_bytes())
    assert read_campaign(written(tmp_path, text)).train[1] == Log(tmp_path / "run.csv[1:3]")


def test_files_are_found_in_the_data_folder(tmp_path: Path):
    data, robots = tmp_path / "data" / "planar", tmp_path / "robots"
    data.mkdir(parents=True)
    robots.mkdir()
    (robots / "mine.toml").write_text('format = 1\nname = "mine"\n' + 2 * '[[joint]]\nkind = "revolute"\n')
    path = written(tmp_path, PLANAR.replace("planar2r", "mine.toml"))
    (tmp_path / "run.csv").rename(data / "run.csv")
    assert read_campaign(path, data).robot.name == "mine"
    with pytest.raises(CampaignError, match=r"'mine.toml' is not in .*; give the folder of the logs with --data"):
        read_campaign(path)


def test_folders_that_are_searched_are_named_once(tmp_path: Path, monkeypatch):
    written(tmp_path, PLANAR)
    (tmp_path / "run.csv").unlink()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CampaignError) as refused:
        read_campaign("campaign.toml", ".")
    assert str(refused.value).endswith(f"'run.csv' is not in '{tmp_path}'")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1", "format = 2", "'format': the file must contain format = 1"),
        ("[filter]", "[filters]", r"'filters': this key is unknown; did you mean 'filter'\?"),
        (
            "cutoff_hz = 5\nder",
            "cutof_hz = 5\nder",
            r"'filter.cutof_hz': this key is unknown; did you mean 'cutoff_hz'",
        ),
        ("gains = [2, 3]", 'gains = ["?", "?"]', r"""'drive.gains': this is still "\?"; replace it"""),
        ('effort_unit = "A"', 'effort_unit = "?"', r"""'columns.effort_unit': this is still "\?"; replace it"""),
        (
            'effort_unit = "A"',
            'effort_unit = "amps"',
            '\'columns.effort_unit\': this must be "Nm", "A", "V", .* or "percent", not \'amps\'',
        ),
        (
            "gains = [2, 3]",
            "gains = [2, nan]",
            r"drive.gains': this must be a list of numbers whose .*, not \[2, nan\]",
        ),
        ("gains = [2, 3]", 'position = "left"', "'drive.position': this must be \"joint\" or \"motor\", not 'left'"),
        ('"run.csv", {', '"gone.csv", {', r"'logs.train': 'gone.csv' is not in"),
        ('"run.csv", {', '"run.csv[1:b]", {', r"a part of a log must be given by two times \[s\], as in"),
        ('"run.csv", {', '"gone.csv[1:2]", {', r"'logs.train': 'gone.csv' is not in"),
        ("joints = [2]", "joints = [3]", "there is no joint called '3'; available: j1, j2"),
        ('kind = "spring"', 'kind = "sprung"', "there is no effect called 'sprung'; did you mean 'spring'"),
        (
            '{ kind = "spring", joints = [1], rest = 0.2 }',
            '{ kind = "gas_spring", joints = [1] }',
            "needs outer",
        ),
        ("rate_hz = 50\n", "", "needs both cutoff_hz and rate_hz"),
        ('robot = "planar2r"', "", "the robot is missing; name"),
        ("train = [", "train = [3, ", "a log must be the name of a file or a table, not 3"),
        ("[logs]", "[logs", "this is not valid TOML"),
        (
            'derivative = "parabola"',
            'derivative = "spline"',
            r"derivative': this must be .central., .* or .logged., not",
        ),
        (
            "fix = { M2 = 1.5 }",
            "fix = { M2 = true }",
            "line 20, 'model.fix.M2': this must be a number, not True",
        ),
    ],
)
def test_sentence(tmp_path: Path, old: str, new: str, message: str):
    assert old in PLANAR
    with pytest.raises(MinertiaError, match=message):
        read_campaign(written(tmp_path, PLANAR.replace(old, new, 1)))


def test_joints_the_log_does_not_have_are_held(tmp_path: Path):
    text = PLANAR.replace("joints = [2]", "hold = { 2 = 0.5 }")
    with pytest.raises(UnknownName, match="there is no joint called '2'"):
        read_campaign(written(tmp_path, text))
    robot = read_robot("planar2r")
    name = robot.joints[1].name
    text = PLANAR.replace("joints = [2]", f"hold = {{ {name} = 0.5 }}").replace("gains = [2, 3]", "gains = [2]")
    campaign = read_campaign(written(tmp_path, text.replace("q{j}", "q1").replace('"i{j}"', '["i1"]')))
    assert campaign.robot.n == 1 and campaign.recording(campaign.train[0]).n == 1


def test_new_campaign_asks_for_what_it_cannot_know(tmp_path: Path):
    m = motion()
    one = write_csv(tmp_path / "one.csv", table(m, q="q", qd="dq", tau="i"))
    two = write_csv(tmp_path / "two.csv", table(m, q="q", qd="dq", tau="i"))
    text = new_campaign("planar2r", [one, two])
    assert 'q = "q{j}"' in text and 'effort_unit = "A"' in text and 'gains = ["?", "?"]' in text
    assert re.search(r"validate = \[.*two.csv", text)
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    with pytest.raises(CampaignError, match="'drive.gains': this is still"):
        read_campaign(path)
    path.write_text(text.replace('["?", "?"]', "[2, 3]"))
    campaign = read_campaign(path)
    np.testing.assert_allclose(campaign.recording(campaign.train[0]).tau, m["tau"] * [2, 3])


def test_new_campaign_without_clock_or_unit(tmp_path: Path):
    m = motion()
    columns = table(m, q="q", tau="effort")
    text = new_campaign("planar2r", [write_csv(tmp_path / "a.csv", columns)])
    assert 'effort_unit = "?"' in text
    del columns["t"]
    text = new_campaign("planar2r", [write_csv(tmp_path / "b.csv", columns)])
    assert 'rate_hz = "?"' in text and 'effort_unit = "?"' in text
    text = new_campaign("planar2r", [write_csv(tmp_path / "c.csv", {"a": m["t"], "b": m["t"]})])
    assert "# the log has: a, b" in text and 'q = "?"' in text
    degrees = table({**m, "q": 60 * m["q"]}, q="q", tau="tau")
    assert 'angle = "?"' in new_campaign("planar2r", [write_csv(tmp_path / "d.csv", degrees)])


def test_new_campaign_of_a_log_with_more_joints(tmp_path: Path):
    """The clock is found, the columns that may be meant are shown, and rates of more joints do not stand in the way."""
    log = write_csv(tmp_path / "run.csv", table(motion(3), q="q", qd="dq", tau="tau"))
    text = new_campaign("planar2r", [log])
    assert 't = "t"' in text and 'q = "?"  # ["q1", "q2"]?' in text and 'effort = "?"  # ["tau1", "tau2"]?' in text
    path = tmp_path / "campaign.toml"
    answers = {"q": '["q1", "q3"]', "effort": '["tau1", "tau3"]', "angle": '"rad"', "effort_unit": '"Nm"'}
    for key, answer in answers.items():
        text = text.replace(f'{key} = "?"', f"{key} = {answer}")
    path.write_text(text)
    campaign = read_campaign(path)
    recording = campaign.recording(campaign.train[0])
    assert recording.qd is None and any("dq1 ... are ignored" in note for note in recording.notes)


def test_new_campaign_of_a_slide_names_its_unit(tmp_path: Path):
    slide = tmp_path / "slide.toml"
    slide.write_text('format = 1\n[[joint]]\nkind = "prismatic"\n')
    m = motion(1)
    text = new_campaign(slide, [write_csv(tmp_path / "a.csv", table(m, q="q", tau="tau"))])
    assert 'length = "m"' in text and "angle" not in text
    large = {**m, "q": 1000 * m["q"]}
    assert 'length = "?"' in new_campaign(slide, [write_csv(tmp_path / "b.csv", table(large, q="q", tau="tau"))])


def test_new_campaign_does_not_ask_for_gains_of_torques(tmp_path: Path):
    text = new_campaign("planar2r", [write_csv(tmp_path / "a.csv", table(motion(), q="q", tau="effort"))])
    path = tmp_path / "campaign.toml"
    path.write_text(text.replace('effort_unit = "?"', 'effort_unit = "Nm"'))
    assert read_campaign(path).columns.drive.gains is None


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_our_errors_escape(tmp_path: Path, text: str):
    path = tmp_path / "fuzz.toml"
    path.write_text("format = 1\n" + text, encoding="utf-8", errors="replace")
    with pytest.raises(MinertiaError):
        read_campaign(path)


KEYS = st.sampled_from(["robot", "logs", "columns", "drive", "filter", "model", "evaluation", "joints", "hold"])


@given(st.dictionaries(KEYS, st.sampled_from(["3", '"?"', "[]", "{}", "{ q = 3 }", "[[1]]", "true", "{ train = 1 }"])))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_only_our_errors_escape_from_tables(tmp_path: Path, entries: dict[str, str]):
    path = tmp_path / "fuzz.toml"
    path.write_text("format = 1\n" + "".join(f"{key} = {value}\n" for key, value in entries.items()))
    with pytest.raises(MinertiaError):
        read_campaign(path)


def test_worked_example_of_the_page(tmp_path: Path):
    text = (ROOT / "docs" / "campaign.md").read_text(encoding="utf-8")
    block = next(b for b in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "format = 1" in b)
    n = 6
    m = motion(n)
    columns = {"timestamp": m["t"]}
    for signal, stem in (("q", "actual_q_"), ("qd", "actual_qd_"), ("tau", "actual_current_")):
        columns |= {f"{stem}{j}": m[signal][:, j] for j in range(n)}
    for name in re.findall(r'"([\w]+\.csv)"', block):
        write_csv(tmp_path / name, columns)
    (tmp_path / "campaign.toml").write_text(block)
    campaign = read_campaign(tmp_path / "campaign.toml")
    assert campaign.recording(campaign.train[0]).n == 6


# ---------------------------------------------------------------------- the real logs


@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: path.stem)
@needs_shared
def test_real_log_reads_through_its_campaign(path: Path):
    campaign = read_campaign(path, SHARED / "data" / path.stem)
    assert campaign.evaluation is not None
    for entry in (*campaign.train, *campaign.validate):
        recording = campaign.recording(entry)
        assert recording.n == campaign.robot.n and recording.effort_unit == "Nm"
        assert recording.duration > 3 and np.isfinite(recording.efforts()).all()
        assert np.abs(recording.q).max() < 10 and 45 < recording.rate_hz < 5100


def test_there_is_a_campaign_for_each_folder():
    names = {path.stem for path in CAMPAIGNS}
    assert names == {"airbot_play", "double_pendulum_dfki", "dvrk_psm", "emps", "kr300_weigand", "panda_gaz2019",
                     "tx40_gautier", "ur10e_innopolis", "xmate7_nku"}  # fmt: skip


TRAPS = {
    "airbot_play": {"quantisation"},
    "double_pendulum_dfki": {"jitter"},
    "panda_gaz2019": {"jitter", "gaps", "held rows"},
    "ur10e_innopolis": {"jitter", "standstill"},
    "kr300_weigand": {"standstill"},
    "emps": {"rate"},
    "tx40_gautier": {"rate"},
    "dvrk_psm": {"rate"},
}


@pytest.mark.parametrize("folder", [*TRAPS, "xmate7_nku"])
@needs_shared
def test_audit_names_the_traps(folder: str):
    from minertia.identification.audits.audit import audit
    from minertia.identification.logs.options import ColumnMap
    from minertia.identification.logs.readers import read_recording

    campaign = read_campaign(ROOT / "examples" / "logs" / f"{folder}.toml", SHARED / "data" / folder)
    columns = campaign.columns if folder != "xmate7_nku" else ColumnMap()  # whose campaign leaves the accelerations out
    recording = read_recording(campaign.train[0].file, campaign.robot, columns)
    found = {f.check for f in audit(recording, campaign.robot)}
    assert TRAPS.get(folder, {"qdd inconsistent", "quantisation"}) <= found
    assert "degrees" not in found


@pytest.mark.parametrize("word", WORDS)
def test_files_know_every_effect_of_the_table(tmp_path, word):
    path = tmp_path / "planar.toml"
    write_csv(tmp_path / "run.csv", table(motion(2), q="q", tau="i"))
    effect = BY_SYMBOL[WORDS[word][0]]
    numbers = "".join(f", {name} = 0.5" for name in effect.constants)
    path.write_text(PLANAR.replace('["viscous", {', f'[{{ kind = "{word}", joints = [1]{numbers} }}, {{'))
    spec = read_campaign(path).effects[0]
    assert (spec.kind, spec.joints, set(spec.options)) == (word, ("j1",), set(effect.constants))


def test_constants_of_a_new_effect_need_no_limits_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("minertia.identification.problem.terms.NUMBERS", {})
    effect = '{ kind = "spring", joints = [1], rest = 0.2 }'
    assert read_campaign(written(tmp_path, PLANAR.replace("0.2", "-0.2"))).effects[1].options == {"rest": -0.2}
    wrong = PLANAR.replace(effect, '{ kind = "smooth_coulomb", width = -1 }')
    with pytest.raises(MinertiaError, match="effects.width.*must be a number from"):
        read_campaign(written(tmp_path, wrong))


def test_cubic_friction_in_a_file(tmp_path):
    path = tmp_path / "planar.toml"
    write_csv(tmp_path / "run.csv", table(motion(2), q="q", tau="i"))
    path.write_text(PLANAR.replace('["viscous", {', '["viscous", "cubic", {'))
    assert [e.kind for e in read_campaign(path).effects] == ["viscous", "cubic", "spring"]


def test_joints_that_the_header_names_are_the_ones_that_move(tmp_path):
    """A log of one joint of two, by name: the other one is asked for, everything else is known."""
    for there, other in (names := read_robot("planar2r").coordinate_names, names[::-1]):
        columns = table(motion(1), q="q", tau="tau")
        named = {"t": columns["t"], f"{there}_position": columns["q1"], f"{there}_torque": columns["tau1"]}
        write_csv(tmp_path / "run.csv", named)
        text = new_campaign("planar2r", [tmp_path / "run.csv"])
        assert f'hold = {{ "{other}" = "?" }}' in text and text.count('"?"') == 2  # the head explains the mark
        path = tmp_path / "arm.toml"
        path.write_text(text)
        with pytest.raises(CampaignError, match=f"hold.{other}.*still"):
            read_campaign(path)
        path.write_text(text.replace(f'"{other}" = "?"', f'"{other}" = 0.3'))
        assert read_campaign(path).robot.coordinate_names == (there,)


def test_which_joints_numbered_columns_belong_to_is_asked(tmp_path):
    """A log of one joint of two, by number: nothing tells which, so nothing is guessed."""
    first, last = read_robot("planar2r").coordinate_names
    write_csv(tmp_path / "run.csv", table(motion(1), q="q", tau="tau"))
    text = new_campaign("planar2r", [tmp_path / "run.csv"])
    assert "the log has 1 numbered joints (q1 ...), the robot 2" in text and 'hold = "?"' in text
    path = tmp_path / "arm.toml"
    path.write_text(text)
    with pytest.raises(CampaignError, match="'hold'.*still"):
        read_campaign(path)
    example = re.search(r"\{ .* = 0 \}", text)[0]  # the answer that the comment gives
    for answer, moves in ((example, first), (f'{{ "{first}" = 0.3 }}', last)):
        path.write_text(text.replace('hold = "?"', f"hold = {answer}"))
        assert read_campaign(path).robot.coordinate_names == (moves,)


def test_a_campaign_made_in_python_is_the_file(tmp_path: Path):
    """Written and read again it says the same, and so does its result."""
    log = write_csv(tmp_path / "run.csv", table(motion(2), q="q", tau="tau"))
    made = Campaign(
        locked(read_robot("planar2r").with_gravity((0.0, -9.0, 0.0)), {}),
        [Log(log, 0.0, 6.0)],
        Log(log, 6.0, None, Load(0.0001)),
        filter=Filter(cutoff_hz=5.0),
        effects=["viscous", {"kind": "spring", "joints": [1], "rest": 0.2}],
        fix={"FV1": 0.5},
        estimator="ridge",
        options={"weight": 1e-6},
    )
    (path,) = made.save(tmp_path / "made.toml")
    again = read_campaign(path)
    assert campaign_record(again) | {"effects": None} == campaign_record(made) | {"effects": None}
    assert again.robot.gravity == made.robot.gravity and again.validate[0].load == made.validate[0].load
    assert identify(again).to_dict() == identify(made).to_dict()


def test_a_robot_without_a_file_is_written_beside_the_campaign(tmp_path: Path):
    log = write_csv(tmp_path / "run.csv", table(motion(2), q="q", tau="tau"))
    robot = read_robot("planar2r").with_payload(1.0)
    beside, path = Campaign(robot, log).save(tmp_path / "made.toml")
    assert beside.name == "made-robot.toml"
    assert read_campaign(path).robot.links == robot.links
    with pytest.raises(CampaignError, match="a recording in memory"):
        Campaign(robot, Recording(**motion(2))).save(tmp_path / "other.toml")
    assert not (tmp_path / "other.toml").exists()


KEPT_ELSEWHERE = {"robot", "source", "places"}  # compared by its links, or where the file stands


def unusual_values(folder: Path) -> dict[str, Any]:
    """A value that is not the usual one for each field of a campaign of the planar arm, by name."""
    log = write_csv(folder / "run.csv", table(motion(2), q="q", tau="i"))
    (folder / "prior.toml").write_text('format = 1\n[[joint]]\nkind = "revolute"\n')
    stated = {
        "train": (Log(log, 0.0, 6.0, Load(0.5, (0.1, 0.0, 0.0))),),
        "validate": (Log(log, 6.0, None),),
        "name": "unusual",
        "columns": ColumnMap(
            t="t", q="q{j}", effort="i{j}", effort_unit="A", drop_torn=True, drive=Drive(gains=(2.0, 3.0), delay=0.001)
        ),
        "repairs": Repairs(stamps=False, resample=False, standstill=False),
        "filter": Filter(5.0, 3, "savgol", 7, 2, 40.0, 11.0, "signals", 0.3, "power", 2.0, 0.1),
        "effects": (EffectSpec("viscous", ("j1", "j2")), EffectSpec("spring", ("j2",), {"rest": 0.2})),
        "memory": True,
        "joints": (read_robot("planar2r").coordinate_names[1],),
        "estimator": "ridge",
        "options": {"weight": 0.25},
        "fix": {"FV1": 0.5},
        "parameters": "mlc",
        "prior": folder / "prior.toml",
        "evaluation": Evaluation(5.0, 50.0, 0.5, True),
        "command": Command(
            *("pid", (20.0, "?"), "same", 1.0, True, "linear", 0.01, "effort", 3.0, "none", "law", "euler", 0.001),
            zeros=(0.1, "?"),
            **{"loss": "huber", "error_gain": 0.2, "register": 32.0, "volts": 7.4, "duty_limit": 0.9},
            **{
                "target_speed": (4.0, "?"),
                "target_lapse": (0.1, "?"),
                "load_share": (0.4, "?"),
                "load_curve": (0.1, "?"),
                "temperature": 31.0,
            },
            **{"startup_duty": (0.02, "?"), "warming": (0.001, "?"), "supply_sag": (0.1, "?")},
            backlash=(0.01, "?"),
            leave_out_contact=False,
        ),
        "elastic": ElasticJoints(("j2", 1), (500.0, "?"), 2.0, "motor", "link"),
        "floor": Floor(("hand",), 0.1, "?", 500.0),
        "links": "physical",
        "measures": (
            MeasureColumns("pose", "flange", ("x", "y", "z"), ("a", "b", "c"), "rpy"),
            MeasureColumns("same_point", groups=("place",), of="socket", within=("place",), apart=0.05),
        ),
        "calibration": CalibrationOptions(("zeros",), "hand", zeros="controller"),
        "floating": FloatingOptions("base", "w{k}", "a{k}", (0.1, 0.0, 0.0), "att{k}"),
        "contacts": (ContactOptions("foot", "hand", (0.0, 0.1, 0.0), 0.02, "surface", "c", "f{k}", "m{k}", "base"),),
        "sensors": (SensorOptions("plate", "under", tuple("abcdef"), "tool", "base", "N mm"),),
        "rows": "sensors",
        "wrench": WrenchOptions("hand", "base", "tool", "linear", "N mm", tuple("abcdef"), tuple("wxyz")),
    }
    new = [f for f in fields(Campaign) if f.name not in KEPT_ELSEWHERE | set(stated)]
    return stated | {f.name: another(f.name, f.default) for f in new}


def another(name: str, usual: object) -> object:
    """Another value than the usual one, of its kind."""
    if isinstance(usual, bool):
        return not usual
    if isinstance(usual, int | float):
        return usual + type(usual)(1)
    raise AssertionError(f"state an unusual value of Campaign.{name} in unusual_values")


def test_every_field_survives_the_file(tmp_path: Path):
    unusual = unusual_values(tmp_path)
    made, usual = Campaign("planar2r", **unusual), Campaign("planar2r")
    again = read_campaign(made.save(tmp_path / "made.toml")[0])
    for name in unusual:
        assert getattr(made, name) != getattr(usual, name), f"{name} is stated as usual"
        assert getattr(again, name) == getattr(made, name), f"{name} is not in the file, or not read"
    for part in ("repairs", "filter", "evaluation", "command", "floor"):
        value = getattr(made, part)
        plain = Evaluation(1.0, 1.0) if part == "evaluation" else type(value)()
        assert all(getattr(value, f.name) != getattr(plain, f.name) for f in fields(value)), f"state all of {part}"


def test_a_calibration_without_a_choice_stays_one(tmp_path: Path):
    log = write_csv(tmp_path / "run.csv", table(motion(2)))
    made = Campaign("planar2r", log, calibration=CalibrationOptions())
    again = read_campaign(made.save(tmp_path / "made.toml")[0])
    assert again.calibration == CalibrationOptions() and Campaign("planar2r", log).calibration is None
    assert recorded_campaign(made.robot, campaign_record(made)).calibration == CalibrationOptions()


@dataclass(frozen=True, repr=False)
class OneMore(Campaign):
    """A campaign with fields that nothing has heard of."""

    unheard_of: int = option(3, "How often.", table="model", range=(1, 9), kw_only=True)
    limits: tuple[float, ...] = option((), "How far.", unit="m", table="", kw_only=True)
    further: Repairs = option(factory=Repairs, table="further", kw_only=True)


def test_new_field_is_recorded_and_written_unasked(tmp_path: Path):
    made = OneMore("planar2r", unheard_of=5, limits=(1.0, 2.0), further=Repairs(stamps=False))
    record = campaign_record(made)
    assert (record["unheard_of"], record["limits"], record["further"]) == (5, [1.0, 2.0], {"stamps": False})
    assert not {"unheard_of", "limits", "further"} & set(campaign_record(OneMore("planar2r")))
    written = tomllib.loads(campaign_text(made, tmp_path, "planar2r"))
    assert (written["model"]["unheard_of"], written["limits"], written["further"]["stamps"]) == (5, [1.0, 2.0], False)


def test_model_restores_new_fields(monkeypatch: pytest.MonkeyPatch):
    """How other logs are read and judged may hang on them; the fit's own choices stay with the fit."""
    monkeypatch.setattr(read_module, "Campaign", OneMore)
    made = OneMore("planar2r", unheard_of=5, limits=(1.0, 2.0), further=Repairs(stamps=False), estimator="ridge")
    restored = recorded_campaign(made.robot, campaign_record(made))
    assert (restored.unheard_of, restored.limits, restored.further) == (5, (1.0, 2.0), Repairs(stamps=False))
    assert restored.estimator == "auto"


def test_minimal_linear_combinations_can_be_fitted(tmp_path):
    """The set of Lin 1995: his names, the efforts of the other set, and a model file that knows it."""
    from minertia.base.derive import base_parameters
    from minertia.identification.model_file import read_model
    from tests.identification.motions import fourier_motion, noisy

    robot = read_robot("stanford")
    runs = [noisy(fourier_motion(robot, 500, k), np.random.default_rng(k), 0.01) for k in (1, 2)]
    found = {
        kind: identify(Campaign(robot, runs[0], runs[1], effects=["viscous"], estimator="wls", parameters=kind))
        for kind in ("base", "mlc")
    }
    names = [n for n in found["mlc"].linear.names if not n.startswith("FV")]
    assert set(names) == set(base_parameters(robot, "mlc").names)
    assert found["mlc"].validation[0].relative == pytest.approx(found["base"].validation[0].relative, rel=1e-6)
    found["mlc"].model().save(tmp_path / "model.toml")
    back = read_model(tmp_path / "model.toml")
    np.testing.assert_allclose(back.predict(runs[1]), found["mlc"].predict(runs[1]))
    with pytest.raises(MinertiaError, match='parameters of Campaign must be "base" or "mlc"'):
        Campaign(robot, parameters="all")
