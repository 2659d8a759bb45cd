"""Options are declared once: files, records, commands, requests, TypeScript and pages have them from there."""

from __future__ import annotations

import importlib
import json
import math
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import minertia as mi
from minertia.codegen.generate import TARGETS
from minertia.codegen.programs import BUILDERS
from minertia.excitation.exports.table import EXPORTS
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import CampaignOptions, Command, ElasticJoints, Floor
from minertia.identification.campaigns.read import file_options, read_campaign
from minertia.identification.estimators import ESTIMATORS, estimator_options
from minertia.identification.logs.columns_file import CampaignTable
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.logs.readers import FORMATS
from minertia.identification.problem.terms import chosen_effects, read_effect
from minertia.identification.signals.options import Evaluation, Filter
from minertia.io.errors import CampaignError, MinertiaError, UnknownName
from minertia.io.schema import REQUIRED, UNKNOWN, Declared, Option, OptionError, check, option, options, read, stated
from minertia.io.tables import parse_table
from minertia.robot.effects import BY_SYMBOL, WORDS
from minertia.robot.files import read_robot
from minertia.studio.options import JOBS, job_options, read_job
from minertia.studio.toml_edit import edited
from tests.amount import examples
from tests.identification.logs import motion, table, write_csv

pytest.importorskip("tools.options", reason="the tool is part of the sources, not of the package")
from tools import options as tool

ROOT = Path(__file__).resolve().parents[1]
VALUES = (Filter, Evaluation, ColumnMap, Drive, Command, Floor, CampaignOptions)


# ---------------------------------------------------------------------- what is made of declarations


def test_pages_and_typescript_are_as_they_are_declared() -> None:
    assert tool.main(check=True) == 0, "python -m tools.options writes them"


def test_a_table_of_a_page_has_key_range_default_and_help() -> None:
    (row,) = [line for line in tool.table_of("filter").splitlines() if line.startswith("| `order`")]
    assert row.endswith(" which runs forwards and backwards | an integer from 1 to 12 | `4` |")


def test_no_choices_stand_in_typescript_but_where_they_are_made() -> None:
    files = [path for path in (ROOT / "studio" / "src").rglob("*.ts*") if path.name != "options.ts"]
    assert len(files) > 20
    lists = {f"[{', '.join(json.dumps(name) for name in one.names)}]": key
             for own in file_options().values() for key, one in own.items() if one.choices}  # fmt: skip
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert [key for choices, key in lists.items() if choices in text] == [], path.name


TSX = [path for path in sorted((ROOT / "studio" / "src").rglob("*.ts*")) if path.name != "options.ts"]
LISTED = {  # tables of Python of which no page keeps a list of its own
    "estimators": tuple(ESTIMATORS),
    "targets": tuple(TARGETS),
    "programs": tuple(BUILDERS),
    "exports": tuple(EXPORTS),
    "suffixes": tuple(suffix.lstrip(".") for suffix in FORMATS),
    "symbols": tuple(BY_SYMBOL),
    "effects": tuple(WORDS),
    "jobs' options": tuple({key for kind in JOBS for key in job_options(kind)}),
    "options of campaigns": tuple({key for own in file_options().values() for key in own}),
}
# words that mean something else in a page: quantities of motion that are drawn, kinds of joints and of results
OTHER = {"position", "velocity", "acceleration", "effort", "q", "qd", "qdd", "t", "train", "validate", "robot", "name",
         "model", "filter", "columns", "drive", "estimator", "base", "logs", "log", "limits", "noise", "id", "format",
         "c", "load", "file", "gravity", "on", "from", "to", "angle", "length", "header", "topic", "program",
         "motor", "known", "friction", "rotors", "floor", "command", "elastic", "evaluation", "joints"}  # fmt: skip


def lists(text: str) -> list[set[str]]:
    """Quoted words and keys that stand side by side in a literal of TypeScript."""
    found = [set(re.findall(r'"([\w-]+)"', body)) for body in re.findall(r"\[([^][{}]*)\]", text)]
    found += [
        set(re.findall(r'^\s*"?([\w-]+)"?:', body.replace(",", "\n"), re.M))
        for body in re.findall(r"\{([^{}]*)\}", text)
    ]
    return found


@pytest.mark.parametrize("path", TSX, ids=lambda path: path.stem)
def test_no_list_of_a_table_stands_in_typescript(path: Path) -> None:
    """Keys, suffixes, estimators, targets, symbols: three of a kind side by side are a list of their own."""
    text = path.read_text(encoding="utf-8")
    for words in lists(text):
        for what, names in LISTED.items():
            own = words & set(names) - OTHER
            assert len(own) < 3, f"{path.name} lists {what}: {sorted(own)}"


@pytest.mark.parametrize("path", TSX, ids=lambda path: path.stem)
def test_no_default_or_range_of_an_option_stands_in_typescript(path: Path) -> None:
    """Fields are given ranges and first values by their declarations, never by numbers beside them."""
    text = path.read_text(encoding="utf-8")
    keys = {key for kind in JOBS for key in job_options(kind)} | {key for own in file_options().values() for key in own}
    for key in keys - OTHER - {"height"}:  # of plots
        stray = re.search(rf"\b{re.escape(key)}(?:: | \?\? |\) \?\? )-?\d", text)
        assert stray is None, f"{path.name}: {stray[0] if stray else ''}"
    fields = re.findall(r"<NumberField [^>]*?(?:min|max)=\{(-?[\d.]+)\}", text)
    assert set(fields) <= {"0"}, f"{path.name}: ranges {fields}"  # sizes of boxes are not negative


def test_the_search_for_lists_finds_them() -> None:
    assert {"ols", "wls"} <= lists('const E = ["ols", "wls"];')[0]
    assert {"harmonics", "starts"} <= lists("const A = { harmonics: 5, starts: 1 };")[0]


@pytest.mark.parametrize("room", ["excitation", "simulation", "codegen", "fleet", "studio", "dynamics", "robot"])
def test_modules_of_options_are_light_and_declare_every_field(room: str) -> None:
    """A field without a declaration has no help, no range and no key."""
    module = importlib.import_module(f"minertia.{room}.options")
    own = [
        v
        for v in vars(module).values()
        if isinstance(v, type) and issubclass(v, Declared) and v.__module__ == module.__name__
    ]
    assert own
    for kind in own:
        assert {f.name for f in fields(kind)} == {one.name for one in options(kind)}, kind
        for one in options(kind):
            assert one.help or one.kind.record is not None, f"{kind.__name__}.{one.name}"
            assert one.default is REQUIRED or one.default is None or one.fits(one.default), (
                f"{kind.__name__}.{one.name}"
            )


def test_every_job_can_be_asked_for_with_its_defaults_and_refuses_what_it_cannot_be() -> None:
    for kind in JOBS:
        needed = {key: "0" * 12 for key, (one, default) in job_options(kind).items() if default is REQUIRED}
        job = read_job(kind, needed)
        assert all(getattr(job, key) in (value, (value,)) for key, value in needed.items())
        for key, (one, _) in job_options(kind).items():
            for odd in (object, float("nan"), "../x", -1e300):
                if not one.kind.is_free and one.kind.record is None and not one.fits(odd):
                    with pytest.raises(MinertiaError):
                        read_job(kind, {**needed, key: odd})
        with pytest.raises(MinertiaError, match="is unknown"):
            read_job(kind, {**needed, "no_such": 1})


def test_a_request_takes_every_table_of_a_campaign_and_what_its_options_can_be() -> None:
    asked = pytest.importorskip("minertia.studio.asked")
    tables = {
        "command": {"kp": [3.0, "?"]},
        "logs": {"stamps": False},
        "filter": {"rate_hz": None},
        "floor": {"height": "?"},
    }
    assert asked.CampaignAsked.model_validate(tables).model_dump(exclude_unset=True) == tables
    for wrong in ({"filter": {"order": 99}}, {"filter": {"odder": 1}}, {"filters": {}}, {"logs": {"train": ["../x"]}},
                  {"model": {"prior": "/etc/passwd"}}, {"command": {"law": "pdf"}}):  # fmt: skip
        with pytest.raises(ValueError, match="must be|there is no"):
            asked.CampaignAsked.model_validate(wrong)


@pytest.mark.parametrize("kind", VALUES)
def test_every_field_of_a_value_is_an_option(kind: type) -> None:
    """Else it has no help, nothing checks it, and no file has it."""
    assert {f.name for f in fields(kind)} - {one.name for one in options(kind)} <= {"found"}


def test_every_option_has_help_that_begins_with_a_sentence() -> None:
    every = [one for own in file_options().values() for one in own.values()]
    assert len(every) > 80
    for one in every:
        assert one.help[0].isupper() and one.help.endswith("."), one.key
        assert len(one.sentence) < 200, one.key


@pytest.mark.parametrize("kind", VALUES)
def test_defaults_are_values_that_an_option_can_have(kind: type) -> None:
    for one in options(kind):
        assert one.default is REQUIRED or one.fits(one.default), one.key


def test_docstrings_have_every_option() -> None:
    for kind in VALUES:
        assert all(f"    {one.name}" in (kind.__doc__ or "") for one in options(kind) if one.help), kind


# ---------------------------------------------------------------------- one option, everywhere


@dataclass(frozen=True, slots=True, repr=False)
class Pump(Declared):
    """A value with one option of each kind."""

    flow: float = option(1.0, "Flow. More of it.", unit="l/s", range=(0.5, 9), command="flow")
    stages: int = option(2, "Stages.", range=(1, 4))
    mode: str = option("soft", "Mode.", choices=("soft", "hard"))
    on: bool = option(True, "Whether it runs.")
    gains: float | str | tuple[float | str, ...] = option(UNKNOWN, "Gains.", above=0, words=(UNKNOWN,))
    angle: float | None = option(None, "Angle.", unit="rad", also={"angle_deg": math.pi / 180})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("flow = 0.1", r"line 2, 'pump.flow': this must be a number from 0.5 to 9 \[l/s\], not 0.1"),
        ("flow = true", r"this must be a number from 0.5 to 9 \[l/s\], not True"),
        ("flow = nan", r"this must be a number from 0.5 to 9 \[l/s\], not nan"),
        ('flow = "?"', r'this is still "\?"'),
        ("stages = 2.5", "this must be an integer from 1 to 4, not 2.5"),
        ('mode = "sof"', "this must be \"soft\" or \"hard\", not 'sof'; did you mean 'soft'?"),
        ("on = 1", "this must be true or false, not 1"),
        ('gains = [1, "x"]', r'this must be a number above 0, or a list of them, or "\?", not'),
        ("gains = 0", "this must be a number above 0"),
        ("angle = 1\nangle_deg = 57", "line 3, 'pump.angle_deg': angle and angle_deg cannot be given together"),
        ("flaw = 1", "line 2, 'pump.flaw': this key is unknown; did you mean 'flow'?"),
    ],
)
def test_sentences_of_files(text: str, sentence: str) -> None:
    top = parse_table(f"[pump]\n{text}", "pump.toml", CampaignTable)
    with pytest.raises(CampaignError, match=sentence):
        read(top.table("pump"), Pump)


def test_python_refuses_what_files_refuse() -> None:
    for wrong in ({"flow": 0.1}, {"flow": "1"}, {"stages": 2.5}, {"mode": "sof"}, {"on": "yes"}, {"gains": (1, "x")}):
        ((key, value),) = wrong.items()
        with pytest.raises(OptionError, match=rf"^{key} of Pump must be .*, not "):
            Pump(**wrong)
        assert not next(one for one in options(Pump) if one.key == key).fits(value)


def test_read_write_read() -> None:
    text = '[pump]\nflow = 3\nmode = "hard"\ngains = [1.5, "?"]\nangle_deg = 180\n'
    made = read(parse_table(text, "pump.toml", CampaignTable).table("pump"), Pump)
    assert made == Pump(3, mode="hard", gains=(1.5, "?"), angle=math.pi)
    assert stated(made) == {"flow": 3, "mode": "hard", "gains": [1.5, "?"], "angle": math.pi}
    assert repr(made) == f"Pump(flow=3, mode='hard', gains=(1.5, '?'), angle={math.pi!r})"


def test_lists_and_numbers_of_numpy_are_held_as_those_of_python() -> None:
    np = pytest.importorskip("numpy")
    made = Drive(gains=np.array([1.0, 2.0]), delay=np.float64(0.1))
    assert made.gains == (1.0, 2.0) and type(made.gains[0]) is float
    assert hash(made) == hash(Drive(gains=(1.0, 2.0), delay=0.1))
    check(made)


# ---------------------------------------------------------------------- effects: one reading


WRONG: tuple[Any, ...] = (
    {"kind": "smooth_coulomb", "width": 1e9},
    {"kind": "gas_spring", "joints": [1, 2], **dict.fromkeys(BY_SYMBOL["GAS"].constants, 0.5)},
    {"kind": "viscous", "joints": ["j9"]},
    {"kind": "viscous", "joints": [3]},
    {"kind": "viscous", "joints": [1, 1]},
    {"kind": "viscous", "width": 1},
    {"kind": "smooth_coulomb", "width": "a"},
    {"kind": "viscous", "known": 1},
    "FX", "FC9", "magic", 3, {"kind": 3},
)  # fmt: skip
RIGHT: tuple[Any, ...] = (
    *("FS", "FC2", "FC", "coulomb", "rotor", "FCP", "OFF1"),
    {"kind": "smooth_coulomb", "joints": [2], "width": 0.1},
    {"kind": "FS", "joints": ["j1"]},
    {"kind": "spring", "joints": 2, "rest": 0.2},
    {"kind": "stribeck", "velocity": 0},
)


def campaign_file(folder: Path, effects: str) -> Path:
    write_csv(folder / "run.csv", table(motion(), q="q", tau="tau"))
    path = folder / "campaign.toml"
    path.write_text(f'format = 1\nrobot = "planar2r"\n[logs]\ntrain = ["run.csv"]\n[model]\neffects = [{effects}]\n')
    return path


@pytest.mark.parametrize("effect", RIGHT, ids=str)
def test_an_effect_is_the_same_from_python_and_from_a_file(tmp_path: Path, effect: Any) -> None:
    from tests.test_odd_values import toml

    from_file = read_campaign(campaign_file(tmp_path, toml(effect)))
    from_python = Campaign("planar2r", effects=[effect])
    assert from_file.effects == from_python.effects
    robot = from_file.robot
    assert chosen_effects(robot, from_file.effects).own == chosen_effects(robot, from_python.effects).own


@pytest.mark.parametrize("effect", WRONG, ids=str)
def test_an_effect_that_cannot_be_is_none_from_python_nor_from_a_file(tmp_path: Path, effect: Any) -> None:
    from tests.test_odd_values import toml

    with pytest.raises(MinertiaError):
        read_campaign(campaign_file(tmp_path, toml(effect)))
    with pytest.raises(MinertiaError):
        Campaign("planar2r", effects=[effect])


def test_the_number_of_a_joint_is_that_of_a_coordinate() -> None:
    """On this robot the third joint is passive, and the third coordinate is the fourth joint."""
    robot = read_robot("parallelogram_arm")
    third = robot.joints[robot.independent[2]].name
    assert robot.independent[2] == 3
    for joints in ([3], [third], 3, third):
        made = Campaign(robot, effects=[{"kind": "smooth_coulomb", "joints": joints}])
        assert [term.name for term in chosen_effects(robot, made.effects).terms] == ["FCT4"]
    passive = robot.joints[2].name
    by_name = read_effect(robot, {"kind": "viscous", "joints": [passive]})
    assert chosen_effects(robot, [by_name]).own == ("FV3",) == chosen_effects(robot, ["FV3"]).own
    with pytest.raises(UnknownName, match="there is no joint called 'elbow'"):
        Campaign(robot, effects=[{"kind": "viscous", "joints": ["elbow"]}])


# ---------------------------------------------------------------------- any campaign survives


def texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8).filter(
        lambda text: UNKNOWN not in text
    )


def numbers(one: Option, whole: bool) -> st.SearchStrategy[Any]:
    low, high = max(one.low, -1e9), min(one.high, 1e9)
    if one.above is not None:
        low = max(low, one.above + (1 if whole else 1e-9))
    if one.is_size:
        low = max(low, 0.0)
    found = st.integers(math.ceil(low), math.floor(high)) if whole else st.floats(low, high)
    signed = st.tuples(found, st.sampled_from((1, -1))).map(lambda pair: pair[0] * pair[1]) if one.is_size else found
    return signed.filter(one.fits) if 0 in one.kind.depths else signed


def scalars(one: Option) -> st.SearchStrategy[Any]:
    kinds = []
    if one.choices:
        return st.sampled_from(one.names)
    if "flag" in one.kind.scalars:
        kinds.append(st.booleans())
    if one.kind.scalars & {"whole", "number"}:
        kinds.append(numbers(one, "number" not in one.kind.scalars))
    if "text" in one.kind.scalars:
        kinds.append(texts())
    if one.words:
        kinds.append(st.sampled_from(one.words))
    return st.one_of(kinds)


def rows(record: type) -> st.SearchStrategy[dict[str, Any]]:
    """Any of a list of tables."""
    required = {one.key: entries(one) for one in options(record) if one.default is REQUIRED}
    return st.fixed_dictionaries(
        required, optional={one.key: entries(one) for one in options(record) if one.key not in required}
    )


def entries(one: Option) -> st.SearchStrategy[Any]:
    """Any value of an option as a file has it."""
    if one.kind.record is not None and 1 in one.kind.depths:
        return st.lists(rows(one.kind.record), min_size=1, max_size=2)
    shapes = []
    if 0 in one.kind.depths:
        shapes.append(scalars(one))
    if 1 in one.kind.depths:
        size = one.length or 2
        shapes.append(st.lists(scalars(one), min_size=size, max_size=size))
    if 2 in one.kind.depths:
        shapes.append(st.just([[1.0, 0.5], [0.0, 2.0]]))
    return st.one_of(shapes)


APART = {"logs": ("train", "validate"), "model": ("effects", "fix", "prior"), "estimator": ("name",),
         "": ("joints", "sensor")}  # fmt: skip
ROBOT = ("format", "robot", "base", "hold", "prim")
CHOSEN = {
    ("model", "effects"): st.sampled_from([[], ["FV", "FC2"], ["rotor"], [{"kind": "spring", "rest": 0.5}]]),
    ("model", "fix"): st.dictionaries(st.sampled_from(["M1", "FC2"]), st.floats(-5, 5)),
    ("model", "prior"): st.just("robot"),
    ("", "joints"): st.sampled_from([[1], ["j2"], [1, 2]]),
    ("", "sensor"): st.sampled_from([[{"at": "plate", "moment": "N mm"}], [{"at": "j2", "name": "wrist"}]]),
}  # fmt: skip


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Any campaign file, of the declarations themselves."""
    found: dict[str, Any] = {"format": 1, "robot": "planar2r", "logs": {"train": ["run.csv"]}}
    for name, own in file_options().items():
        if name == "estimator":
            estimator = draw(st.sampled_from(list(ESTIMATORS)))
            own = {one.key: one for one in estimator_options(estimator)}
            found[name] = {"name": estimator}
        part = found if not name else found.setdefault(name, {})
        for key, one in own.items():
            if key not in (*APART.get(name, ()), *(ROBOT if not name else ())) and draw(st.integers(0, 3)) == 0:
                part[key] = draw(entries(one))
    for (name, key), strategy in CHOSEN.items():
        if draw(st.booleans()):
            (found.setdefault(name, {}) if name else found)[key] = draw(strategy)
    return {name: value for name, value in found.items() if name not in RECORDS or goes_together(name, value)}


RECORDS = {"filter": Filter, "evaluation": Evaluation, "command": Command, "elastic": ElasticJoints, "floor": Floor,
           "columns": ColumnMap, "drive": Drive}  # fmt: skip


def goes_together(name: str, entries: dict[str, Any]) -> bool:
    """Whether the values of a table, each of which can be, can be side by side."""
    given: dict[str, Any] = {"drive": Drive()} if name == "columns" else {}
    try:
        read(CampaignTable(entries), RECORDS[name], **given)
    except MinertiaError:
        return False
    return True


@settings(max_examples=examples(160), deadline=None, suppress_health_check=list(HealthCheck))
@given(documents(), st.sampled_from(["filter", "evaluation", "columns"]), st.floats(0.5, 50))
def test_any_campaign_survives_read_write_edit_and_read(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any], name: str, hz: float
) -> None:
    """What is declared can be read, reads back equal, and a page's change of one value leaves all others."""
    import tomli_w

    folder = tmp_path_factory.mktemp("any")
    write_csv(folder / "run.csv", table(motion(), q="q", tau="tau"))
    path = folder / "campaign.toml"
    path.write_text("# by hand\n" + tomli_w.dumps(document), encoding="utf-8")
    first = read_campaign(path)
    (again,) = {file for file in first.save(folder / "again.toml") if file.name == "again.toml"}
    second = read_campaign(again)
    for one in options(Campaign):
        if one.name not in ("robot", "name"):
            assert getattr(second, one.name) == getattr(first, one.name), one.name
    changed = edited(path.read_text(encoding="utf-8"), {name: {"rate_hz": hz}})
    assert changed.startswith("# by hand")
    path.write_text(changed, encoding="utf-8")
    try:
        third = read_campaign(path)
    except CampaignError as err:
        assert "needs both" in str(err) or "stand" in str(err)
        return
    part = "columns" if name == "columns" else name
    assert getattr(third, part).rate_hz == hz
    for one in options(Campaign):
        if one.name not in (part, "robot"):
            assert getattr(third, one.name) == getattr(first, one.name), one.name
    if getattr(first, part) is not None:
        assert replace(getattr(third, part), rate_hz=getattr(first, part).rate_hz) == getattr(first, part)


def test_a_campaign_of_python_takes_what_files_take() -> None:
    with pytest.raises(OptionError, match="links of Campaign must be"):
        mi.Campaign("planar2r", links="other")
    with pytest.raises(MinertiaError, match="fix of"):
        mi.Campaign("planar2r", fix={"M1": "heavy"})
    assert mi.Campaign("planar2r", joints=2).joints == ("j2",)
