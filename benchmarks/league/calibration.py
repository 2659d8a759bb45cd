"""Geometric calibration beside FIGAROH, on the three sets of its own examples, and of MUKCa's arms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

from benchmarks import calibration
from benchmarks.league.environments import Unavailable, data, python_of
from benchmarks.league.rows import OURS, Row

# of an earlier run of its repository at c3b5172 on the same split, with the start of the base given
STATED = {"talos": 0.91}
EARLIER = "repository at c3b5172 on the same split, not repeated here"


MUKCA: dict[str, float | int | str | None] = {"mean error [mm]": 0.2}  # of its abstract, absolute errors


def rows() -> Iterator[Row | Unavailable]:
    """Two thirds of the postures fitted, every third one judged; of MUKCa's arms each place left out in turn."""
    try:
        folder, robots = data("data"), data("robots")
    except Unavailable as err:
        yield err
        return
    yield from _sockets(folder / "mukca_panda", robots)
    try:
        python = python_of("figaroh")
    except Unavailable as err:
        yield err
        return
    for name, ours, levels, theirs in calibration.beside_figaroh(folder / "figaroh_calibration", robots, python):
        note = f"corrections chosen on the fitted postures: {levels}"
        yield Row(name, OURS, f"{name}.csv", _figures(ours), note)
        if isinstance(theirs, str):
            yield Unavailable(f"{name}: {theirs}")
            if name in STATED:
                yield Row(name, "FIGAROH", f"{name}.csv", {"unseen error [mm]": STATED[name]}, EARLIER, stated=True)
        else:
            yield Row(
                name, "FIGAROH 1.0.2", f"{name}.csv", _figures(theirs), "level full_params, base and tool unknown"
            )


def _figures(score: calibration.Score) -> dict[str, float | int | str | None]:
    mean = float(score.errors.mean())
    return {
        "unseen error [mm]": score.rms,
        "mean error [mm]": mean,
        "seconds": score.seconds,
        "lines of user code": score.lines,
    }


def _sockets(folder: Path, robots: Path) -> Iterator[Row]:
    """All readings of an arm together, each fitted without its place."""
    for name, found in groupby(calibration.sockets(folder, robots), key=lambda entry: entry[0]):
        entries = list(found)
        scores = [score for _, _, score, _ in entries]
        errors = np.concatenate([score.errors for score in scores])
        whole = calibration.Score(float(np.mean([score.seconds for score in scores])), errors, scores[0].lines)
        by_place = ", ".join(f"{place} {score.rms:.2f}" for _, place, score, _ in entries)
        yield Row(name, OURS, f"{name}.csv", _figures(whole), f"by place left out [mm]: {by_place}")
    note = "its paper (arXiv 2503.12584) on several Frankas, from about 10 mm; on which places is not said"
    yield Row("pandas", "MUKCa", "as published", dict(MUKCA), note, stated=True)
