"""Number of base parameters of public robots: symbolic closed form, numeric rank, and RPNA."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import minertia as mi
from benchmarks.league.environments import Unavailable, data, packages_of
from benchmarks.league.rivals.pinocchio_rank import rank
from benchmarks.league.rivals.rpna import count
from benchmarks.league.rows import OURS, Row
from minertia.io.errors import MinertiaError

SUFFIXES = (".urdf", ".xml", ".par")


def robots() -> Iterator[tuple[str, str | Path]]:
    """Bundled robots, files of the public set where it is here, and those of example-robot-data."""
    for name in mi.list_robots():
        yield f"bundled {name}", name
    for path in sorted(data("robots").iterdir()):
        if path.suffix in SUFFIXES:
            yield path.name, path
    folder = Path(packages_of("robots")) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    for path in sorted(folder.rglob("*.urdf")):
        yield path.relative_to(folder).as_posix().replace("_description/", "/"), path


def rows() -> Iterator[Row | Unavailable]:
    """A row of counts for each robot, and one of agreement."""
    agree = {"RPNA": [0, 0], "rank of Pinocchio's regressor": [0, 0]}
    total = symbolic = 0
    try:
        for name, file in robots():
            start = time.process_time()
            try:
                robot = mi.read_robot(file, base="fixed")
                found = mi.base_parameters(robot)
            except MinertiaError as err:
                yield Row("refused", OURS, name, {}, str(err).replace(str(file), name))
                continue
            seconds = time.process_time() - start
            total += 1
            symbolic += bool(robot.symbols)
            others = {"RPNA": count(robot), "rank of Pinocchio's regressor": rank(robot)}
            for who, value in others.items():
                if value is not None:
                    agree[who][0] += value == found.count
                    agree[who][1] += 1
            figures = {"minertia": found.count, **others, "certificate's rank": found.certificate.rank}
            letters = f"{len(robot.symbols)} symbols" if robot.symbols else "numbers only"
            yield Row("counts", OURS, name, {**figures, "seconds": seconds}, letters)
    except Unavailable as err:
        yield err
    for who, (same, of) in agree.items():
        yield Row(
            "agreement", who, "all robots", {"equal counts": same, "robots": of}, "trees without dependent joints"
        )
    note = f"certified by the rank at random states; {symbolic} with symbols for lengths"
    yield Row("agreement", OURS, "all robots", {"equal counts": total, "robots": total}, note)
