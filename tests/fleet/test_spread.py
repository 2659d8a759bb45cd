"""Intervals from stored scores hold what they state under residuals with memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.simulated_fleet import SimulatedFleet
from benchmarks.simulated_program import simulated_model

from minertia.fleet.evidence import LEFT_OUT, EvidenceLayout, FleetEvidence, Stretches
from minertia.identification.problem.solve import solution
from minertia.identification.problem.triangles import triangle

OWN = ("FV", "FC", "OFF", "FCL", "FVK", "FCK", "KS")


def chosen_names() -> list[str]:
    own = [f"{symbol}{j + 1}" for j in range(6) for symbol in OWN]
    return [*simulated_model().names, *own]


def covered(fits: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Part of the fits in which each interval holds the truth, and in which that for white residuals does."""
    names, fleet = chosen_names(), SimulatedFleet(1, fits, seed, programs=1, day_effects=(0.0, 0.0, 0.0), plain=True)
    truth = np.array([fleet.true_values(0, 0)[name] for name in names])
    inside, white = np.zeros((2, len(names)))
    for day in fleet.robot(0).values():
        own = day.evidence.columns(names).weighted(fleet.sigma)
        beta, spread = solution(own.total), own.spread()
        assert own.unexplained(beta) < LEFT_OUT
        alone = np.sqrt(np.diag(spread.white))
        inside += np.abs(beta - truth) < spread.half_width(spread.inflation * alone)
        white += np.abs(beta - truth) < 1.96 * alone
    return inside / fits, white / fits


@pytest.mark.slow
def test_coverage_of_two_hundred_fits() -> None:
    inside, white = covered(200, 0)
    assert 0.92 < inside.mean() < 0.98 and inside.min() > 0.8
    assert white.mean() < 0.7  # what the textbook would state


def test_coverage() -> None:
    inside, white = covered(60, 1)
    assert 0.91 < inside.mean() < 0.985 and white.mean() < 0.7


def test_scores_of_weights_and_columns_are_those_of_the_rows() -> None:
    """A day's scores add to zero over its stretches, for any columns and weights: they are of its own fit."""
    fleet = SimulatedFleet(1, 1, 2, programs=1, plain=True)
    evidence: FleetEvidence = next(iter(fleet.robot(0).values())).evidence
    part = evidence.columns(chosen_names()[::-1]).weighted(fleet.sigma)
    assert part.stretches is not None and evidence.stretches is not None
    np.testing.assert_allclose(part.stretches.rest, evidence.stretches.rest / fleet.sigma**2)
    for score, wanted, s in zip(part.stretches.scores, evidence.stretches.scores, fleet.sigma, strict=True):
        assert np.linalg.norm(score) < np.linalg.norm(wanted) / s**2
    twice = evidence.merged(evidence).columns(chosen_names()).spread(fleet.sigma)
    once = evidence.columns(chosen_names()).spread(fleet.sigma)
    ratio = np.sqrt(np.diag(twice.covariance) / np.diag(once.covariance))
    np.testing.assert_allclose(ratio, np.sqrt(0.5), rtol=0.02)  # two days are known better by the root of two


def test_stretch_triangles_give_the_robust_variance_of_the_rows() -> None:
    """CR2 and the degrees of freedom of Bell and McCaffrey, written out with every row and the whole hat matrix."""
    rng = np.random.default_rng(3)
    layout = EvidenceLayout(("A", "B", "C", "D"), ("one", "two"), ((0, 1, 2), (1, 3)))
    sigma, sizes = np.array([0.5, 2.0]), (9, 5, 12, 7, 8, 6)
    parts = [[rng.normal(size=(n, k)) * (1 + b) for k in layout.sizes] for b, n in enumerate(sizes)]
    whole = FleetEvidence.of_rows(layout, [np.concatenate(own) for own in zip(*parts, strict=True)])
    stretches = tuple(np.stack([triangle(own[i]) for own in parts]) for i in range(2))
    kept = Stretches((), (), np.array(sizes, float), np.ones(2), np.ones(2), stretches)
    names, known = ("D", "B", "A"), {"C": 0.3}
    found = replace(whole, stretches=replace(kept, scores=_zeros(layout), diagonals=_zeros(layout)))
    found = found.columns((*names, "C")).fixed(known).columns(names)
    wanted, freedom = _by_rows(layout, parts, sigma, names, known)
    spread = found.spread(sigma)
    np.testing.assert_allclose(spread.covariance, wanted, rtol=1e-8)
    np.testing.assert_allclose(spread.freedom, freedom, rtol=1e-8)
    assert np.all(freedom > 2) and spread.blocks == len(sizes)


def _zeros(layout: EvidenceLayout) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros((6, len(own)), np.float32) for own in layout.seen)


def _by_rows(
    layout: EvidenceLayout,
    parts: list[list[np.ndarray]],
    sigma: np.ndarray,
    names: tuple[str, ...],
    known: dict[str, float],
) -> tuple[np.ndarray, np.ndarray]:
    X, y, cluster = [], [], []
    for b, efforts in enumerate(parts):
        for own, titles, s in zip(efforts, layout.titles, sigma, strict=True):
            X.append(np.column_stack([own[:, titles.index(n)] if n in titles else 0 * own[:, 0] for n in names]) / s)
            taken = sum((v * own[:, titles.index(n)] for n, v in known.items() if n in titles), np.zeros(len(own)))
            y.append((own[:, -1] - taken) / s)
            cluster += [b] * len(own)
    W, tau, of = np.concatenate(X), np.concatenate(y), np.array(cluster)
    inv = np.linalg.inv(W.T @ W)
    hat = W @ inv @ W.T
    e, wider = tau - hat @ tau, np.zeros_like(hat)
    for b in range(len(parts)):
        own = np.ix_(of == b, of == b)
        w, V = np.linalg.eigh(np.eye(np.sum(of == b)) - hat[own])
        wider[own] = V / np.sqrt(w) @ V.T
    z = np.array([W[of == b].T @ (wider @ e)[of == b] for b in range(len(parts))])
    g = np.stack([wider @ (W @ inv * (of == b)[:, None]) for b in range(len(parts))])  # (B, N, k)
    M = np.einsum("bna,nm,cma->abc", g, np.eye(len(W)) - hat, g)
    return inv @ (z.T @ z) @ inv, np.einsum("abb->a", M) ** 2 / np.einsum("abc,abc->a", M, M)
