"""Odd values in every key of a campaign and in every number of a command: a result, or one sentence to follow."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.arm import ARM, simulated
from tests.identification.logs import table, write_csv

INF, NAN = float("inf"), float("nan")
NUMBERS: tuple[Any, ...] = (0, -1, 1e-308, 1e-22, 1e22, 1e275, 1e308, -1e308, 10**30, -(10**400), NAN, INF, -INF)
OTHERS: tuple[Any, ...] = ("", "x", "?", True, [], [[]], {}, ["x"], [{}], [1.0, 2.0, 3.0], [NAN, INF], "1979-05-27")
ODD = (*NUMBERS, *OTHERS)
LISTS = tuple([a, b] for a, b in ((0, 0), (-1, 1), (1e275, 1), (1e-308, 1), (1e308, -1e308), (NAN, 1), (10**400, 1)))
# table -> key -> whether it takes a list of one number per joint
KEYS: dict[str, tuple[str, ...]] = {
    "": ("format", "name", "robot", "gravity", "joints", "hold", "logs", "columns", "drive", "filter", "model",
         "estimator", "evaluation", "unknown"),
    "logs": ("train", "validate", "stamps", "resample", "standstill", "unknown"),
    "columns": ("t", "time_unit", "rate_hz", "q", "qd", "qdd", "effort", "effort_unit", "angle", "length", "header",
                "delimiter", "decimal", "topic", "unknown"),
    "drive": ("position", "effort", "gains", "ratios", "coupling", "signs", "effort_signs", "offsets", "offsets_deg",
              "delay", "unknown"),
    "filter": ("cutoff_hz", "order", "derivative", "window", "degree", "rate_hz", "parallel_hz", "on", "trim_s",
               "unknown"),
    "model": ("effects", "fix", "prior", "unknown"),
    "estimator": ("name", "unknown"),
    "evaluation": ("cutoff_hz", "rate_hz", "trim_s", "log_unit", "unknown"),
}  # fmt: skip
PER_JOINT = ("gains", "ratios", "signs", "effort_signs", "offsets", "offsets_deg")
OPTIONS = {
    "weighted": ("iterations",),
    "ordinary": (),
    "robust": ("threshold", "iterations", "tolerance"),
    "total": ("ratio",),
    "instrumental": ("bandwidth", "segments", "iterations", "tolerance"),
    "ridge": ("weight",),
    "sequential": (),
    "offline": (),
    "recursive": ("forgetting",),
    "physical": ("weight", "kind", "margin"),
    "auto": (),
}
EFFECTS = {
    "smooth_coulomb": ("width",),
    "stribeck": ("velocity",),
    "spring": ("rest",),
    "gas_spring": ("outer", "inner", "closed", "angle", "angle_deg", "volume", "area", "energy"),
    "viscous": (),
}
GAS = {"joints": [2], "outer": 0.8, "inner": 0.2, "closed": 0.6, "volume": 1e-3, "area": 1e-3, "energy": 1e3}
NEEDED = {"smooth_coulomb": {"width": 0.1}, "gas_spring": GAS}
ENTRY = ("file", "from", "to", "load", "unknown")
LOAD = ("mass", "com", "inertia", "at", "unknown")


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


def campaigns() -> list[tuple[str, dict[str, dict[str, Any]]]]:
    """Every odd campaign, with a name that says what is odd in it."""
    found: list[tuple[str, dict[str, dict[str, Any]]]] = []

    def add(where: str, value: Any, **tables: dict[str, Any]) -> None:
        found.append((f"{where}={toml(value)[:30]}", tables))

    for name, keys in KEYS.items():
        for key in keys:
            for value in (*ODD, *(LISTS if key in PER_JOINT else ())):
                more = {"cutoff_hz": 5, "rate_hz": 20} if name == "evaluation" else {}
                add(f"{name}.{key}", value, **{name or "top": {**more, key: value}})
    for name, keys in OPTIONS.items():
        for key in (*keys, "prior", "fixed", "unknown"):
            for value in ODD:
                add(f"{name}.{key}", value, estimator={"name": name, key: value})
    for kind, keys in EFFECTS.items():
        for key in (*keys, "joints", "known", "unknown"):
            for value in ODD:
                add(f"{kind}.{key}", value, model={"effects": ["viscous"][: kind != "viscous"]
                    + [{"kind": kind, **NEEDED.get(kind, {}), key: value}]})  # fmt: skip
    for value in ODD:
        for key in ENTRY:
            add(f"entry.{key}", value, logs={"train": [{"file": "a.csv", key: value}]})
        for key in LOAD:
            add(f"load.{key}", value, logs={"train": [{"file": "a.csv", "load": {"mass": 1.0, key: value}}]})
        for name in ("M2", "FC1", "MYR1", "unknown"):
            add(f"fix.{name}", value, model={"fix": {name: value}})
        add("hold.elbow", value, top={"hold": {"elbow": value}})
        add("gravity", value, top={"gravity": [0, 0, value]})
        add("coupling", value, drive={"coupling": [[1, 0], [value, 1]], "position": "motor"})
    return found


CAMPAIGNS = campaigns()


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    """A folder with a robot and short logs of it."""
    from minertia.robot.read import read_robot

    folder = tmp_path_factory.mktemp("odd")
    (folder / "arm.urdf").write_text(ARM.format(name="arm"))
    for name, phase in (("a", 0.1), ("b", 2.0)):
        motion = simulated(read_robot(folder / "arm.urdf"), phase, seconds=5.0, rate=100.0)
        write_csv(folder / f"{name}.csv", table(motion, q="q", tau="tau"))
    return folder


@pytest.fixture
def ends_well(run):
    """Run a command: exit code 0 or 1 and a result, or exit code 2 and one sentence."""

    def check(*args: object) -> str:
        code, out, err = run(*args)
        assert code in (0, 1, 2), f"{args}: {err}"
        if code == 2:
            assert out == "" and err.count("\n") == 1 and len(err) > 20, f"{args}: {err}"
        else:
            assert out and "nan" not in out.split(), f"{args}: {out}"
        return err

    return check


def write(path: Path, tables: dict[str, dict[str, Any]]) -> Path:
    usual = {"top": {"format": 1, "robot": "arm.urdf"}, "logs": {"train": ["a.csv"]}, "filter": {"cutoff_hz": 10}}
    lines = []
    for name in ("top", *(n for n in KEYS if n)):
        entries = {**usual.get(name, {}), **tables.get(name, {})}
        if name != "top" and name in tables.get("top", {}):
            continue
        lines += [] if name == "top" else [f"[{name}]"]
        lines += [f'"{key}" = {toml(value)}' for key, value in entries.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("part", range(0, len(CAMPAIGNS)))
def test_campaigns(ends_well, arm, part, tmp_path):
    for name in ("arm.urdf", "a.csv"):
        shutil.copy(arm / name, tmp_path)
    ends_well("identify", "--campaign", write(tmp_path / "odd.toml", CAMPAIGNS[part][1]), "--json")
