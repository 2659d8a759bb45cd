"""Symbolic mass matrix, Coriolis and centrifugal matrix, gravity terms and regressor, as SymPy matrices.

The recursion runs on polynomials in symbols, so the result is exact and canonical; SymPy only represents it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from minertia.algebra.polynomial import Poly, letter
from minertia.algebra.scalar import Scalar
from minertia.algebra.sympy_form import factored, latex_of, matrix, matrix_of, symbol
from minertia.algebra.vec3 import Vec
from minertia.base.grouping import BaseParameters
from minertia.dynamics.compound import total_mass_matrix
from minertia.dynamics.kinematics import State
from minertia.dynamics.newton_euler import gravity_torques, velocity_torques
from minertia.dynamics.regressor import regressor_entries
from minertia.io.errors import InputError
from minertia.io.notebook import clipped, plural
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.parameters import LINK_SYMBOLS, split_name
from minertia.robot.robot import Robot

MOST_JOINTS = 3  # whose terms fit on a page


@dataclass(frozen=True, repr=False)
class SymbolicDynamics:
    """Symbolic dynamics M(q) qdd + C(q, qd) qd + g(q), without friction.

    robot: robot, with symbols where its file defines them.  parameters: {full name of a standard column:
    its symbol}; if base parameters were given, the symbols are those of the base parameters, and regrouped
    columns are omitted. gravity: symbol of the magnitude of gravity; "" if gravity is zero or not along an
    axis (then it is numeric).
    """

    robot: Robot
    base: BaseParameters | None
    parameters: Mapping[str, str]
    gravity: str = ""

    @property
    def q(self) -> tuple[Any, ...]:
        """Symbols of the positions."""
        return self._symbols("q")

    @property
    def qd(self) -> tuple[Any, ...]:
        """Symbols of the velocities."""
        return self._symbols("qd")

    @property
    def qdd(self) -> tuple[Any, ...]:
        """Symbols of the accelerations."""
        return self._symbols("qdd")

    @cached_property
    def M(self) -> Any:
        """Mass matrix (n, n)."""
        return matrix(total_mass_matrix(self.robot, self._chi, self._letters("q")))

    @cached_property
    def C(self) -> Any:
        """Coriolis and centrifugal matrix (n, n) of Christoffel symbols: dM/dt - 2 C is skew-symmetric."""
        M, q, qd, n = self.M, self.q, self.qd, self.robot.n

        def entry(i: int, j: int) -> Any:
            slopes = (M[i, j].diff(q[k]) + M[i, k].diff(q[j]) - M[j, k].diff(q[i]) for k in range(n))
            return sum((slope / 2 * rate for slope, rate in zip(slopes, qd, strict=True)), M[0, 0] * 0).expand()

        return factored(matrix_of([[entry(i, j) for j in range(n)] for i in range(n)]))

    @cached_property
    def c(self) -> Any:
        """Coriolis and centrifugal torques C qd (n, 1), from the recursion."""
        torques = velocity_torques(self.robot, self._chi, self._letters("q"), self._letters("qd"))
        return factored(matrix([[value] for value in torques]))

    @cached_property
    def g(self) -> Any:
        """Gravity torques (n, 1)."""
        torques = gravity_torques(self.robot, self._chi, self._letters("q"), self._gravity)
        return factored(matrix([[value] for value in torques]))

    @cached_property
    def Y(self) -> Any:
        """Regressor (n, columns): torques = Y times the parameters, in the order of `parameters`."""
        state = State(*(self._letters(name) for name in ("q", "qd", "qdd")))
        entries = regressor_entries(self.robot, state, frozenset(self.parameters), self._gravity)
        return matrix([[entries.get((i, name), 0) for name in self.parameters] for i in range(self.robot.n)])

    @property
    def tau(self) -> Any:
        """Torques M qdd + C qd + g (n, 1)."""
        return self.M * matrix_of([[rate] for rate in self.qdd]) + self.c + self.g

    @property
    def values(self) -> dict[Any, float]:
        """{symbol: value} of all known values: lengths and angles, gravity, and nominal parameters."""
        robot = self.robot
        found = {symbol(name): float(value) for name, value in robot.symbol_values.items()}
        if self.gravity:
            found[symbol(self.gravity)] = float(np.linalg.norm(robot.gravity))
        if robot.has_parameters:
            known = dict(zip(robot.columns(True), robot.parameter_vector(True).tolist(), strict=True))
            if self.base is not None:
                known |= dict(zip(self.base.kept, self.base.values().tolist(), strict=True))
            found |= {symbol(own): float(known[name]) for name, own in self.parameters.items()}
        return found

    def latex(self) -> str:
        """LaTeX align* environment with M, C qd and g."""
        rows = [("M(q)", self.M), (r"C(q, \dot{q})\,\dot{q}", self.c), ("g(q)", self.g)]
        written = [f"  {name} &= {self.latex_of(value)}" for name, value in rows]
        return "\\begin{align*}\n" + " \\\\\n".join(written) + "\n\\end{align*}\n"

    def latex_of(self, value: Any) -> str:
        """LaTeX of a matrix or an entry of one."""
        dots = {"q": "q", "qd": r"\dot{q}", "qdd": r"\ddot{q}"}
        motion = {f"{k}{j + 1}": f"{mark}_{{{j + 1}}}" for k, mark in dots.items() for j in range(self.robot.n)}
        names = (*self.robot.symbols, *self.parameters.values(), *motion, *filter(None, [self.gravity]))
        return latex_of(value, names, motion | ({self.gravity: self.gravity} if self.gravity else {}))

    def __repr__(self) -> str:
        letters = "base" if self.base is not None else "standard"
        return (
            f"<SymbolicDynamics of '{clipped(self.robot.name, 40)}': M, C, g and Y of {plural(self.robot.n, 'joint')} "
            f"in {len(self.parameters)} {letters} parameters>"
        )

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex().replace('align*', 'aligned')}$$"

    def _symbols(self, name: str) -> tuple[Any, ...]:
        return tuple(symbol(f"{name}{j + 1}") for j in range(self.robot.n))

    def _letters(self, name: str) -> list[Poly]:
        return [letter(f"{name}{j + 1}") for j in range(self.robot.n)]

    @property
    def _chi(self) -> list[dict[str, Scalar]]:
        """Symbol of each parameter; parameters that are not included are the structural zero."""
        chi: list[dict[str, Scalar]] = [dict.fromkeys(LINK_SYMBOLS, 0) for _ in range(self.robot.n_joints)]
        for name, own in self.parameters.items():
            kind, link = split_name(name)
            chi[link - 1][kind] = letter(own)
        return chi

    @property
    def _gravity(self) -> Vec:
        x, y, z = (self._component(float(value)) for value in self.robot.gravity)
        return x, y, z

    def _component(self, value: float) -> Scalar:
        if value == 0:
            return 0
        size = letter(self.gravity) if self.gravity else abs(value)
        return size if value > 0 else -size


def symbolic(
    given: RobotLike | BaseParameters, *, rotors: bool = False, most_joints: int = MOST_JOINTS
) -> SymbolicDynamics:
    """Symbolic dynamics of a small robot; in base parameters, which are fewer, if these are given.

    rotors: include the rotor inertias of a robot; base parameters include those that they were derived with.
    most_joints: largest number of joints accepted, as more give terms that fill pages.
    """
    base = given if isinstance(given, BaseParameters) else None
    robot = given.robot if isinstance(given, BaseParameters) else as_robot(given)
    if robot.is_floating:
        raise InputError("symbolic dynamics are available only for robots with a fixed base")
    if robot.open_cuts:
        names = ", ".join(f"'{cut.name}'" for cut in robot.open_cuts)
        raise InputError(
            f"'{robot.name}' has loops that are closed by solving numerically for passive joints ({names}), so it "
            "has no symbolic dynamics in its coordinates; symbolic(robot.opened) gives those of the spanning tree"
        )
    if robot.n_joints > most_joints:
        raise InputError(
            f"'{robot.name}' has {robot.n_joints} joints, so its symbolic dynamics would fill pages; lock some "
            f"joints, or raise the limit with symbolic(robot, most_joints={robot.n_joints})"
        )
    if any(joint.follows is not None and not {1, -1} >= {*joint.follows.ratios} for joint in robot.joints):
        raise InputError(
            f"symbolic dynamics need dependent joints of ratio 1 or -1; '{robot.name}' has dependent joints with "
            "other ratios"
        )
    parameters = {name: name for name in robot.columns(rotors)} if base is None else _base_letters(base)
    found = SymbolicDynamics(robot, base, parameters, _gravity_letter(robot))
    _refuse_twins(found)
    return found


def _base_letters(base: BaseParameters) -> dict[str, str]:
    """{retained column: name of its base parameter}."""
    if not np.array_equal(base.K[:, base.kept_indices], np.eye(base.count)):
        raise InputError(
            "symbolic dynamics in base parameters need one retained column for each base parameter; "
            "derive them with method 'closed-form'"
        )
    known = base.robot.columns(True)
    other = [name for name in base.kept if name not in known]
    if other:
        raise InputError(
            f"symbolic dynamics do not include friction; derive the base parameters without it ({other[0]})"
        )
    return dict(zip(base.kept, base.names, strict=True))


def _gravity_letter(robot: Robot) -> str:
    is_axis = sum(value != 0 for value in robot.gravity) == 1
    return ("g" if "g" not in robot.symbols else "g0") if is_axis else ""


def _refuse_twins(found: SymbolicDynamics) -> None:
    """Raise an error for symbols of the robot file that clash with symbols used here."""
    motion = {f"{k}{j + 1}" for k in ("q", "qd", "qdd") for j in range(found.robot.n)}
    own = {*found.parameters.values(), *motion, found.gravity}
    twins = sorted(own & set(found.robot.symbols))
    if twins:
        raise InputError(
            f"the symbol '{twins[0]}' of '{found.robot.name}' clashes with a symbol of the dynamics; rename it in "
            "the robot file"
        )
