"""Loops after the straight-line part of a program: one step of recursive least squares.

Unrolled, the step has some p^2 statements for each of n joints, too many for controllers' compilers; as loops it has
some forty lines for any p.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import Any, ClassVar

import numpy as np

C_TEXT = Template("""  for (int k = 0; k < $p; ++k)
    beta_next[k] = beta[k];
  for (int k = 0; k < $size; ++k)
    S_next[k] = S[k];
  for (int row = 0; row < $n; ++row) { /* each effort is a measurement; what is past is forgotten once */
    const $real *const y = &Y[row * $p];
    $real gain[$p], error = tau[row], alpha = row == 0 ? forgetting[0] : $one;
    for (int k = 0; k < $p; ++k)
      gain[k] = $zero;
    for (int k = first[row]; k < $p; ++k)
      error -= y[k] * beta_next[k];
    for (int j = first[row]; j < $p; ++j) { /* column j of S, which is S[i][j] at i p - i (i + 1) / 2 + j */
      $real f = $zero;
      for (int i = first[row]; i <= j; ++i)
        f += S_next[i * $p - i * (i + 1) / 2 + j] * y[i];
      const $real next = alpha + f * f;
      const $real ratio = sqrt$suffix(alpha / next), shrink = f / alpha;
      for (int i = 0; i <= j; ++i) {
        const $real entry = S_next[i * $p - i * (i + 1) / 2 + j];
        S_next[i * $p - i * (i + 1) / 2 + j] = ratio * (entry - shrink * gain[i]);
        gain[i] += f * entry;
      }
      alpha = next;
    }
    const $real step = error / alpha;
    for (int k = 0; k < $p; ++k)
      beta_next[k] += gain[k] * step;
    if (row == 0) {
      const $real growth = $one / sqrt$suffix(forgetting[0]);
      for (int k = 0; k < $size; ++k)
        S_next[k] *= growth;
    }
  }""")

MATLAB_TEXT = Template("""  first = [$firsts];
  R = zeros($p, $p); k = 0;
  for i = 1:$p
    R(i, i:$p) = S(k + 1:k + $p - i + 1); k = k + $p - i + 1;
  end
  beta_next = beta(:);
  for row = 1:$n
    y = Y(($p * (row - 1) + 1):($p * row)); gain = zeros($p, 1); alpha = 1;
    if row == 1, alpha = forgetting(1); end
    err = tau(row) - y(:).' * beta_next;
    for j = first(row):$p
      f = y(1:j) * R(1:j, j);
      after = alpha + f * f;
      s = R(1:j, j);
      R(1:j, j) = sqrt(alpha / after) * (s - (f / alpha) * gain(1:j));
      gain(1:j) = gain(1:j) + f * s;
      alpha = after;
    end
    beta_next = beta_next + gain * (err / alpha);
    if row == 1, R = R / sqrt(forgetting(1)); end
  end
  S_next = R.'; S_next = S_next(tril(true($p)));""")


@dataclass(frozen=True, slots=True)
class RootUpdate:
    """Update of beta and S by the rows of a regressor; first: index of each row's first non-zero entry."""

    rows: int
    columns: int
    first: tuple[int, ...]
    outputs: ClassVar[tuple[str, ...]] = ("beta_next", "S_next")

    @property
    def size(self) -> int:
        """Number of entries of the triangle S."""
        return self.columns * (self.columns + 1) // 2

    def c_lines(self, real: str, suffix: str) -> tuple[list[str], list[str]]:
        """Declarations before the straight-line part, and the loops after it."""
        firsts = ", ".join(map(str, self.first))
        head = [
            f"  static const int first[{self.rows}] = {{{firsts}}}; /* of each row, where its zeros end */",
            f"  {real} Y[{self.rows * self.columns}];",
        ]
        names = {"real": real, "suffix": suffix, "one": f"1.0{suffix}", "zero": f"0.0{suffix}"}
        text = C_TEXT.substitute(names, p=self.columns, n=self.rows, size=self.size)
        return head, text.splitlines()

    def matlab_lines(self) -> list[str]:
        """The loops in MATLAB."""
        firsts = " ".join(str(k + 1) for k in self.first)
        return MATLAB_TEXT.substitute(p=self.columns, n=self.rows, firsts=firsts).splitlines()

    def run(self, Y: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        """Evaluate the outputs on NumPy, samples first."""
        given = (np.asarray(inputs[name], float) for name in ("tau", "forgetting", "beta", "S"))
        beta, S = root_update(Y.reshape(*Y.shape[:-1], self.rows, self.columns), *given)
        return dict(zip(self.outputs, (beta, S), strict=True))


def root_update(Y: Any, tau: Any, forgetting: Any, beta: Any, S: Any) -> tuple[Any, Any]:
    """One step of recursive least squares on arrays with any leading shape; S: triangular, in row-major order."""
    rows, p = Y.shape[-2], Y.shape[-1]
    leading = np.broadcast_shapes(Y.shape[:-2], tau.shape[:-1], forgetting.shape[:-1], beta.shape[:-1], S.shape[:-1])
    padded = np.concatenate([S, S[..., :1] * 0], axis=-1)  # a zero behind, for what is below the diagonal
    end = p * (p + 1) // 2
    place = [[i * p - i * (i + 1) // 2 + j if i <= j else end for i in range(p)] for j in range(p)]
    columns = [np.broadcast_to(padded[..., np.asarray(place[j])], (*leading, p)) for j in range(p)]
    for row in range(rows):
        y = Y[..., row, :]
        alpha = forgetting[..., :1] if row == 0 else 1.0
        error = tau[..., row : row + 1] - (y * beta).sum(-1)[..., None]
        gain = columns[0] * 0
        for j in range(p):
            f = (columns[j] * y).sum(-1)[..., None]
            after = alpha + f * f
            old = columns[j]
            columns[j] = np.sqrt(alpha / after) * (old - (f / alpha) * gain)
            gain = gain + f * old
            alpha = after
        beta = beta + gain * (error / alpha)
        if row == 0:
            columns = [column / np.sqrt(forgetting[..., :1]) for column in columns]
    packed = [columns[j][..., i : i + 1] for i in range(p) for j in range(i, p)]
    return beta, np.concatenate(packed, axis=-1)
