"""Three levels give what the dense fit of all unknowns gives."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.codegen.kernels import build
from minertia.fleet.day_stack import DayStack, merged_stack
from minertia.fleet.elimination import projected
from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.fleet.levels import LOAD, Levels, robot_sums, robot_values, type_values
from minertia.fleet.packed_stack import PackedStack
from minertia.identification.problem.solve import solution
from minertia.identification.problem.triangles import upright
from minertia.io.errors import MinertiaError, ShapeError

LAYOUT = EvidenceLayout(
    ("A", "B", "FV1", "FC1", "FVK1", "FV2", "FC2", "FVK2"), ("one", "two"), ((0, 1, 2, 3, 4), (1, 5, 6, 7))
)
SIGMA = np.array([0.5, 0.1])
LOADED = np.array([0.7, 0.3])


def fleet(robots: int, days: int) -> list[dict[int, FleetEvidence]]:
    rng = np.random.default_rng(0)
    return [
        {10 * d: FleetEvidence.of_rows(LAYOUT, [rng.normal(size=(30, k)) for k in LAYOUT.sizes]) for d in range(days)}
        for _ in range(robots)
    ]


def dense(robots: list[dict[int, FleetEvidence]], load: bool) -> np.ndarray:
    """Values of [type | each robot's own and load | each robot's days] of one large least squares."""
    D, own = len(robots[0]), 2 + load
    width = 2 + len(robots) * (own + 4 * D)
    rows, right = [], []
    for r, days in enumerate(robots):
        first = 2 + r * (own + 4 * D)
        for d, evidence in enumerate(days.values()):
            for i, (R, seen) in enumerate(zip(evidence.triangles, LAYOUT.seen, strict=True)):
                where = {0: 0, 1: 1, 4: first, 7: first + 1}
                where |= {c: first + own + 4 * d + k for k, c in enumerate((2, 3, 5, 6))}
                X = np.zeros((len(R), width))
                for k, c in enumerate(seen):
                    X[:, where[c]] += R[:, k] / SIGMA[i]
                    if load and c < 2:
                        X[:, first + 2] += LOADED[c] * R[:, k] / SIGMA[i]
                rows.append(X)
                right.append(R[:, -1] / SIGMA[i])
    return np.asarray(np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=1e-10)[0])


def test_levels_are_the_dense_fit() -> None:
    robots, levels = fleet(4, 3), Levels.of(LAYOUT)
    assert levels == Levels(("FV1", "FC1", "FV2", "FC2"), ("FVK1", "FVK2"), ("A", "B"))
    sums = [robot_sums(DayStack.of(days), levels, SIGMA) for days in robots]
    found, wanted = type_values(sums), dense(robots, load=False)
    np.testing.assert_allclose(found.values, wanted[:2], rtol=1e-9)
    for r, own in enumerate(sums):
        values = robot_values(own, found.by_name())
        first = 2 + r * 14
        np.testing.assert_allclose([values.own["FVK1"], values.own["FVK2"]], wanted[first : first + 2], rtol=1e-8)
        assert values.day_names == ("FV1", "FC1", "FV2", "FC2")
        np.testing.assert_allclose(values.days.ravel(), wanted[first + 2 : first + 14], rtol=1e-8)


def test_a_load_of_each_robot_is_found_beside_the_type() -> None:
    """A load is a direction of the type's own columns: differences of loads are told, their mean is the type's."""
    robots, levels = fleet(4, 3), Levels.of(LAYOUT, load=LOADED)
    sums = [robot_sums(DayStack.of(days), levels, SIGMA) for days in robots]
    found, wanted = type_values(sums), dense(robots, load=True)
    loads = np.array([robot_values(own, found.by_name()).own[LOAD] for own in sums])
    np.testing.assert_allclose(loads - loads[0], wanted[4::15] - wanted[4], atol=1e-8)


def test_columns_that_a_day_does_not_show_take_nothing_away() -> None:
    days = fleet(1, 2)[0]
    still = {d: e.fixed({"FV1": 0.0}) for d, e in days.items()}
    zeroed = {}
    for d, e in days.items():
        rows = [R.copy() for R in e.triangles]
        rows[0][:, 2] = 0.0
        zeroed[d] = FleetEvidence.of_rows(LAYOUT, rows)
    with_zero, _ = projected(DayStack.of(zeroed), ("FV1", "FC1"))
    without, _ = projected(DayStack.of(still), ("FC1",))
    for a, b in zip(with_zero.rows, without.rows, strict=True):
        np.testing.assert_allclose(a[0].T @ a[0], b[0].T @ b[0], atol=1e-10)
    values = robot_values(robot_sums(DayStack.of(zeroed), Levels.of(LAYOUT), SIGMA), {"A": 0.0, "B": 0.0})
    assert np.all(np.isnan(values.days[:, 0])) and np.all(np.isfinite(values.days[:, 1]))


def test_a_column_of_two_efforts_can_be_a_days_own() -> None:
    days = fleet(1, 2)[0]
    left, head = projected(DayStack.of(days), ("B", "FV1"))
    assert left.layout.efforts == ("all",) and head.names == (("B", "FV1"),)


def test_friction_that_two_efforts_feel_is_weighed_by_the_noise_of_each() -> None:
    """Coupled joints: a day's column belongs to two efforts, which then become one."""
    layout = EvidenceLayout(("A", "FV1", "FC1"), ("one", "two"), ((0, 1), (0, 1, 2)))
    rng = np.random.default_rng(5)
    days = {d: FleetEvidence.of_rows(layout, [rng.normal(size=(9, k)) for k in layout.sizes]) for d in range(8)}
    sums = robot_sums(DayStack.of(days), Levels.of(layout), SIGMA)
    found = robot_values(sums, {"A": 0.2}).days
    for d, own in days.items():
        part = own.weighted(SIGMA).fixed({"A": 0.2})
        np.testing.assert_allclose(found[d], solution(part.total), rtol=1e-9)


@pytest.mark.parametrize("odd", ["", "one day unlike the others", "a column that some days lack", "nothing"])
def test_days_merge_as_accurately_as_by_qr(odd: str) -> None:
    """Columns 1e-5 apart and of sizes 1e8 apart; squares would leave nothing of the difference."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30, 9, 6))
    rows[:, :, 2] = rows[:, :, 1] + 1e-5 * rows[:, :, 2]
    rows *= 10.0 ** np.array([0, 4, 4, -4, 1, 0])
    if odd == "one day unlike the others":
        rows[7] *= 1e6 ** rng.uniform(-1, 1, size=(9, 6))
    elif odd == "a column that some days lack":
        rows[:28, :, 3] = 0.0
    elif odd == "nothing":
        rows[:, :, 4] = 0.0
    layout = EvidenceLayout(tuple("ABCDE"), ("one",), ((0, 1, 2, 3, 4),))
    (found,) = merged_stack(DayStack(layout, tuple(range(30)), (rows,), np.ones((30, 1)))).triangles
    wanted = upright(rows.reshape(-1, 6))
    sizes = np.maximum(np.linalg.norm(wanted, axis=0), 1e-300)
    np.testing.assert_allclose(found / sizes, wanted / sizes, atol=1e-13)
    inner = np.diag(wanted) > 1e-12 * sizes
    np.testing.assert_allclose(np.diag(found)[inner], np.diag(wanted)[inner], rtol=1e-9)


@pytest.mark.parametrize(
    "case", ["", "a joint that stands on a day", "a column that days explain", "other columns first"]
)
def test_packed_days_are_fitted_as_their_matrices(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days' own columns come first in records: what is below them is what is left, wherever days show them all."""
    names = ("FV1", "FC1", "FVK1", "FV2", "FC2", "FVK2", "A", "B")
    seen = ((0, 1, 2, 6, 7), (3, 4, 5, 7))
    if case == "others first":
        names, seen = LAYOUT.names, LAYOUT.seen
    layout, rng, days = EvidenceLayout(names, ("one", "two"), seen), np.random.default_rng(3), {}
    for d in range(9):
        rows = [rng.normal(size=(40, k)) for k in layout.sizes]
        if case == "a joint that stands on a day" and d == 4:
            rows[0][:] = 0.0
        if case == "a column that days explain":
            rows[1][:, 2] = (1 + d) * rows[1][:, 0]
        days[d] = FleetEvidence.of_rows(layout, rows)
    packed, samples = np.stack([e.packed() for e in days.values()]), np.stack([e.samples for e in days.values()])
    stack, levels = PackedStack.of(layout, list(days), packed, samples), Levels.of(layout, load=LOADED)
    wanted = robot_sums(DayStack.of(days).forgotten(4.0), levels, SIGMA)
    np.testing.assert_allclose(stack.weighted(SIGMA).noise(), DayStack.of(days).weighted(SIGMA).noise(), rtol=1e-12)
    for module in (build.native(), None):
        monkeypatch.setattr(build, "native", lambda module=module: module)
        found = robot_sums(stack.forgotten(4.0), levels, SIGMA)
        np.testing.assert_allclose(found.covariance, wanted.covariance, rtol=1e-9, atol=1e-12)
        squares, those = (own.up.total.T @ own.up.total for own in (found, wanted))
        np.testing.assert_allclose(squares, those, rtol=1e-9, atol=1e-9)
        values, others = (robot_values(own, {"A": 0.3, "B": -0.2}) for own in (found, wanted))
        np.testing.assert_allclose(list(values.own.values()), list(others.own.values()), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(values.days, others.days, rtol=1e-9)
        assert values.day_names == others.day_names and list(values.own) == list(others.own)


def test_packed_days_are_the_same_stack() -> None:
    days = fleet(1, 3)[0]
    stack = DayStack.of(days)
    order = [20, 0, 10]
    packed = np.stack([days[d].packed() for d in order])
    again = PackedStack.of(LAYOUT, order, packed, np.stack([days[d].samples for d in order]))
    assert again.days == stack.days
    assert all(np.array_equal(a, b) for a, b in zip(again.unpacked().rows, stack.rows, strict=True))
    half = stack.forgotten(10.0)
    np.testing.assert_allclose(half.samples[0], stack.samples[0] / 4)


def test_wrong_stacks_are_refused() -> None:
    with pytest.raises(MinertiaError, match="no day"):
        DayStack.of({})
    with pytest.raises(ShapeError, match="2 numbers"):
        Levels.of(LAYOUT, load=np.zeros(3))
