"""Least squares over any number of samples without storing the matrix.

The kernel accumulates [Y tau]'[Y tau] of each block while it is in cache.  The normal equations square the
condition number; one refinement pass with the residual Y'(tau - Y theta) recovers the lost accuracy if the
condition number of Y (columns scaled to length 1) is moderate.  Above `SWITCH` the columns are preconditioned
by the inverse of the R factor of a sample of the data, so that the squared condition number is close to 1.
Long data need one pass: an initial estimate from a sample is subtracted from tau, so that only a small
correction suffers from the loss of accuracy.  In all cases the result is as accurate as QR of the whole
matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import BatchKernel, regressor_program
from minertia.codegen.kernels.task import GRAM, PRECONDITIONED, RESIDUAL, MatrixPattern, Work
from minertia.codegen.program import Program
from minertia.io.arrays import Array
from minertia.io.errors import RankError, ShapeError
from minertia.robot.robot import Robot

SWITCH = 1e5  # condition number above which the normal equations are preconditioned
HOPELESS = 1e13  # condition number of a sample from which no triangle can be had
SAMPLE = 1024  # samples that give the triangle
MANY_SAMPLES = 50_000  # from which a look at a sample first costs next to nothing


@dataclass(frozen=True)
class Gram:
    """Accumulated [Y tau]'[Y tau] of the rows, or of [Y R^-1, tau] with an R factor as `triangle`.  Add by `+`."""

    columns: tuple[str, ...]
    matrix: Array
    n_rows: int
    triangle: Array | None = None

    def __add__(self, other: Gram) -> Gram:
        same = self.triangle is other.triangle or (
            self.triangle is not None and other.triangle is not None and np.array_equal(self.triangle, other.triangle)
        )
        if self.columns != other.columns or not same:
            raise ShapeError(
                "normal equations can be added only if they have the same columns and the same triangular part"
            )
        return replace(self, matrix=self.matrix + other.matrix, n_rows=self.n_rows + other.n_rows)

    @property
    def count(self) -> int:
        """Number of parameters."""
        return len(self.columns)

    def factor(self) -> Array:
        """Triangular factor R of Y, from Cholesky with columns scaled to length 1.

        Raises RankError if there is none.
        """
        C, lengths = self._cholesky()
        R = C * lengths
        return R if self.triangle is None else R @ self.triangle

    def condition(self) -> float:
        """Condition number of Y with columns scaled to length 1, as accurate as the normal equations allow."""
        try:
            R = self.factor()
        except RankError:
            return float("inf")
        return scaled_condition(R)

    def moved(self, theta: Array) -> Gram:
        """Normal equations of [Y, tau + Y theta]."""
        p, matrix = self.count, self.matrix.copy()
        x = theta if self.triangle is None else self.triangle @ theta
        more = matrix[:p, :p] @ x
        matrix[p, p] += 2 * float(x @ matrix[:p, p]) + float(x @ more)
        matrix[:p, p] += more
        matrix[p, :p] = matrix[:p, p]
        return replace(self, matrix=matrix)

    def settles(self, step: Array, theta: Array) -> bool:
        """Whether a step to theta is so short that its rounding error does not exceed the error of QR.

        With columns of length 1 and a condition number c, the error of QR is c eps |theta| + c**2 eps
        |residual|.  The error of the step is c**2 eps times its length, or times the length of Y step if
        columns are preconditioned.
        """
        R, p = self.factor(), self.count
        lengths = np.linalg.norm(R, axis=0)
        length = np.linalg.norm(lengths * step if self.triangle is None else R @ step)
        residual = np.sqrt(max(0.0, float(self.matrix[p, p] - np.sum((R @ step) ** 2))))
        return bool(length <= residual + np.linalg.norm(lengths * theta) / scaled_condition(R))

    def solve(self, b: ArrayLike | None = None) -> Array:
        """Solve Y'Y x = b for x; by default b = Y'tau."""
        C, lengths = self._cholesky()
        T = self.triangle
        if b is None:
            right = self.matrix[: self.count, self.count]
        else:
            right = np.asarray(b, float) if T is None else solve_triangular(T, b, trans=1)
        x: Array = cho_solve((C, False), right / lengths) / lengths
        return x if T is None else np.asarray(solve_triangular(T, x))

    def check(self) -> None:
        """Raise RankError if the rows contain NaN, or a column is zero."""
        if not np.all(np.isfinite(self.matrix)):
            raise RankError("the data contain NaN or infinite numbers; give such rows the weight 0")
        dead = [name for name, square in zip(self.columns, np.diag(self.matrix), strict=False) if not square > 0]
        if dead:
            raise RankError(f"the motion never excites {', '.join(dead[:8])}{' ...' if len(dead) > 8 else ''}")

    def _cholesky(self) -> tuple[Array, Array]:
        """Cholesky factor of the normal equations with columns scaled to length 1, and the lengths."""
        self.check()
        p = self.count
        lengths = np.sqrt(np.diag(self.matrix)[:p])
        try:
            return cholesky(self.matrix[:p, :p] / np.outer(lengths, lengths)), lengths
        except LinAlgError:
            raise RankError("the normal equations are singular to working precision") from None


@dataclass(frozen=True)
class Residual:
    """Y'(tau - Y theta), and the sum of squares of tau - Y theta and the number of samples of each row (joint)."""

    gradient: Array
    squares: Array
    n_samples: int


@dataclass(frozen=True)
class Solution:
    """Least-squares estimate with its diagnostics.

    condition: condition number of Y with columns scaled to length 1.  method: "normal equations" or
    "preconditioned". left: function that returns the residual at theta, by another pass over the data if
    necessary.
    """

    columns: tuple[str, ...]
    theta: Array
    condition: float
    gram: Gram
    method: str
    left: Callable[[], Residual] = field(repr=False)

    @cached_property
    def squares(self) -> Array:
        """Sum of squared weighted residuals of each row (joint); the first access may need a pass over the data."""
        return self.left().squares


class LeastSquaresKernel:
    """Least squares for tau = Y theta with Y from a program whose one output has shape (n, columns)."""

    def __init__(self, program: Program, columns: Sequence[str], *, compiling: bool = True) -> None:
        if len(program.ports) != 1 or program.ports[0].shape[1:] != (len(columns),):
            raise ShapeError(f"the program '{program.name}' has no single output of shape (n, {len(columns)})")
        self.columns = tuple(columns)
        self.kernel = BatchKernel(program, compiling=compiling)
        rows = program.ports[0].shape[0]
        self.pattern = MatrixPattern(rows, len(self.columns), self.kernel.schedule.positions(0))

    @classmethod
    def of(cls, robot: Robot, columns: Sequence[str]) -> LeastSquaresKernel:
        """Least-squares kernel for the given columns (full names) of a robot's regressor."""
        return cls(regressor_program(robot, columns), columns)

    @property
    def path(self) -> str:
        """Execution path: "compiled", "interpreter" or "numpy"."""
        return self.kernel.path

    def accumulate(
        self,
        *inputs: ArrayLike,
        tau: ArrayLike,
        weights: ArrayLike | None = None,
        threads: int | None = 1,
        triangle: Array | None = None,
    ) -> Gram:
        """Accumulate the normal equations of all rows.

        inputs: those of the program, usually q, qd, qdd (N, n).  weights: factors on rows, usually one over the noise
        level of a joint, shape (n,) or (N, n); a row of weight 0 is excluded even if it contains NaN.
        triangle: R, to accumulate [Y R^-1, tau] instead of [Y, tau].
        """
        return self._sums(self._work(inputs, tau, weights), threads, triangle, None)

    def _sums(self, work: Work, threads: int | None, triangle: Array | None, start: Array | None) -> Gram:
        """Accumulate the normal equations of [Y, tau - Y start]."""
        if triangle is None:
            work = replace(work, mode=GRAM, theta=start)
        else:
            work = replace(work, mode=PRECONDITIONED, theta=self._inverse(triangle, start))
        sums = self.kernel.run(work, threads)
        assert work.tiles is not None
        matrix = work.tiles.matrix(sums, len(self.columns) + 1)
        return Gram(self.columns, matrix, work.n_samples * self.pattern.rows, triangle)

    def residual(
        self,
        *inputs: ArrayLike,
        tau: ArrayLike,
        theta: ArrayLike,
        weights: ArrayLike | None = None,
        threads: int | None = 1,
    ) -> Residual:
        """Residual at theta: Y'(tau - Y theta) and the sum of squares of each row (joint)."""
        work = self._work(inputs, tau, weights)
        work = replace(work, mode=RESIDUAL, theta=np.ascontiguousarray(theta, dtype=np.float64))
        assert work.theta is not None
        if work.theta.shape != (len(self.columns),):
            raise ShapeError(f"theta has shape {work.theta.shape}; this kernel needs ({len(self.columns)},)")
        sums = self.kernel.run(work, threads)
        entries = len(self.pattern.positions)
        gradient = np.zeros(len(self.columns))
        np.add.at(gradient, self.pattern.column, sums[:entries])
        return Residual(gradient, sums[entries:].copy(), work.n_samples)

    def sample_triangle(self, *inputs: ArrayLike, weights: ArrayLike | None = None, samples: int = SAMPLE) -> Array:
        """R factor of the QR factorisation of samples spread evenly over the data."""
        work = self._work(inputs, None, weights)
        least = self.least_samples(samples)
        return spread_triangle(work.n_samples, least, lambda chosen: self._triangle_of(self._chosen(work, chosen)))

    def least_samples(self, samples: int = SAMPLE) -> int:
        """Number of samples for a triangular factor, at least `samples`."""
        return max(samples, -(-4 * len(self.columns) // self.pattern.rows))

    def solve(
        self, *inputs: ArrayLike, tau: ArrayLike, weights: ArrayLike | None = None, threads: int | None = 1
    ) -> Solution:
        """Least-squares solution, as accurate as QR of the whole matrix."""
        work = self._work(inputs, tau, weights)
        hard, start = self._look(work)
        return solved(
            hard is not None,
            lambda triangle: self._sums(work, threads, triangle, start),
            lambda: self.sample_triangle(*inputs, weights=weights) if hard is None else hard,
            lambda theta: self.residual(*inputs, tau=tau, theta=theta, weights=weights, threads=threads),
            start,
        )

    def triangle_of(self, *inputs: ArrayLike, weights: ArrayLike | None = None) -> Array:
        """R factor of the QR factorisation of all these samples, which may be singular."""
        return self._triangle_of(self._work(inputs, None, weights))

    # ------------------------------------------------------------------ inside

    def _work(self, inputs: Sequence[ArrayLike], tau: ArrayLike | None, weights: ArrayLike | None) -> Work:
        arrays, n = self.kernel.checked(inputs)
        rows = self.pattern.rows
        efforts = None if tau is None else np.ascontiguousarray(tau, dtype=np.float64)
        if efforts is not None and efforts.shape != (n, rows):
            raise ShapeError(f"tau has shape {efforts.shape}; this kernel needs ({n}, {rows})")
        factors = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        if factors is not None and factors.shape not in ((rows,), (n, rows)):
            raise ShapeError(f"weights has shape {factors.shape}; this kernel needs ({rows},) or ({n}, {rows})")
        return Work(GRAM, arrays, pattern=self.pattern, tau=efforts, weights=factors, n_samples=n)

    def _look(self, work: Work) -> tuple[Array | None, Array | None]:
        """Analyse a sample of long data: return an R factor if preconditioning is needed, and a first estimate.

        The normal equations of the sample are tried first, as they take a fraction of the time of its QR
        factorisation.
        """
        if work.n_samples < MANY_SAMPLES:
            return None, None
        few = self._chosen(work, spread(work.n_samples, self.least_samples()))
        gram, p = self._sums(few, 1, None, None), len(self.columns)
        if gram.condition() < SWITCH:
            return None, gram.solve()
        R = self._triangle_of(few)
        return (R[:p, :p], np.asarray(solve_triangular(R[:p, :p], R[:p, p]))) if looks_hard(R[:p, :p]) else (None, None)

    def _chosen(self, work: Work, chosen: NDArray[np.intp]) -> Work:
        """Subset of the samples."""
        common, tau, weights = self.kernel.schedule.common, work.tau, work.weights
        return replace(
            work,
            inputs=[a if is_common else a[chosen] for a, is_common in zip(work.inputs, common, strict=True)],
            tau=None if tau is None else tau[chosen],
            weights=weights if weights is None or weights.ndim == 1 else weights[chosen],
            n_samples=len(chosen),
        )

    def _triangle_of(self, work: Work) -> Array:
        """R factor of the QR factorisation of Y, or of [Y tau] if tau is given."""
        Y = self.kernel(*work.inputs)
        if work.tau is not None:
            Y = np.concatenate([Y, work.tau[:, :, None]], axis=2)
        if work.weights is not None:
            scale = np.broadcast_to(work.weights, Y.shape[:2])
            Y *= scale[:, :, None]
            Y[scale == 0] = 0
        if not np.all(np.isfinite(Y)):
            raise RankError("the data contain NaN or infinite numbers; give such rows the weight 0")
        return _triangle(Y.reshape(-1, Y.shape[2]))

    def _inverse(self, triangle: Array, start: Array | None) -> Array:
        """Padded matrix that maps [Y tau] to [Y R^-1, tau - Y start]."""
        p, width = len(self.columns), self.pattern.z_columns
        padded = np.zeros((width, width))
        padded[:p, :p] = inverse_of(triangle)
        padded[:p, p] = 0.0 if start is None else -start
        padded[p, p] = 1.0
        return padded


def _triangle(rows: Array) -> Array:
    """R factor of the QR factorisation of rows (n, p), in blocks if possible: a sixth of LAPACK's time."""
    p = rows.shape[1]
    R, native = np.zeros((p, p)), build.native()
    if native is None or not native.fold(R, rows):
        found = np.linalg.qr(rows, mode="r")
        R = np.zeros((p, p))
        R[: len(found)] = found
    return R


def solved(
    is_hard: bool,
    accumulate: Callable[[Array | None], Gram],
    triangle: Callable[[], Array],
    residual: Callable[[Array], Residual],
    start: Array | None = None,
) -> Solution:
    """Solve by passes over the data on any device; is_hard: normal equations are too ill-conditioned.

    start: initial estimate, whose efforts `accumulate` subtracts from tau.
    """
    gram, method = None, "normal equations"
    if not is_hard:
        gram = accumulate(None)
        gram.check()
    if gram is None or not gram.condition() < SWITCH:
        gram, method = accumulate(triangle()), "preconditioned"
    theta = step = gram.solve()
    if start is not None:
        theta = start + step
    left = None
    if start is None or not gram.settles(step, theta):
        left = residual(theta)
        theta = theta + gram.solve(left.gradient)
    plain = gram if start is None else gram.moved(start)
    return Solution(gram.columns, theta, gram.condition(), plain, method, lambda: left or residual(theta))


def spread(n: int, samples: int) -> NDArray[np.intp]:
    """Indices of samples spread evenly over n."""
    return np.unique(np.linspace(0, n - 1, min(samples, n)).astype(np.intp)) if n else np.zeros(0, np.intp)


def spread_triangle(n: int, samples: int, triangle_of: Callable[[NDArray[np.intp]], Array]) -> Array:
    """R factor of a subset of n samples that can precondition all of them; raises RankError if there is none."""
    while True:
        R = triangle_of(spread(n, samples))
        condition = scaled_condition(R)
        if condition < HOPELESS:
            return R
        if samples >= n:
            raise RankError(
                "the motion does not determine all parameters: columns are linearly dependent (condition number "
                f"{condition:.1e})"
            )
        samples *= 8


def looks_hard(triangle: Array) -> bool:
    """Whether the R factor of a sample is too ill-conditioned for normal equations."""
    return SWITCH <= scaled_condition(triangle) < HOPELESS


def inverse_of(triangle: Array) -> Array:
    """Inverse of an upper triangular matrix."""
    return np.triu(solve_triangular(triangle, np.eye(len(triangle))))


def scaled_condition(R: Array) -> float:
    """Condition number of a triangular matrix with columns scaled to length 1; infinite for a zero column."""
    lengths = np.linalg.norm(R, axis=0)
    if not np.all(lengths > 0):
        return float("inf")
    s = np.linalg.svd(R / lengths, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else float("inf")
