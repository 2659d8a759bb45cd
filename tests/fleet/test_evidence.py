"""What is asked of stored triangles is what the rows would have answered."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.fleet.evidence import EvidenceLayout, FleetEvidence
from minertia.io.errors import MinertiaError, ShapeError, UnknownName

LAYOUT = EvidenceLayout(("A", "B", "C", "D"), ("one", "two"), ((0, 1, 2), (1, 3)))


def rows(seed: int, count: int = 60) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(count + 7 * i, k)) for i, k in enumerate(LAYOUT.sizes)]


def gram(evidence: FleetEvidence) -> np.ndarray:
    return np.asarray(evidence.total.T @ evidence.total)


def dense(parts: list[np.ndarray], layout: EvidenceLayout = LAYOUT) -> np.ndarray:
    """All rows over all names, the effort last."""
    k = len(layout.names)
    full = [np.zeros((len(p), k + 1)) for p in parts]
    for into, own, part in zip(full, layout.seen, parts, strict=True):
        into[:, [*own, k]] = part
    return np.concatenate(full)


def test_packing_keeps_every_bit() -> None:
    evidence = FleetEvidence.of_rows(LAYOUT, rows(0))
    again = FleetEvidence.unpacked(LAYOUT, evidence.packed(), evidence.samples)
    assert len(evidence.packed()) == LAYOUT.packed_length == 10 + 6
    assert all(np.array_equal(a, b) for a, b in zip(evidence.triangles, again.triangles, strict=True))
    assert all(np.all(np.diag(R) >= 0) for R in evidence.triangles)


def test_merging_is_the_evidence_of_all_rows() -> None:
    a, b = rows(1), rows(2)
    both = FleetEvidence.of_rows(LAYOUT, a).merged(FleetEvidence.of_rows(LAYOUT, b))
    W = np.concatenate([dense(a), dense(b)])
    np.testing.assert_allclose(gram(both), W.T @ W, atol=1e-10)
    assert both.samples.tolist() == [120, 134]


def test_columns_are_chosen_in_any_order() -> None:
    parts = rows(3)
    chosen = FleetEvidence.of_rows(LAYOUT, parts).columns(("D", "B"))
    W = dense(parts)[:, [3, 1, 4]]
    np.testing.assert_allclose(gram(chosen), W.T @ W, atol=1e-10)
    assert chosen.layout.seen == ((1,), (0, 1))


def test_known_values_are_taken_off() -> None:
    parts = rows(4)
    rest = FleetEvidence.of_rows(LAYOUT, parts).fixed({"B": 2.0, "C": -1.0})
    W = dense(parts)
    W[:, 4] -= 2.0 * W[:, 1] - W[:, 2]
    np.testing.assert_allclose(gram(rest), W[:, [0, 3, 4]].T @ W[:, [0, 3, 4]], atol=1e-10)


def test_weights_and_forgetting_scale_rows() -> None:
    parts = rows(5)
    evidence = FleetEvidence.of_rows(LAYOUT, parts).weighted(np.array([2.0, 5.0])).forgotten(0.25)
    W = dense([parts[0] / 4, parts[1] / 10])
    np.testing.assert_allclose(gram(evidence), W.T @ W, atol=1e-10)
    np.testing.assert_allclose(evidence.samples, [15.0, 16.75])


def test_residuals_need_no_rows() -> None:
    parts, beta = rows(6), np.array([0.3, -1.0, 2.0, 0.1])
    W = dense(parts)
    square = (W @ np.append(-beta, 1.0)) ** 2
    expected = [square[: len(parts[0])].sum(), square[len(parts[0]) :].sum()]
    np.testing.assert_allclose(FleetEvidence.of_rows(LAYOUT, parts).residuals(beta), expected)


def test_the_superset_fit_takes_columns_that_nothing_shows() -> None:
    parts = rows(7)
    parts[0][:, 2] = 0.0  # C never moves anything
    beta = FleetEvidence.of_rows(LAYOUT, parts).superset_fit()
    assert np.all(np.isfinite(beta)) and beta[2] == 0.0


def test_wrong_questions_are_refused() -> None:
    evidence = FleetEvidence.of_rows(LAYOUT, rows(8))
    with pytest.raises(UnknownName, match="column called 'E'"):
        evidence.columns(("E",))
    with pytest.raises(MinertiaError, match="different columns"):
        evidence.merged(evidence.columns(("A",)))
    with pytest.raises(MinertiaError, match="no time blocks"):
        evidence.spread()
    with pytest.raises(MinertiaError, match="between 0 and 1"):
        evidence.forgotten(1.5)
    with pytest.raises(ShapeError, match="16 numbers"):
        FleetEvidence.unpacked(LAYOUT, np.zeros(3), np.zeros(2))
    with pytest.raises(ShapeError, match="ascending"):
        EvidenceLayout(("A",), ("one",), ((1,),))
