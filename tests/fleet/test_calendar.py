"""The dates alone decide in which order evidence is merged."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.fleet.calendar import CalendarTree, DayLog, cover, day_evidence, day_name, day_number
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.io.errors import MinertiaError

LAYOUT = EvidenceLayout(("A", "B", "C"), ("one", "two"), ((0, 1, 2), (1,)))
START = day_number("2026-03-01")


def evidence(seed: int) -> FleetEvidence:
    rng = np.random.default_rng(seed)
    return FleetEvidence.of_rows(LAYOUT, [rng.normal(size=(20, k)) for k in LAYOUT.sizes])


def days(count: int, missing: tuple[int, ...] = ()) -> dict[int, FleetEvidence]:
    return {START + d: evidence(d) for d in range(count) if d not in missing}


def test_bits_do_not_depend_on_the_order_of_arrival() -> None:
    every = days(60, missing=(7, 8, 30))
    wanted = CalendarTree(every).window(START, START + 59)
    assert wanted is not None
    for seed in range(4):
        tree = CalendarTree({})
        for d in np.random.default_rng(seed).permutation(sorted(every)).tolist():
            tree = tree.with_days({d: every[d]})
            tree.node(6, d >> 6)  # what was asked in between leaves no trace
        found = tree.window(START, START + 59)
        assert found is not None and np.array_equal(found.packed(), wanted.packed())


def test_a_window_is_the_evidence_of_its_days() -> None:
    every = days(45, missing=(3, 20))
    found = CalendarTree(every).window(START + 2, START + 33)
    assert found is not None
    grams = sum(e.total.T @ e.total for d, e in every.items() if START + 2 <= d <= START + 33)
    np.testing.assert_allclose(found.total.T @ found.total, grams, atol=1e-9)
    assert CalendarTree(every).window(START + 100, START + 120) is None


def test_windows_are_covered_once() -> None:
    for first, last in ((5, 5), (0, 63), (7, 100), (START, START + 364)):
        nodes = list(cover(first, last))
        seen = [d for level, n in nodes for d in range(n << level, (n + 1) << level)]
        assert seen == list(range(first, last + 1)) and len(nodes) < 20


def test_logs_of_a_day_are_sorted_before_they_are_merged() -> None:
    logs = [DayLog(float(k // 2), f"{9 - k}", evidence(k)) for k in range(5)]
    wanted = day_evidence(logs).packed()
    assert np.array_equal(day_evidence(logs[::-1]).packed(), wanted)
    with pytest.raises(MinertiaError, match="no log"):
        day_evidence([])


def test_days_have_names() -> None:
    assert day_name(day_number("2026-02-28") + 1) == "2026-03-01"
    with pytest.raises(MinertiaError, match="'1.3.26' is not a date"):
        day_number("1.3.26")
