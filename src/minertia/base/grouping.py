"""`BaseParameters`: result of the derivation, with conversion to text, LaTeX, DataFrame and figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import Poly, Values
from minertia.algebra.quotient import divisors, number_of
from minertia.algebra.show import latex, latex_name, text
from minertia.algebra.sympy_form import linear_form, symbol
from minertia.base import numeric
from minertia.base.certificate import Certificate
from minertia.base.numeric import product
from minertia.dynamics.model import torque_regressor
from minertia.io.arrays import Array
from minertia.io.errors import ShapeError
from minertia.io.notebook import LIMIT, PREDICTED, REST, SMALL, clipped, frame, html_table, panels, plural
from minertia.robot.inertia import transport_ten
from minertia.robot.parameters import LINK_SYMBOLS, full_name, split_name
from minertia.robot.robot import Robot

FORMAT = 1


@dataclass(frozen=True)
class BaseParameters:
    """Base parameters: the minimal set of linear combinations that determines all joint efforts.

    names, relations: each parameter and its symbolic linear form over `columns`, the standard parameters.
    is_numeric: whether a relation has coefficients that hold only for this robot's values.
    K: the relations as a matrix, beta = K chi.  kept: independent standard columns, one per parameter.
    """

    robot: Robot
    method: str
    columns: tuple[str, ...]
    names: tuple[str, ...]
    relations: tuple[Linear, ...]
    is_numeric: tuple[bool, ...]
    K: Array
    kept: tuple[str, ...]
    certificate: Certificate

    @property
    def count(self) -> int:
        """Number of base parameters."""
        return len(self.names)

    @cached_property
    def kept_indices(self) -> list[int]:
        """Indices of the retained columns in `columns`."""
        where = {name: k for k, name in enumerate(self.columns)}
        return [where[name] for name in self.kept]

    @cached_property
    def divisors(self) -> tuple[Poly, ...]:
        """Denominators of the relations, which must not be zero at the values of the symbols."""
        found = (d for form in self.relations for c in form.terms.values() for d in divisors(c))
        return tuple(dict.fromkeys(found))

    @property
    def drawn(self) -> Mapping[str, float]:
        """Random values drawn for symbols without a value; numeric relations hold at these."""
        return {name: self.robot.symbol_values[name] for name, value in self.robot.symbols.items() if value is None}

    def values(self, chi: ArrayLike | None = None) -> Array:
        """Base parameter values beta = K chi; chi defaults to the robot's nominal standard parameters."""
        if chi is None:
            nominal = self.robot.parameter_vector(rotors=True, friction=True)
            table = dict(zip(self.robot.columns(True, True), nominal, strict=True))
            chi = [table[name] for name in self.columns]
        vector = np.asarray(chi, float)
        if vector.shape != (len(self.columns),):
            raise ShapeError(f"chi has shape {vector.shape}; these base parameters need ({len(self.columns)},)")
        return np.asarray(self.K @ vector)

    def standard_values(self, beta: ArrayLike) -> Array:
        """Standard parameters that give the same efforts as beta and are zero outside the retained columns."""
        chi = np.zeros(len(self.columns))
        chi[self.kept_indices] = np.linalg.solve(self.K[:, self.kept_indices], np.asarray(beta, float))
        return chi

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Regressor Y_base of the base parameters, tau = Y_base beta, shape (N, n, count)."""
        Y: Array = torque_regressor(self.robot, q, qd, qdd, columns=self.kept)
        mixing = self.K[:, self.kept_indices]
        return Y if np.array_equal(mixing, np.eye(self.count)) else np.asarray(Y @ np.linalg.inv(mixing))

    def conversion_to(self, other: BaseParameters) -> Array:
        """Matrix T with beta_other = T beta_self, for two sets of base parameters of the same robot and columns."""
        if other.columns != self.columns or other.count != self.count:
            raise ShapeError(
                "the two sets of base parameters belong to different robots or were derived with different columns"
            )
        kept = self.kept_indices
        return product(other.K[:, kept], np.asarray(np.linalg.inv(self.K[:, kept]), float))

    # ------------------------------------------------------------------ classes

    def classes(self, frames: str = "joint") -> dict[str, str]:
        """Identifiability class (Khosla) of each standard parameter.

        "alone": identifiable, "combination": identifiable in linear combination only, "none": unidentifiable.
        frames: "joint", or "file" for parameters expressed in the link frames of the robot file.
        """
        K = self.K if frames == "joint" else product(self.K, file_to_joint(self.robot, self.columns))
        reduced = K / np.maximum(np.abs(K).max(axis=0), 1e-300)
        _, s, Vt = np.linalg.svd(reduced, full_matrices=True)
        rank = int((s > numeric.RANK_TOLERANCE * s.max(initial=1e-300)).sum())
        hidden = np.linalg.norm(Vt[rank:], axis=0)  # part of each unit vector outside the row space
        none = np.abs(K).max(axis=0) == 0
        return {
            name: "none" if none[c] else "alone" if hidden[c] < 1e-7 else "combination"
            for c, name in enumerate(self.columns)
        }

    # ------------------------------------------------------------------ showing

    def relation_texts(self) -> dict[str, str]:
        """{name: relation} as text, which is valid Python."""
        return {name: text(form) for name, form in zip(self.names, self.relations, strict=True)}

    def relation_latex(self) -> dict[str, str]:
        """{name: relation} in LaTeX."""
        return {name: latex(form) for name, form in zip(self.names, self.relations, strict=True)}

    def to_latex(self) -> str:
        """LaTeX align* environment with all relations and their denominators."""
        rows = [f"  {latex_name(name)} &= {written}" for name, written in self.relation_latex().items()]
        rows += [rf"  {latex(divisor)} &\neq 0" for divisor in self.divisors]
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}\n"

    def to_frame(self) -> Any:
        """Pandas DataFrame with one row per parameter: its relation, and its nominal value if known."""
        nominal = self.values() if self.robot.has_parameters else np.full(self.count, np.nan)
        relations = list(self.relation_texts().values())
        columns = {"name": self.names, "value": nominal, "relation": relations, "numeric": self.is_numeric}
        return frame(columns, "name", robot=self.robot.name, method=self.method)

    def plot(self) -> Any:
        """Matplotlib figure of the singular values with their gap, and of the class of each parameter."""
        title = f"{self.robot.name}: {self.count} base parameters of {len(self.columns)} standard ones"
        return base_figure(title, self.singular_values(), self.certificate, self.classes())

    def to_sympy(self) -> dict[Any, Any]:
        """{symbol of a base parameter: its relation} in SymPy."""
        return {symbol(name): linear_form(form) for name, form in zip(self.names, self.relations, strict=True)}

    def singular_values(self) -> Array:
        """Singular values of the regressor of the certificate, columns scaled to length 1, in descending order."""
        c = self.certificate
        return numeric.singular_values(numeric.sample_regressor(self.robot, self.columns, c.states, c.seed))

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "format": FORMAT,
            "robot": self.robot.name,
            "method": self.method,
            "gravity": list(self.robot.gravity),
            "count": self.count,
            "names": list(self.names),
            "relations": self.relation_texts(),
            "latex": self.relation_latex(),
            "numeric": [name for name, is_numeric in zip(self.names, self.is_numeric, strict=True) if is_numeric],
            "divisors": [text(divisor) for divisor in self.divisors],
            "symbols": dict(self.robot.symbol_values),
            "changed_geometry": [f"{note.where}: {note.text}" for note in self.robot.notes if note.is_geometry],
            **({"sensors": self._far_parts()} if self.robot.sensors else {}),
            "columns": list(self.columns),
            "K": self.K.tolist(),
            "kept": list(self.kept),
            "classes": self.classes(),
            "certificate": self.certificate.to_dict(),
        }

    def to_json(self) -> str:
        """JSON text of `to_dict`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        c = self.certificate
        return (
            f"<BaseParameters of '{clipped(self.robot.name, 40)}': {plural(self.count, 'parameter')} ({self.method}) "
            f"of {len(self.columns)} standard ones; rank {c.rank}, gap {c.gap:.1e}>"
        )

    def _repr_html_(self) -> str:
        has_values = self.robot.has_parameters
        nominal = [f"{v:.5g}" for v in self.values()] if has_values else [""] * self.count
        rows = [
            (name, written + " [numeric]" * is_numeric, *([value] if has_values else []))
            for (name, written), is_numeric, value in zip(
                self.relation_texts().items(), self.is_numeric, nominal, strict=True
            )
        ]
        c = self.certificate
        title = f"{self.robot.name}: {self.count} base parameters ({self.method})"
        note = f"certificate: rank {c.rank}, gap {c.gap:.1e}, reconstruction error {c.error:.1e}"
        headers = ["parameter", "relation", *(["nominal"] if has_values else [])]
        return html_table(title, headers, rows, right=(2,), notes=(note,))

    def _repr_latex_(self) -> str:
        return f"$$\n{self.to_latex().replace('align*', 'aligned')}$$"

    def _far_parts(self) -> list[dict[str, Any]]:
        """Links beyond force/torque sensors, with their numbers."""
        robot, found = self.robot, []
        for k, one in enumerate(robot.sensors):
            of = "the base" if one.joint is None else f"link {one.joint + 1}"
            found.append({"sensor": one.name, "number": robot.n_joints + k + 1, "of": of})
        return found

    def __str__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        marks = ["   [numeric]" if is_numeric else "" for is_numeric in self.is_numeric]
        lines = [
            f"{name:<{width}} = {written}{mark}"
            for (name, written), mark in zip(self.relation_texts().items(), marks, strict=True)
        ]
        head = f"{self.robot.name}: {self.count} base parameters ({self.method})"
        return "\n".join([head, *lines, *self._remarks(), str(self.certificate)])

    def _remarks(self) -> list[str]:
        """Notes on the validity of the relations: denominators, and the values that numeric relations hold for."""
        remarks = [
            f"link {far['number']} is the part of {far['of']} beyond the sensor '{far['sensor']}', in the same frame"
            for far in self._far_parts()
        ]
        if self.divisors:
            remarks.append(f"valid where {', '.join(text(d) for d in self.divisors)} is not 0")
        if any(self.is_numeric) and self.drawn:
            values = ", ".join(f"{name} = {value:.15g}" for name, value in self.drawn.items())
            remarks.append(f"relations marked [numeric] hold only for the values drawn: {values}")
        return remarks


def matrix_of(forms: Sequence[Linear], columns: Sequence[str], values: Mapping[str, float]) -> Array:
    """Matrix of linear forms over the columns, evaluated at the values of the symbols."""
    where, values = {name: k for k, name in enumerate(columns)}, Values(values)
    K = np.zeros((len(forms), len(columns)))
    for row, form in enumerate(forms):
        for name, coefficient in form.terms.items():
            K[row, where[str(name)]] = number_of(coefficient, values)
    return K


def file_to_joint(robot: Robot, columns: Sequence[str]) -> Array:
    """Transformation matrix from parameters in the file's link frames to those in the joint frames."""
    where = {name: k for k, name in enumerate(columns)}
    T = np.eye(len(columns))
    for j, joint in enumerate(robot.numeric.joints):
        block = [where[full_name(symbol, j + 1)] for symbol in LINK_SYMBOLS]
        for k, c in enumerate(block):
            unit = [0.0] * 10
            unit[k] = 1.0
            T[block, c] = transport_ten(unit, joint.file_frame)
    return T


# ------------------------------------------------------------------------------------------------------------- figure


COLOURS = {"alone": "#9ed0f5", "combination": "#ffd58a", "none": "#eceff2"}
WORDS = {
    "alone": "identifiable alone",
    "combination": "identifiable in combination only",
    "none": "no effect on torques",
}
FLOOR = 1e-18  # of the largest singular value: what is exactly 0 is drawn here


def base_figure(title: str, singular_values: Array, certificate: Certificate, classes: Mapping[str, str]) -> Any:
    """Matplotlib figure: singular values on the left, class of each standard parameter on the right."""
    links = sorted({split_name(name)[1] for name in classes})
    rows = max(2, (len(links) + 1) // 2)
    figure, axes = panels(1, 2, title=title, width_ratios=(2, 3))
    figure.set_figheight(1.2 + 1.1 * rows)
    _singular_values(axes[0, 0], singular_values, certificate)
    _classes(axes[0, 1], classes, links)
    return figure


def _singular_values(ax: Any, s: Array, certificate: Certificate) -> None:
    rank = certificate.rank
    s = np.maximum(s, FLOOR * s.max(initial=1.0))
    number = np.arange(1, len(s) + 1)
    ax.semilogy(number[:rank], s[:rank], "o", markersize=3.5, color=PREDICTED, label=f"rank {rank}")
    ax.semilogy(number[rank:], s[rank:], "o", markersize=3.5, color=REST, label="rounding")
    ax.axvline(rank + 0.5, color=LIMIT, linewidth=0.9, linestyle="--", label=f"gap {certificate.gap:.1e}")
    ax.set_title("singular values of the regressor", fontsize=9)
    ax.set_xlabel("number", **SMALL)
    ax.legend(fontsize=7, loc="lower left")


def _classes(ax: Any, classes: Mapping[str, str], links: list[int]) -> None:
    symbols = list(dict.fromkeys(split_name(name)[0] for name in classes))
    ax.grid(False)
    ax.spines[:].set_visible(False)
    for name, kind in classes.items():
        symbol, link = split_name(name)
        x, y = symbols.index(symbol), links.index(link)
        ax.bar(x, 0.92, 0.92, bottom=y - 0.46, color=COLOURS[kind], label=WORDS[kind])
    ax.set_xticks(range(len(symbols)), symbols)
    ax.set_yticks(range(len(links)), [f"link {link}" if link else "base" for link in links])
    ax.set_xlim(-0.6, len(symbols) - 0.4)
    ax.set_ylim(len(links) - 0.4, -0.6)
    ax.tick_params(length=0, labelsize=8)
    ax.xaxis.tick_top()
    known = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ordered = [word for word in WORDS.values() if word in known]
    ax.legend([known[w] for w in ordered], ordered, fontsize=7, ncols=3, loc="upper center",
              bbox_to_anchor=(0.5, -0.01), frameon=False)  # fmt: skip
