"""Least squares over any number of samples without the matrix.

The kernel adds [Y tau]'[Y tau] of each block while it is in cache.  The normal equations square the condition number;
one pass that computes Y'(tau - Y theta) anew brings back what was lost, as long as the condition number of Y (columns
scaled to length 1) is moderate.  Above `SWITCH` the columns are first multiplied with the inverse of the triangle R of
a sample of the data, so that what is squared is close to 1.  Either way the result is as accurate as QR of the whole
matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import BatchKernel, regressor_program
from minertia.codegen.kernels.task import GRAM, PRECONDITIONED, RESIDUAL, Array, Work
from minertia.codegen.kernels.tiles import MatrixPattern
from minertia.codegen.program import Program
from minertia.errors import RankError, ShapeError
from minertia.robot.robot import Robot

SWITCH = 1e5  # condition number above which the normal equations are preconditioned
HOPELESS = 1e13  # condition number of a sample from which no triangle can be had
SAMPLE = 1024  # samples that give the triangle
MANY_SAMPLES = 50_000  # from which a look at a sample first costs next to nothing


@dataclass(frozen=True)
class Gram:
    """[Y tau]'[Y tau] of the rows seen so far; with a triangle R, of [Y R^-1, tau].  Grows by `+`."""

    columns: tuple[str, ...]
    matrix: Array
    n_rows: int
    triangle: Array | None = None

    def __add__(self, other: Gram) -> Gram:
        same = self.triangle is other.triangle or (
            self.triangle is not None and other.triangle is not None and np.array_equal(self.triangle, other.triangle)
        )
        if self.columns != other.columns or not same:
            raise ShapeError("normal equations can be added if they have the same columns and the same triangle")
        return replace(self, matrix=self.matrix + other.matrix, n_rows=self.n_rows + other.n_rows)

    @property
    def count(self) -> int:
        """Number of parameters."""
        return len(self.columns)

    def factor(self) -> Array:
        """Upper triangle R of Y, from Cholesky with columns scaled to length 1; RankError if there is none."""
        C, lengths = self._cholesky()
        R = C * lengths
        return R if self.triangle is None else R @ self.triangle

    def augmented(self) -> Array:
        """Upper triangle of [Y tau], (p + 1, p + 1): all that the rows say about the parameters and their residual."""
        p = self.count
        R = np.zeros((p + 1, p + 1))
        R[:p, :p] = self.factor()
        b = self.matrix[:p, p] if self.triangle is None else self.triangle.T @ self.matrix[:p, p]
        R[:p, p] = solve_triangular(R[:p, :p], b, trans=1)
        R[p, p] = np.sqrt(max(0.0, float(self.matrix[p, p] - R[:p, p] @ R[:p, p])))
        return R

    def condition(self) -> float:
        """Condition number of Y with columns scaled to length 1, as far as these equations can tell."""
        try:
            R = self.factor()
        except RankError:
            return float("inf")
        return scaled_condition(R)

    def solve(self, b: ArrayLike | None = None) -> Array:
        """x with Y'Y x = b; by default b = Y'tau."""
        C, lengths = self._cholesky()
        T = self.triangle
        if b is None:
            right = self.matrix[: self.count, self.count]
        else:
            right = np.asarray(b, float) if T is None else solve_triangular(T, b, trans=1)
        x: Array = cho_solve((C, False), right / lengths) / lengths
        return x if T is None else np.asarray(solve_triangular(T, x))

    def check(self) -> None:
        """RankError if the rows hold NaN, or never show a column."""
        if not np.all(np.isfinite(self.matrix)):
            raise RankError("the data hold NaN or infinite numbers; give such rows the weight 0")
        dead = [name for name, square in zip(self.columns, np.diag(self.matrix), strict=False) if not square > 0]
        if dead:
            raise RankError(f"the motion never excites {', '.join(dead[:8])}{' ...' if len(dead) > 8 else ''}")

    def _cholesky(self) -> tuple[Array, Array]:
        """Factor of the equations with columns scaled to length 1, and the lengths."""
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
    """Parameters, and the evidence for them.

    condition: of Y with columns scaled to length 1.  squares: sum of squared residuals of each row (joint), scaled by
    the weights.  method: "normal equations" or "preconditioned".
    """

    columns: tuple[str, ...]
    theta: Array
    condition: float
    squares: Array
    gram: Gram
    method: str


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
        """The kernel for columns (full names) of a robot's regressor."""
        return cls(regressor_program(robot, columns), columns)

    @property
    def path(self) -> str:
        """How it runs: "compiled", "interpreter" or "numpy"."""
        return self.kernel.path

    def accumulate(
        self,
        *inputs: ArrayLike,
        tau: ArrayLike,
        weights: ArrayLike | None = None,
        threads: int | None = 1,
        triangle: Array | None = None,
    ) -> Gram:
        """The normal equations of all rows.

        inputs: those of the program, usually q, qd, qdd (N, n).  weights: factors on rows, usually one over the noise
        level of a joint, shape (n,) or (N, n); a row of weight 0 is left out even where it holds NaN.
        triangle: R, to accumulate [Y R^-1, tau] instead of [Y, tau].
        """
        work = self._work(inputs, tau, weights)
        if triangle is None:
            work = replace(work, mode=GRAM)
        else:
            work = replace(work, mode=PRECONDITIONED, theta=self._inverse(triangle))
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
        """What is left at theta: Y'(tau - Y theta) and the squares of each row (joint)."""
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
        """R of the QR factorisation of samples spread evenly over the data."""
        work = self._work(inputs, None, weights)
        least = self.least_samples(samples)
        return spread_triangle(work.n_samples, least, lambda chosen: self._triangle_of(work, chosen))

    def least_samples(self, samples: int = SAMPLE) -> int:
        """Samples that a triangle takes, at least `samples`."""
        return max(samples, -(-4 * len(self.columns) // self.pattern.rows))

    def solve(
        self, *inputs: ArrayLike, tau: ArrayLike, weights: ArrayLike | None = None, threads: int | None = 1
    ) -> Solution:
        """Parameters with the smallest sum of squares, as accurate as QR of the whole matrix."""
        hard = self._hard_triangle(inputs, weights)
        return solved(
            hard is not None,
            lambda triangle: self.accumulate(*inputs, tau=tau, weights=weights, threads=threads, triangle=triangle),
            lambda: self.sample_triangle(*inputs, weights=weights) if hard is None else hard,
            lambda theta: self.residual(*inputs, tau=tau, theta=theta, weights=weights, threads=threads),
        )

    def triangle_of(self, *inputs: ArrayLike, weights: ArrayLike | None = None) -> Array:
        """R of the QR factorisation of all these samples, which may be singular."""
        work = self._work(inputs, None, weights)
        return self._triangle_of(work, np.arange(work.n_samples))

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

    def _hard_triangle(self, inputs: Sequence[ArrayLike], weights: ArrayLike | None) -> Array | None:
        """The triangle of a sample of long data which says that normal equations would be accumulated in vain.

        The sample's own normal equations say first where they will do, in a fraction of the time of its triangle.
        """
        work = self._work(inputs, None, weights)
        if work.n_samples < MANY_SAMPLES:
            return None
        chosen = spread(work.n_samples, self.least_samples())
        few, factors = self._chosen(work, chosen)
        tau = np.zeros((len(chosen), self.pattern.rows))
        if self.accumulate(*few, tau=tau, weights=factors).condition() < SWITCH:
            return None
        R = self._triangle_of(work, chosen)
        return R if looks_hard(R) else None

    def _chosen(self, work: Work, chosen: NDArray[np.intp]) -> tuple[list[Array], Array | None]:
        """Inputs and weights of some samples."""
        common = self.kernel.schedule.common
        few = [a if is_common else a[chosen] for a, is_common in zip(work.inputs, common, strict=True)]
        factors = work.weights
        return few, factors if factors is None or factors.ndim == 1 else factors[chosen]

    def _triangle_of(self, work: Work, chosen: NDArray[np.intp]) -> Array:
        rows, p = self.pattern.rows, len(self.columns)
        few, factors = self._chosen(work, chosen)
        Y = self.kernel(*few)
        if factors is not None:
            scale = np.broadcast_to(factors, Y.shape[:2])
            Y *= scale[:, :, None]
            Y[scale == 0] = 0
        if not np.all(np.isfinite(Y)):
            raise RankError("the data hold NaN or infinite numbers; give such rows the weight 0")
        return _triangle(Y.reshape(len(chosen) * rows, p))

    def _inverse(self, triangle: Array) -> Array:
        p, width = len(self.columns), self.pattern.z_columns
        padded = np.zeros((width, width))
        padded[:p, :p] = inverse_of(triangle)
        padded[p, p] = 1.0
        return padded


def _triangle(rows: Array) -> Array:
    """R of the QR factorisation of rows (n, p), by folding where it can: a sixth of LAPACK's time on so few columns."""
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
) -> Solution:
    """The solution out of passes over the data, wherever they are made; is_hard: normal equations would be in vain."""
    gram, method = None, "normal equations"
    if not is_hard:
        gram = accumulate(None)
        gram.check()
    if gram is None or not gram.condition() < SWITCH:
        gram, method = accumulate(triangle()), "preconditioned"
    theta = gram.solve()
    left = residual(theta)
    theta = theta + gram.solve(left.gradient)
    return Solution(gram.columns, theta, gram.condition(), left.squares, gram, method)


def spread(n: int, samples: int) -> NDArray[np.intp]:
    """Numbers of samples spread evenly over n."""
    return np.unique(np.linspace(0, n - 1, min(samples, n)).astype(np.intp)) if n else np.zeros(0, np.intp)


def spread_triangle(n: int, samples: int, triangle_of: Callable[[NDArray[np.intp]], Array]) -> Array:
    """A triangle of few samples of n that is good enough to precondition all; RankError where none is."""
    while True:
        R = triangle_of(spread(n, samples))
        condition = scaled_condition(R)
        if condition < HOPELESS:
            return R
        if samples >= n:
            raise RankError(
                "the motion does not determine all parameters: columns depend on one another "
                f"(condition number {condition:.1e})"
            )
        samples *= 8


def looks_hard(triangle: Array) -> bool:
    """Whether the triangle of a sample says that normal equations would be accumulated in vain."""
    return SWITCH <= scaled_condition(triangle) < HOPELESS


def inverse_of(triangle: Array) -> Array:
    """The inverse of an upper triangle."""
    return np.triu(solve_triangular(triangle, np.eye(len(triangle))))


def scaled_condition(R: Array) -> float:
    """Condition number of a triangle with columns scaled to length 1; infinite for a column of zeros."""
    lengths = np.linalg.norm(R, axis=0)
    if not np.all(lengths > 0):
        return float("inf")
    s = np.linalg.svd(R / lengths, compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else float("inf")
