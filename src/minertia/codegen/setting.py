"""`Setting`: a robot with the choice of its parameters, and how these enter the recursion.

For any parametrisation (standard, base or minimal combinations at run time, constants, a payload), the recursion uses
the parameters of one *representative*: links that are zero outside chosen independent columns and have the same
torques. The conversion is linear with constant coefficients, so it is computed once and costs nothing per call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from minertia.algebra.expr import Graph
from minertia.algebra.scalar import Scalar, add, mul, structural
from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.codegen.formulation import PLAIN, Formulation
from minertia.codegen.frames import parameters_back
from minertia.codegen.options import PARAMETERS, CodeModel
from minertia.codegen.program import Port
from minertia.dynamics.options import LAST_LINK, ChosenFrame
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError, UnknownName
from minertia.io.schema import like
from minertia.robot.effects import BY_SYMBOL, ROTOR_SYMBOLS
from minertia.robot.parameters import LINK_SYMBOLS, full_name, split_name
from minertia.robot.robot import Robot

NEGLIGIBLE = 1e-13  # of the terms that make a value: only rounding is left
LOAD, THETA = "load", "theta"
BY_PLACE = frozenset(s for s, effect in BY_SYMBOL.items() if {"q", "load"} & set(effect.inputs))


@dataclass(frozen=True, slots=True)
class Representative:
    """Free choices of a program.

    kept: independent columns that hold the parameters.  shifts: displacement [m] of each frame along its axis, none
    if empty.
    """

    kept: tuple[str, ...]
    formulation: Formulation = PLAIN
    shifts: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return as a dict of plain data, for JSON."""
        f = self.formulation
        return {
            "kept": list(self.kept),
            "turns": sorted(f.turns),
            "moments": sorted(f.moments),
            "forces": sorted(f.forces),
            "shifts": list(self.shifts),
            **({} if f.unit is None else {"unit": [f.unit]}),
        }

    @staticmethod
    def from_dict(data: dict[str, list[object]]) -> Representative:
        """Construct from the data of `to_dict`."""
        turns, moments, forces = (frozenset(int(str(j)) for j in data[k]) for k in ("turns", "moments", "forces"))
        shifts = tuple(float(str(s)) for s in data["shifts"])
        unit = next((int(str(j)) for j in data.get("unit", ())), None)
        formulation = Formulation(turns, moments, forces, unit)
        return Representative(tuple(str(name) for name in data["kept"]), formulation, shifts)


@dataclass(frozen=True)
class Setting:
    """Robot and options to generate code for.

    parameters: "standard", "base" or "mlc" (inputs `theta` at run time) or "baked" (constants in the code).
    values: values of all base parameters for "baked"; by default the robot's nominal ones. essential: names
    of the base parameters that are not zero; by default all. payload: ten inertial parameters of a payload,
    in the frame of the last link (or of the named one), as input `load`. rotors: include rotor inertias
    (IA). friction: include FV, FC, OFF and all other effects of the robot's joints and coupled motors.
    motors: compute efforts at the motors, through the coupling of the drives, instead of at the joints.
    temperature: take the joints' temperatures as an input where an effect depends on them, else use its
    reference temperature. of_velocity: exclude effects that depend on more than velocities (see `placed`)
    from the program `friction`. frame: frame of wrenches, Jacobians and poses. closing_steps: number of
    Newton steps per call, for loops without a closed form. formulation: "newton-euler" (links), or "mlc"
    (composite bodies in minimal linear combinations, Lin 1995).
    """

    robot: Robot
    parameters: str = "baked"
    rotors: bool = False
    friction: bool = False
    payload: bool | str = False
    values: tuple[float, ...] | None = None
    essential: tuple[str, ...] | None = None
    motors: bool = False
    temperature: bool = True
    of_velocity: bool = False
    frame: ChosenFrame = LAST_LINK
    closing_steps: int = like(CodeModel, "closing_steps")
    formulation: str = "newton-euler"

    def __post_init__(self) -> None:
        if self.motors and self.robot.coupling is None:
            raise MinertiaError(
                f"the drives of '{self.robot.name}' are not coupled, so motor efforts are joint efforts"
            )
        if self.parameters not in PARAMETERS:
            raise UnknownName("choice of parameters", self.parameters, PARAMETERS)
        if self.is_composite and self.parameters == "base":
            raise MinertiaError("the formulation mlc cannot use regrouped base parameters; choose the parameters mlc")

    @property
    def is_composite(self) -> bool:
        """Whether efforts are computed from composite bodies."""
        return self.formulation == "mlc"

    @cached_property
    def base(self) -> BaseParameters:
        """Base parameters of this robot with the included effects."""
        method = "mlc" if self.is_composite or self.parameters == "mlc" else "closed-form"
        return base_parameters(self.robot, method, rotors=self.rotors, friction=self.friction)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the entries of `theta`; none for baked parameters."""
        if self.parameters == "baked":
            return ()
        return self._base_names + self.others

    @cached_property
    def _base_names(self) -> tuple[str, ...]:
        """Names of the inputs that determine the base parameters."""
        if self.parameters == "standard":
            return self._standard_names()
        return tuple(self.base.names[k] for k in self.essential_rows)

    @property
    def others(self) -> tuple[str, ...]:
        """Effects without a column of the base parameters (springs, Stribeck ...), by full name."""
        return self.robot.other_effects if self.friction else ()

    @property
    def effects(self) -> dict[str, float]:
        """Effects of the robot that the code includes, by full name, with their nominal values."""
        values = self.robot.effect_values.items()
        return {n: v for n, v in values if (self.rotors if split_name(n)[0] in ROTOR_SYMBOLS else self.friction)}

    def takes(self, name: str) -> bool:
        """Whether an effect besides the base parameters reads "q", "load" or "temperature"; with loops all read q."""
        if name == "q" and self.robot.open_cuts:
            return True
        used = any(name in BY_SYMBOL[split_name(full)[0]].inputs for full in self.others)
        return used and (self.temperature or name != "temperature")

    @property
    def friction_inputs(self) -> tuple[str, ...]:
        """State inputs of the program `friction`; the load depends on all of them."""
        if self.of_velocity:
            return ("qd",)
        if self.takes("load"):
            return ("q", "qd", "qdd")
        return ("q", "qd") if self.takes("q") else ("qd",)

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Input ports of the parameters."""
        kind = {"standard": "standard", "base": "base", "mlc": "minimal linear combination"}.get(self.parameters, "")
        theta = (Port(THETA, (len(self.names),), f"{kind} parameters: {', '.join(self.names)}"),) if self.names else ()
        text = f"load at joint {self._load_joint + 1}: {' '.join(LINK_SYMBOLS)}, about its frame's origin"
        return theta + ((Port(LOAD, (10,), text),) if self.payload is not False else ())

    @cached_property
    def _load_joint(self) -> int:
        return self.robot.joint_index(self.payload) if isinstance(self.payload, str) else self.robot.tip

    # ------------------------------------------------------------------ from inputs to base parameters

    @cached_property
    def _inputs_to_base(self) -> Array:
        """Matrix from the inputs (constant 1 or theta, then the payload) to the base parameters beta."""
        K = self.base.K
        if self.parameters == "baked":
            matrix = self._baked_values()[:, None]
        elif self.parameters == "standard":
            matrix = K[:, [self.base.columns.index(name) for name in self._base_names]]
        else:
            matrix = np.eye(len(K))[:, self.essential_rows]
        if self.payload is False:
            return matrix
        ten = [self.base.columns.index(full_name(s, self._load_joint + 1)) for s in LINK_SYMBOLS]
        return np.hstack([matrix, K[:, ten]])

    def _baked_values(self) -> Array:
        if self.is_composite:  # values and essential parameters are told of the regrouped set
            of_links = replace(self, formulation="newton-euler")
            regrouped = of_links._baked_values()
            return cleared_product(of_links.base.conversion_to(self.base), regrouped[:, None])[:, 0]
        beta = self._nominal_values() if self.values is None else np.asarray(self.values, float)
        if beta.shape != (self.base.count,):
            raise MinertiaError(f"{len(beta)} values are given; '{self.robot.name}' has {self.base.count} parameters")
        if not np.all(np.isfinite(beta)):
            bad = self.base.names[int(np.argmin(np.isfinite(beta)))]
            raise MinertiaError(f"the parameter {bad} is not a finite number, so no program can be generated")
        kept = np.zeros(len(beta))
        rows = self.essential_rows
        kept[rows] = beta[rows]
        return kept

    def _nominal_values(self) -> Array:
        """Nominal base parameters of the robot; 0 where the terms of a group cancel up to rounding."""
        beta = self.base.values()
        table = dict(
            zip(self.robot.columns(True, True), self.robot.parameter_vector(rotors=True, friction=True), strict=True)
        )
        terms = np.abs(self.base.K) @ np.abs([table[name] for name in self.base.columns])
        return np.where(np.abs(beta) <= NEGLIGIBLE * terms, 0.0, beta)

    @cached_property
    def essential_rows(self) -> list[int]:
        """Indices of the base parameters that are not zero."""
        if self.essential is None:
            return list(range(self.base.count))
        known = {name: k for names in (self.base.kept, self.base.names) for k, name in enumerate(names)}
        for name in self.essential:
            if name not in known:
                raise UnknownName("base parameter", name, self.base.names)
        return sorted({known[name] for name in self.essential})

    def _standard_names(self) -> tuple[str, ...]:
        """Standard parameters that have an effect and, if the robot has values, are not zero."""
        shown = np.any(self.base.K != 0, axis=0)
        if self.robot.has_parameters:
            nominal = self.robot.parameter_vector(rotors=True, friction=True)
            table = dict(zip(self.robot.columns(True, True), nominal, strict=True))
            shown &= np.array([table[name] != 0 for name in self.base.columns])
        return tuple(name for name, is_shown in zip(self.base.columns, shown, strict=True) if is_shown)

    def nominal_inputs(self) -> dict[str, Array]:
        """Nominal values of the parameter inputs (zero payload)."""
        found = {}
        if self.parameters == "standard":
            vector = self.robot.parameter_vector(rotors=True, friction=True)
            table = dict(zip(self.robot.columns(True, True), vector, strict=True))
            found[THETA] = np.array([table[name] for name in self._base_names])
        elif self.parameters != "baked":
            found[THETA] = self.base.values()[self.essential_rows]
        if THETA in found:
            found[THETA] = np.append(found[THETA], [self.robot.effect_values[name] for name in self.others])
        if self.payload is not False:
            found[LOAD] = np.zeros(10)
        return found

    def standard_parameters(self, inputs: dict[str, Array]) -> list[dict[str, float]]:
        """Standard parameters with the same torques as these parameter inputs, for the plain recursion."""
        is_baked, split = self.parameters == "baked", len(self._base_names)
        parts = [np.ones(1)] if is_baked else [inputs[THETA][:split]]
        parts += [inputs[LOAD]] if self.payload is not False else []
        beta = self._inputs_to_base @ np.concatenate(parts)
        chi = _empty(self.robot, 0.0)
        for name, value in zip(self.base.columns, self.base.standard_values(beta), strict=True):
            _put(self.robot, chi, name, float(value))
        others = [self.robot.effect_values[name] for name in self.others] if is_baked else inputs[THETA][split:]
        for name, value in zip(self.others, others, strict=True):
            _put(self.robot, chi, name, float(value))
        return chi

    @cached_property
    def to_motors(self) -> Array:
        """Matrix from the efforts tau of the joint coordinates to motor efforts tau_m, from tau = G' tau_m."""
        return cleared_product(np.asarray(np.linalg.inv(np.array(self.robot.coupling, float).T)), np.eye(self.robot.n))

    # ------------------------------------------------------------------ into the recursion

    def relations(self, shifts: Sequence[float] = ()) -> Array:
        """Matrix K with beta = K chi, chi in frames shifted along their axes."""
        K = self.base.K
        return K @ parameters_back(self.robot, self.base.columns, shifts) if any(shifts) else K

    def matrix(self, choice: Representative) -> Array:
        """Matrix with chi of the retained columns = matrix @ inputs, rounding errors cleared."""
        key = (choice.kept, choice.shifts)
        if key not in self._matrices:
            self._matrices[key] = self._matrix(choice)
        return self._matrices[key]

    @cached_property
    def _matrices(self) -> dict[tuple[tuple[str, ...], tuple[float, ...]], Array]:
        return {}

    @cached_property
    def found_choices(self) -> dict[str, Representative]:
        """Cache of the cheapest choices found by a search, by program; several programs share one."""
        return {}

    def _matrix(self, choice: Representative) -> Array:
        where = [self.base.columns.index(name) for name in choice.kept]
        inverse: Array = np.asarray(np.linalg.inv(self.relations(choice.shifts)[:, where]), float)
        return cleared_product(inverse, self._inputs_to_base)

    def friction_values(self, chi: Sequence[Mapping[str, Scalar]]) -> list[dict[str, Scalar]]:
        """Parameters used by the program `friction`."""
        if not self.of_velocity:
            return [dict(x) for x in chi]
        hidden = {j + int(self.robot.is_floating) for j in self.robot.passive}
        inertia = (*LINK_SYMBOLS, *ROTOR_SYMBOLS)
        return [
            {s: v for s, v in x.items() if s not in BY_PLACE and (k not in hidden or s in inertia)}
            for k, x in enumerate(chi)
        ]

    @property
    def placed(self) -> list[str]:
        """Full names of effects that depend on position or load, and of effects of passive joints."""
        passive = {j + 1 for j in self.robot.passive}
        kinds = {name: split_name(name) for name in self.effects}
        moved = [n for n, (symbol, link) in kinds.items() if link in passive and symbol not in ROTOR_SYMBOLS]
        return list(dict.fromkeys([*(n for n in self.others if split_name(n)[0] in BY_PLACE), *moved]))

    def enter(self, graph: Graph, choice: Representative | None = None) -> list[dict[str, Scalar]]:
        """Parameters of every link (a floating base first): int 0, constants, or expressions of the inputs."""
        choice = Representative(self.base.kept) if choice is None else choice
        chi: list[dict[str, Scalar]] = _empty(self.robot, 0)
        inputs = self._inputs(graph)
        for name, row in zip(choice.kept, self.matrix(choice), strict=True):
            _put(self.robot, chi, name, _mixed(row, inputs))
        self._put_others(graph, chi)
        return chi

    def enter_combinations(self, graph: Graph) -> tuple[dict[str, Scalar], list[dict[str, Scalar]]]:
        """Minimal linear combinations by name, and the effects of every link, whose inertial parameters are zero."""
        found: dict[str, Scalar] = {}
        chi: list[dict[str, Scalar]] = _empty(self.robot, 0)
        inputs = self._inputs(graph)
        matrix = cleared_product(np.eye(self.base.count), self._inputs_to_base)
        for name, row in zip(self.base.names, matrix, strict=True):
            if "_" in name:
                found[name] = _mixed(row, inputs)
            else:
                _put(self.robot, chi, name, _mixed(row, inputs))
        self._put_others(graph, chi)
        return found, chi

    def _theta(self, graph: Graph) -> list[Scalar]:
        return [] if self.parameters == "baked" else list(graph.variables(THETA, len(self.names)))

    def _inputs(self, graph: Graph) -> list[Scalar]:
        """Inputs of `_inputs_to_base`: the constant 1 or theta, then the payload."""
        theta = self._theta(graph)
        inputs: list[Scalar] = theta[: len(theta) - len(self.others)] if theta else [1]
        return inputs + (graph.variables(LOAD, 10) if self.payload is not False else [])

    def _put_others(self, graph: Graph, chi: list[dict[str, Scalar]]) -> None:
        theta = self._theta(graph)
        for place, name in enumerate(self.others, start=len(theta) - len(self.others)):
            value = theta[place] if theta else structural(self.robot.effect_values[name])
            _put(self.robot, chi, name, value)


def cleared_product(A: Array, B: Array) -> Array:
    """Product A B, with entries that are only rounding error set to zero and equal magnitudes made equal."""
    product, terms = A @ B, np.abs(A) @ np.abs(B)
    product = np.where(np.abs(product) <= NEGLIGIBLE * terms, 0.0, product)
    nearest = np.rint(product)
    product = np.where(np.abs(product - nearest) <= NEGLIGIBLE * terms, nearest, product)
    return _with_equal_sizes(product)


def _with_equal_sizes(values: Array) -> Array:
    """Make magnitudes that agree up to rounding exactly equal, so that symmetric entries share one constant."""
    if values.size == 0:  # of a model without base parameters, such as friction alone
        return values
    sizes = np.abs(values).ravel()
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    is_new = np.concatenate([[True], np.diff(ordered) > NEGLIGIBLE * ordered[1:]])
    sizes[order] = ordered[is_new][np.cumsum(is_new) - 1]
    return np.asarray(np.copysign(sizes.reshape(values.shape), values))


def _mixed(row: Array, inputs: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0
    for k in np.flatnonzero(row):
        total = add(total, mul(structural(float(row[k])), inputs[int(k)]))
    return total


def _empty(robot: Robot, zero: Scalar) -> list[dict[str, Scalar]]:
    return [dict.fromkeys(LINK_SYMBOLS, zero) for _ in range(robot.n_joints + int(robot.is_floating))]


def _put(robot: Robot, chi: list[dict[str, Scalar]], name: str, value: Scalar) -> None:
    symbol, link = split_name(name)
    chi[link - 1 + int(robot.is_floating)][symbol] = value


def setting_of(model: CodeModel, robot: Robot, *, at_joints: bool = False) -> Setting:
    """Setting of a code model for one robot.

    at_joints: for a target that applies efforts at the joints and has no temperature inputs.
    """
    if robot.has_input("load"):
        robot.require_tree("generated code with friction that depends on the load")
    return Setting(
        robot,
        model.parameters,
        _has(robot, rotors=True) if model.rotors is None else model.rotors,
        _has(robot, rotors=False) if model.friction is None else model.friction,
        model.payload,
        None if model.values is None else tuple(model.values),
        None if model.essential is None else tuple(model.essential),
        model.motors,
        model.temperature and not at_joints,
        at_joints,
        model.frame,
        model.closing_steps,
        model.formulation,
    )


def _has(robot: Robot, *, rotors: bool) -> bool:
    """Whether a robot has rotor inertias (rotors is True) or other effects (rotors is False)."""
    return any((split_name(name)[0] in ROTOR_SYMBOLS) == rotors for name in robot.effect_values)
