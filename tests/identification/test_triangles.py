"""Triangles of blocks say of the rows what QR of all of them says."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.identification.problem import triangles
from minertia.identification.problem.triangles import Accumulator, merged, without_each


def rows(count: int, condition: float = 1e3) -> tuple[np.ndarray, np.ndarray]:
    """Columns of two efforts, some of them zero, of very different lengths, and efforts; (N, 2, 6), (N, 2)."""
    rng = np.random.default_rng(0)
    mix = np.linalg.qr(rng.normal(size=(6, 6)))[0] * np.geomspace(1, 1 / condition, 6)
    Y = rng.normal(size=(count, 2, 6)) @ mix.T * np.geomspace(1e-3, 1e3, 6)
    Y[:, 0, 4] = Y[:, 1, 0] = 0.0
    return Y, rng.normal(size=(count, 2))


def accumulated(Y: np.ndarray, tau: np.ndarray, cut: int, method: str = "qr", blocks: int = 8) -> Accumulator:
    store = Accumulator(2, 7, 25, blocks, method)
    for k in range(0, len(Y), cut):
        store.add(Y[k : k + cut], tau[k : k + cut])
    return store


@pytest.mark.parametrize("count", [5, 30, 410, 1999])
@pytest.mark.parametrize("piece", [10, 64, 4096])
def test_nothing_depends_on_how_rows_come_in(count: int, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangles, "PIECE", piece)
    Y, tau = rows(count)
    first = accumulated(Y, tau, count)
    assert first.samples == count
    R, counts = first.finish()
    assert counts.sum() == count and len(R) <= 8 and (count < 60 or len(R) > 3)
    for cut in (1, 7, 1000):
        again, sizes = accumulated(Y, tau, cut).finish()
        assert np.array_equal(again, R) and np.array_equal(sizes, counts)


@pytest.mark.parametrize("method", ["qr", "gram"])
@pytest.mark.parametrize("condition", [10.0, 1e6])
def test_triangles_are_those_of_all_rows(method: str, condition: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangles, "PIECE", 40)
    Y, tau = rows(2000, condition)
    Y[700:900] *= np.geomspace(1, 1e-5, 6)  # a stretch unlike what came before
    store = accumulated(Y, tau, 300, method)
    total = merged(store.finish()[0])
    for effort in range(2):
        W = np.column_stack([Y[:, effort], tau[:, effort]])
        np.testing.assert_allclose(store.largest[effort], np.abs(W).max(axis=0))
        wanted = np.linalg.lstsq(W[:, :-1] / np.geomspace(1e-3, 1e3, 6), W[:, -1], rcond=None)[0]
        R = total[effort]
        found = np.linalg.lstsq(R[:, :-1] / np.geomspace(1e-3, 1e3, 6), R[:, -1], rcond=None)[0]
        np.testing.assert_allclose(found, wanted, atol=1e-14 * condition * np.abs(wanted).max())
        np.testing.assert_allclose(np.linalg.norm(R, axis=0), np.linalg.norm(W, axis=0), rtol=1e-12)


def test_all_parts_but_one_are_those_of_their_rows() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 4)) for n in (3, 7, 5)]
    for k, R in enumerate(without_each(parts)):
        others = np.concatenate([part for j, part in enumerate(parts) if j != k])
        assert pytest.approx(others.T @ others) == R.T @ R
    assert not without_each(parts[:1])[0].any()
