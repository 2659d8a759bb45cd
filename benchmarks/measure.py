"""Rows of the page and how they are timed: in turns, in one process, by the processor time of one thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

ROUNDS = 15
TURN = 0.02  # s: shorter turns are repeated until they last as long as the other's, or this long


@dataclass(frozen=True)
class Row:
    """One comparison: seconds per unit of work (median of the rounds) of ours and of the peer.

    goal: the ratio that was asked for on a machine with 8 lanes (AVX-512), None where none was; spread: quartiles of
    the ratio over the rounds; middle: its median, where both were timed in turns (a slow spell hits both of a round,
    but not both medians alike).
    """

    subject: str
    ours: float
    peer: float | None = None
    peer_name: str = ""
    goal: float | None = None
    spread: tuple[float, float] | None = None
    note: str = ""
    middle: float | None = None

    @property
    def ratio(self) -> float | None:
        if self.middle is not None:
            return self.middle
        return None if self.peer is None else self.peer / self.ours


def seconds(do: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> float:
    start = clock()
    do()
    return clock() - start


def median_time(do: Callable[[], object], rounds: int = ROUNDS) -> float:
    do()
    return statistics.median(seconds(do) for _ in range(rounds))


def compare(
    subject: str,
    ours: tuple[Callable[[], object], float],
    peer: tuple[Callable[[], object], float],
    peer_name: str,
    goal: float | None = None,
    note: str = "",
    rounds: int = ROUNDS,
    is_lone: bool = False,
) -> Row:
    """Two things in turns; each is (what to do, how many units of work that is).

    Turns last about as long as each other: a processor needs some 0.2 ms to settle on the clock of other code (wide
    vectors run at a lower one), which a short turn would pay for alone.  is_lone: one of ours in a turn all the same.
    """
    lengths = [_length(do) for do, _ in (ours, peer)]
    (do_ours, n_ours), (do_peer, n_peer) = (
        _repeated(*each, 1 if is_lone else round(min(max(lengths), TURN) / length))
        for each, length in zip((ours, peer), lengths, strict=True)
    )
    times = [(seconds(do_ours) / n_ours, seconds(do_peer) / n_peer) for _ in range(rounds)]
    ratios = sorted(b / a for a, b in times)
    quartiles = ratios[len(ratios) // 4], ratios[(3 * len(ratios)) // 4]
    a, b = (statistics.median(column) for column in zip(*times, strict=True))
    return Row(subject, a, b, peer_name, goal, quartiles, note, statistics.median(ratios))


def _length(do: Callable[[], object]) -> float:
    """Seconds, of what is short after it has been done before."""
    first = seconds(do)
    return first if first > TURN else min(seconds(do) for _ in range(2))


def _repeated(do: Callable[[], object], units: float, times: int) -> tuple[Callable[[], object], float]:
    if times <= 1:
        return do, units
    return lambda: [do() for _ in range(times)], units * times


def fastest(builds: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> str:
    """The name of what takes the least time, in turns: a slow spell must not choose the slower build."""
    times = [{name: seconds(do) for name, do in builds.items()} for _ in range(rounds)]
    return min(builds, key=lambda name: min(row[name] for row in times))
