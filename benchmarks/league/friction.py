"""Friction of single joints beside eight published predictions: first half of each log fitted, second judged."""

from __future__ import annotations

import csv
import gzip
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import minertia as mi
from benchmarks.league.environments import Unavailable, data
from benchmarks.league.rows import OURS, Row
from minertia.identification import score_model
from minertia.options import ColumnMap

METHODS = ("CV", "Dahl", "Stribeck", "LuGre", "SVM", "Light_Transformer", "PINN", "NNFM")
LEARNED = ("SVM", "Light_Transformer", "PINN", "NNFM")
JOINT = """<robot name="joint"><link name="ground"/><link name="link"/>
<joint name="joint" type="continuous"><parent link="ground"/><child link="link"/><axis xyz="0 0 1"/></joint></robot>"""
GRAVITY = (9.81, 0, 0)  # across the axis: the column has the errors of its authors' rigid-body model, also of gravity
COLUMNS = ColumnMap(t="t", q=("q",), effort=("friction",), effort_unit="Nm")


def rows() -> Iterator[Row | Unavailable]:
    """Ours and theirs on each log, all of them scored by `minertia score`."""
    try:
        files = sorted((data("data") / "nnfm_friction").glob("*.csv.gz"))
    except Unavailable as err:
        yield err
        return
    with tempfile.TemporaryDirectory() as name:
        for file in files:
            yield from _entries(file, Path(name))


def _entries(file: Path, folder: Path) -> Iterator[Row]:
    name = file.name.removesuffix(".csv.gz")
    with gzip.open(file, "rt", encoding="utf-8") as text:
        table = [{key: float(v) for key, v in row.items()} for row in csv.DictReader(text)]
    t = np.array([row["t"] for row in table])
    middle = float(t[0] + t[-1]) / 2
    (folder / "joint.urdf").write_text(JOINT, encoding="utf-8")
    campaign = mi.Campaign(
        mi.read_robot(folder / "joint.urdf", gravity=GRAVITY), [mi.Log(file, stop=middle)],
        [mi.Log(file, start=middle)], columns=COLUMNS, memory=True,
    )  # fmt: skip
    start = time.process_time()
    found = mi.identify(campaign)
    seconds = time.process_time() - start
    model = found.model(physical=False)
    left = score_model(model, found.problem).validation[0].relative
    effects = ", ".join(model.effect_names)
    yield Row(name, OURS, name, {"unseen residual [%]": 100 * left, "seconds": seconds}, f"chosen by itself: {effects}")
    own = np.concatenate([[True], np.diff(np.maximum.accumulate(t)) > 0])  # stamps that repeat or jump back
    for method in METHODS:
        values = np.array([row[method] for row in table])
        path = folder / f"{name}.csv"
        np.savetxt(path, np.column_stack([t, values])[own], delimiter=",", header="t,tau1", comments="", fmt="%.9g")
        kind = "learned by its authors; whether it saw this log is not stated" if method in LEARNED else "as published"
        try:
            left = 100 * score_model(path, found.problem).validation[0].relative
        except mi.MinertiaError:
            left, kind = None, "its column diverges"
        yield Row(name, f"{method} of NNFM's authors", name, {"unseen residual [%]": left}, kind)
