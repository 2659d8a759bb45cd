"""Rows folded into triangles: by the extension module as by LAPACK, whatever the rows."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from minertia.codegen.kernels import build
from minertia.identification.problem import triangles
from minertia.identification.problem.triangles import folded, triangle, upright

NATIVE = build.native()
with_module = pytest.mark.skipif(not hasattr(NATIVE, "fold_packed"), reason="no extension module")


def rows_of(case: str, count: int, k: int) -> np.ndarray:
    rows = np.random.default_rng(count + k).normal(size=(count, k))
    if case == "columns of other sizes":
        rows *= 10.0 ** np.linspace(-9, 9, k)
    elif case == "columns nearly alike":
        rows[:, k // 2] = rows[:, 0] + 1e-7 * rows[:, k // 2]
    elif case == "zeros":
        rows[:, k // 2] = 0.0
        rows[count // 2 :, 0] = 0.0
    elif case == "triangles":
        rows = np.concatenate([triangle(rows), triangle(rows[::-1])])
    return rows


@pytest.mark.parametrize("case", ["plain", "columns of other sizes", "columns nearly alike", "zeros", "triangles"])
@pytest.mark.parametrize(("count", "k"), [(1, 1), (3, 7), (40, 9), (95, 30), (96, 8), (97, 5), (500, 57)])
def test_squares_of_rows_are_those_of_their_triangle(case: str, count: int, k: int) -> None:
    rows = rows_of(case, count, k)
    R = upright(rows)
    assert np.array_equal(R, np.triu(R)) and np.all(np.diag(R) >= 0)
    sizes = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    np.testing.assert_allclose((R / sizes).T @ (R / sizes), (rows / sizes).T @ (rows / sizes), atol=1e-13)
    half = folded(upright(rows[: count // 2]), rows[count // 2 :]) / sizes
    np.testing.assert_allclose(half.T @ half, (R / sizes).T @ (R / sizes), atol=1e-13)


def test_small_differences_of_columns_survive() -> None:
    """Squares would leave nothing of 1e-7: the last entries are those that a QR of the rows has."""
    rows = rows_of("columns nearly alike", 300, 20)
    wanted = np.abs(np.diag(np.linalg.qr(rows, mode="r")))
    np.testing.assert_allclose(np.diag(upright(rows)), wanted, rtol=1e-7)


@pytest.mark.parametrize("size", [1e-200, 1e200, np.nan])
def test_numbers_whose_squares_are_none_are_left_to_lapack(size: float) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 4)) * [1.0, 1.0, size, 1.0]
    R, wanted = upright(rows), np.abs(np.diag(triangle(rows)))
    np.testing.assert_allclose(np.diag(R), wanted, rtol=1e-12)


def test_without_the_module_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of("plain", 200, 12)
    found = folded(upright(rows[:50]), rows[50:])
    monkeypatch.setattr(triangles.build, "native", lambda: None)
    np.testing.assert_allclose(folded(upright(rows[:50]), rows[50:]), found, atol=1e-12)


@pytest.fixture
def native() -> ModuleType:
    assert NATIVE is not None
    return NATIVE


@with_module
@pytest.mark.parametrize("size", [6, 40, 130])
def test_packed_triangles_fold_over_some_columns(native: ModuleType, size: int) -> None:
    """Rows from the third on, columns in another order, behind seven numbers of something else."""
    rng = np.random.default_rng(size)
    T = np.triu(rng.normal(size=(7, size, size)))
    packed = np.concatenate([rng.normal(size=(7, 7)), T[:, *np.triu_indices(size)]], axis=1)
    columns = np.array([size - 1, 2, *range(4, size - 1)], np.int32)
    R = np.zeros((len(columns), len(columns)))
    assert native.fold_packed(R, packed, 7, size, 2, columns)
    left = T[:, 2:][:, :, columns].reshape(-1, len(columns))
    np.testing.assert_allclose(R.T @ R, left.T @ left, atol=1e-10)
    assert np.array_equal(R, np.triu(R))
    b, z = rng.normal(size=size), np.zeros((7, size))
    native.packed_scores(packed, 7, size, 2, b, z)
    np.testing.assert_allclose(z, np.einsum("drk,dr->dk", T[:, 2:], T[:, 2:] @ b), atol=1e-9)


@with_module
def test_arrays_that_do_not_fit_are_refused(native: ModuleType) -> None:
    R, rows, packed = np.zeros((3, 3)), np.zeros((5, 3)), np.zeros((2, 6))
    two, three = np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32)
    for wrong in ((R,), (R, np.zeros((5, 4))), (R, rows[:, ::-1]), (R, rows.astype(np.float32)), (R[0], rows)):
        with pytest.raises((TypeError, ValueError, BufferError)):
            native.fold(*wrong)
    assert native.fold_packed(R, packed, 0, 3, 0, three)
    for start, size, first, columns in ((1, 3, 0, three), (0, 3, 1, three), (0, 3, 3, two), (-1, 3, 0, three),
                                        (0, 10**9, 0, three), (0, 3, 0, two), (0, 3, 0, three + 1)):  # fmt: skip
        with pytest.raises(ValueError):
            native.fold_packed(R, packed, start, size, first, columns)
    for b, z in ((np.zeros(2), np.zeros((2, 3))), (np.zeros(3), np.zeros((3, 3))), (np.zeros(3), np.zeros(6))):
        with pytest.raises(ValueError):
            native.packed_scores(packed, 0, 3, 0, b, z)
