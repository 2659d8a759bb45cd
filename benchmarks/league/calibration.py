"""Geometric calibration beside FIGAROH, on the three sets of its own examples."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import calibration
from benchmarks.league.environments import Unavailable, data, python_of
from benchmarks.league.rows import OURS, Row

# of an earlier run of its repository at c3b5172 on the same split, with the start of the base given
STATED = {"talos": 0.91}
EARLIER = "repository at c3b5172 on the same split, not repeated here"


def rows() -> Iterator[Row | Unavailable]:
    """Two thirds of the postures fitted, every third one judged."""
    try:
        folder, robots, python = data("data") / "figaroh_calibration", data("robots"), python_of("figaroh")
    except Unavailable as err:
        yield err
        return
    for name, ours, levels, theirs in calibration.beside_figaroh(folder, robots, python):
        seconds, left = ours
        figures = {"unseen error [mm]": left, "seconds": seconds}
        yield Row(name, OURS, f"{name}.csv", figures, f"corrections chosen on the fitted postures: {levels}")
        if isinstance(theirs, str):
            yield Unavailable(f"{name}: {theirs}")
            if name in STATED:
                yield Row(name, "FIGAROH", f"{name}.csv", {"unseen error [mm]": STATED[name]}, EARLIER, stated=True)
        else:
            figures = {"unseen error [mm]": theirs[1], "seconds": theirs[0]}
            yield Row(name, "FIGAROH 1.0.2", f"{name}.csv", figures, "level full_params, base and tool unknown")
