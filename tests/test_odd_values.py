"""Odd values in every key of a campaign and in every number of a command: a result, or one sentence to follow."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from minertia.identification.campaigns.campaign import Log
from minertia.identification.campaigns.read import file_options
from minertia.identification.estimators import ESTIMATORS, estimator_options
from minertia.identification.loads.load import Load
from minertia.io.schema import keys_of
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.effects import WORDS as EFFECT_WORDS
from tests.arm import ARM, simulated
from tests.identification.logs import table, write_csv

INF, NAN = float("inf"), float("nan")
NUMBERS: tuple[Any, ...] = (0, -1, 1e-308, 1e-22, 1e22, 1e275, 1e308, -1e308, 10**30, -(10**400), NAN, INF, -INF)
OTHERS: tuple[Any, ...] = ("", "x", "?", True, [], [[]], {}, ["x"], [{}], [1.0, 2.0, 3.0], [NAN, INF], "1979-05-27")
ODD = (*NUMBERS, *OTHERS)
LISTS = tuple([a, b] for a, b in ((0, 0), (-1, 1), (1e275, 1), (1e-308, 1), (1e308, -1e308), (NAN, 1), (10**400, 1)))
# table -> its keys
KEYS: dict[str, tuple[str, ...]] = {
    name: (*(key for one in own.values() for key in one.keys), "unknown")
    for name, own in file_options().items()
    if name not in ("command", "elastic", "floor")
} | {"estimator": ("name", "unknown")}
PER_JOINT = ("gains", "ratios", "signs", "effort_signs", "offsets", "offsets_deg")
OPTIONS = {name: tuple(one.key for one in estimator_options(name)) for name in ESTIMATORS}
EFFECTS = {word: tuple(BY_SYMBOL[symbols[0]].constants) for word, symbols in EFFECT_WORDS.items()}
EFFECTS = {word: keys for word, keys in EFFECTS.items() if keys or word == "viscous"}
EFFECTS["gas_spring"] += ("angle_deg",)
GAS = {"joints": [2], "outer": 0.8, "inner": 0.2, "closed": 0.6, "volume": 1e-3, "area": 1e-3, "energy": 1e3}
NEEDED = {"smooth_coulomb": {"width": 0.1}, "gas_spring": GAS}
ENTRY = (*keys_of(Log), "unknown")
LOAD = (*keys_of(Load), "unknown")


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {toml(v)}' for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float):
        return repr(value)
    return (
        str(value).lower() if isinstance(value, bool) else json.dumps(value) if isinstance(value, str) else str(value)
    )


Tables = dict[str, dict[str, Any]]
Case = tuple[str, Tables]  # what is odd, and the tables it stands in


def case(where: str, value: Any, **tables: dict[str, Any]) -> Case:
    return f"{where} = {toml(value)[:30]}", tables


def cases_of_keys() -> Iterator[Case]:
    for name, keys in KEYS.items():
        more = {"cutoff_hz": 5, "rate_hz": 20} if name == "evaluation" else {}
        for key in keys:
            for value in (*ODD, *(LISTS if key in PER_JOINT else ())):
                yield case(f"{name}.{key}", value, **{name or "top": {**more, key: value}})


def cases_of_estimators() -> Iterator[Case]:
    for name, keys in OPTIONS.items():
        for key in keys:
            for value in ODD:
                yield case(f"{name}.{key}", value, estimator={"name": name, key: value})
        for key in ("prior", "fixed", "unknown"):
            yield case(f"{name}.{key}", 1, estimator={"name": name, key: 1})


def cases_of_effects() -> Iterator[Case]:
    for kind, keys in EFFECTS.items():
        for key in (*keys, "joints", "known", "unknown"):
            for value in ODD:
                effect = {"kind": kind, **NEEDED.get(kind, {}), key: value}
                yield case(f"{kind}.{key}", value, model={"effects": ["rotor", effect]})


def cases_inside_tables() -> Iterator[Case]:
    for value in ODD:
        for key in ENTRY:
            yield case(f"entry.{key}", value, logs={"train": [{"file": "a.csv", key: value}]})
        for key in LOAD:
            yield case(f"load.{key}", value, logs={"train": [{"file": "a.csv", "load": {"mass": 1.0, key: value}}]})
        for name in ("M2", "FC1", "MYR1", "unknown"):
            for estimator in ("auto", "physical", "wls"):
                more = {"model": {"fix": {name: value}}, "estimator": {"name": estimator}}
                yield case(f"fix.{name} ({estimator})", value, **more)
        yield case("hold.elbow", value, top={"hold": {"elbow": value}})
        yield case("gravity", value, top={"gravity": [0, 0, value]})
        yield case("coupling", value, drive={"coupling": [[1, 0], [value, 1]], "position": "motor"})


CAMPAIGNS = [*cases_of_keys(), *cases_of_estimators(), *cases_of_effects(), *cases_inside_tables()]
PARTS = 24  # the cases of one test


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    """A folder with a robot and short logs of it."""
    from minertia.robot.files import read_robot

    folder = tmp_path_factory.mktemp("odd")
    (folder / "arm.urdf").write_text(ARM.format(name="arm"))
    for name, phase in (("a", 0.1), ("b", 2.0)):
        motion = simulated(read_robot(folder / "arm.urdf"), phase, seconds=5.0, rate=100.0)
        write_csv(folder / f"{name}.csv", table(motion, q="q", tau="tau"))
    return folder


@pytest.fixture
def ends_well(run):
    """Run a command: exit code 0 or 1 and a result, or exit code 2 and one sentence."""

    def check(*args: object) -> None:
        code, out, err = run(*args)
        assert code in (0, 1, 2), f"{args}: {err}"
        if code == 2:
            sentences = [line for line in err.splitlines() if line.startswith("minertia: ")]
            assert out == "" and len(sentences) == 1 and len(sentences[0]) > 20, f"{args}: {err}"
        else:
            assert out and "nan" not in out.split(), f"{args}: {out}"

    return check


def write(path: Path, tables: Tables) -> Path:
    """A campaign with these entries over the usual ones."""
    usual = {"top": {"format": 1, "robot": "arm.urdf"}, "logs": {"train": ["a.csv"]}, "filter": {"cutoff_hz": 10}}
    lines = []
    for name in ("top", *(n for n in KEYS if n)):
        entries = {**usual.get(name, {}), **tables.get(name, {})}
        if name != "top" and name in tables.get("top", {}):
            continue
        if name in ("calibration", "wrench") and not entries:  # the empty table asks for a problem of that kind
            continue
        lines += [] if name == "top" else [f"[{name}]"]
        lines += [f'"{key}" = {toml(value)}' for key, value in entries.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def run_cases(ends_well, arm: Path, folder: Path, cases: list[Case]) -> None:
    for name in ("arm.urdf", "a.csv"):
        shutil.copy(arm / name, folder)
    for _, tables in cases:
        ends_well("identify", "--campaign", write(folder / "odd.toml", tables), "--json")


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2))])
def test_some_campaigns(ends_well, arm, part, tmp_path):
    """About one value of every key, another one for the next."""
    run_cases(ends_well, arm, tmp_path, CAMPAIGNS[part * len(ODD) :: 3 * len(ODD) + 1])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_all_campaigns(ends_well, arm, part, tmp_path):
    run_cases(ends_well, arm, tmp_path, CAMPAIGNS[part::PARTS])


# ---------------------------------------------------------------------- command lines

WORDS = ("0", "-1", "1e-308", "1e22", "1e275", "1e308", "-1e308", "1" + 30 * "0", "nan", "inf", "x", "", "1,2,3", "2.5")
FIT = ("identify", "arm.urdf", "a.csv")
RULE = ("significance", "arm.urdf", "a.csv")
LOADED = ("payload", "a.csv", "b.csv", "--robot", "arm.urdf")
MOVE = ("excite", "arm.urdf", "--out", "out", "--starts=1", "--samples=24", "--harmonics=2")
SPLINE = (*MOVE, "--family", "spline", "--pieces=6")
LINES: dict[str, tuple[tuple[str, ...], str]] = {  # name -> command, and its option with VALUE in it
    **{
        f"identify {o}": (FIT, f"--{o}=VALUE")
        for o in ("cutoff", "rate", "fix", "joints", "effects", "estimator", "prior")
    },
    **{f"identify fix {name}": (FIT, f"--fix={name}=VALUE") for name in ("M2", "FC1", "nobody")},
    "identify gravity": (FIT, "--gravity 0 0 VALUE"),
    **{f"significance {o}": (RULE, f"--{o}=VALUE") for o in ("share", "cutoff", "rate", "fix")},
    **{f"payload {o}": (LOADED, f"--{o}=VALUE") for o in ("mass", "at")},
    "payload com": (LOADED, "--mass=1 --com 0 0 VALUE"),
    **{f"excite {o}": (MOVE, f"--{o}=VALUE") for o in ("duration", "harmonics", "samples", "seed", "start", "snap")},
    **{f"excite limits {o}": (MOVE, f"--limits={o}=VALUE") for o in ("position", "velocity", "acceleration", "effort")},
    "excite pieces": (SPLINE, "--pieces=VALUE"),
    "check snap": (("check", "arm.urdf"), "--snap=VALUE"),
    "check robot": (("check", "a.csv"), "--robot=VALUE"),
    "validate": (("validate", "VALUE", "a.csv"), ""),
}
QUICK = 9  # one word of so many in `make test`


def run_words(ends_well, arm: Path, line: str, words: Sequence[str]) -> None:
    command, option = LINES[line]
    for word in words:
        ends_well(*(text.replace("VALUE", word) for text in (*command, *option.split())))


@pytest.mark.parametrize("line", LINES)
def test_some_command_lines(ends_well, arm, line, tmp_path, monkeypatch):
    shutil.copytree(arm, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    run_words(ends_well, arm, line, WORDS[list(LINES).index(line) % QUICK :: QUICK])


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_all_command_lines(ends_well, arm, line, tmp_path, monkeypatch):
    shutil.copytree(arm, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    run_words(ends_well, arm, line, WORDS)


@pytest.mark.parametrize(
    "line, said",
    [
        (
            (*FIT, "--fix", "M2=-1"),
            "a moment of inertia, friction or the stiffness of a spring is never negative",
        ),
        ((*FIT, "--fix", "M2=1e275"), "a magnitude of at most 1e+09"),
        ((*FIT, "--fix", "M2=nan"), "a finite number, not 'M2=nan'"),
        ((*FIT, "--fix", "nobody=1"), "there is no parameter called 'nobody'"),
        ((*FIT, "--cutoff", "1e22"), "cutoff_hz of Filter must be a number from 0.001 to 1e+07 [Hz], not 1e+22"),
        ((*LOADED, "--mass", "1e275"), "mass of Load must be a number above 0 and at most 1e+06 [kg], not 1e+275"),
    ],
)
def test_what_is_said(run, arm, line, said, monkeypatch):
    monkeypatch.chdir(arm)
    code, _, err = run(*line)
    assert code == 2 and said in err.splitlines()[-1]


@pytest.mark.parametrize(
    "tables, said",
    [
        ({"estimator": {"name": "wls", "iterations": "x"}}, "must be an integer from 1 to 10000, not 'x'"),
        ({"estimator": {"name": "tls", "ratio": -1}}, "must be a number from 1e-06 to 1e+06, or 0, not -1"),
        ({"estimator": {"name": "physical", "fixed": {"M2": 1}}}, "'estimator.fixed': this key is unknown"),
        (
            {"drive": {"gains": [1e275, 1]}},
            "'drive.gains': this must be a list of numbers whose absolute value",
        ),
        ({"columns": {"rate_hz": 1e22}}, "'columns.rate_hz': this must be a number from 0.01 to 1e+07 [Hz], not 1e+22"),
        (
            {"evaluation": {"cutoff_hz": 5, "rate_hz": 1e6}},
            "'evaluation.rate_hz': efforts cannot be evaluated at 1e+06 Hz",
        ),
        (
            {"logs": {"train": [{"file": "a.csv", "load": {"mass": 1e275}}]}},
            "load.mass': this must be a number above 0",
        ),
        (
            {"model": {"effects": [{"kind": "smooth_coulomb", "width": 0}]}},
            "width': this must be a number from 1e-06",
        ),
    ],
)
def test_what_is_said_of_campaigns(run, arm, tables, said, tmp_path):
    for name in ("arm.urdf", "a.csv"):
        shutil.copy(arm / name, tmp_path)
    code, _, err = run("identify", "--campaign", write(tmp_path / "odd.toml", tables))
    assert code == 2 and said in err
