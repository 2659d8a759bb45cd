"""C99 target for controllers: straight-line code of the schedule; no allocation, no globals, no state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from minertia.algebra.expr import Expr, Graph
from minertia.codegen.kernels.order import in_turns
from minertia.codegen.options import Arithmetic
from minertia.codegen.program import Port, Program, input_place
from minertia.codegen.targets.names import comment
from minertia.io.errors import MinertiaError

DOUBLE = Arithmetic()


@dataclass(frozen=True, slots=True)
class CStyle:
    """Style of the C text: prefix of all names, and the arithmetic.

    is_for_processors: interleave independent statements if all sines come first and values are double, which small
    controllers do not use.
    """

    prefix: str
    arithmetic: Arithmetic = DOUBLE
    is_for_processors: bool = False

    @property
    def precision(self) -> str:
        """Floating-point type."""
        return self.arithmetic.precision

    @property
    def sincos(self) -> str:
        """Source of sines and cosines: "libm", or "own" for generated functions."""
        return self.arithmetic.sincos

    @property
    def takes_turns(self) -> bool:
        """Whether independent statements are interleaved."""
        return self.is_for_processors and self.sincos == "own" and self.precision == "double"

    @property
    def suffix(self) -> str:
        """Suffix of literals and of libm functions."""
        return "f" if self.precision == "float" else ""

    def number(self, value: float) -> str:
        """C literal that reads back as the same number."""
        if value != value or value in (float("inf"), float("-inf")):
            raise MinertiaError("a constant of the program is not a finite number")
        text = repr(value) if self.precision == "double" else f"{value:.9g}"
        if not any(mark in text for mark in ".e"):
            text += ".0"
        return text + self.suffix


def schedule(graph: Graph, outputs: Sequence[Expr]) -> list[int]:
    """Needed nodes in evaluation order, each as late as its first user allows (short live ranges)."""
    order: list[int] = []
    done: set[int] = set()
    for output in outputs:
        stack = [(output.id, False)]
        while stack:
            node, is_ready = stack.pop()
            if is_ready:
                order.append(node)
            elif node not in done:
                done.add(node)
                stack.append((node, True))
                stack.extend((a, False) for a in reversed(graph.arguments[node]) if a not in done)
    return order


@dataclass(frozen=True, slots=True)
class Rendered:
    """One program as C text: declarations for the header, definitions for the source."""

    declaration: str
    definition: str
    has_prepare: bool


def render(program: Program, style: CStyle) -> Rendered:
    """Render the functions of a program."""
    return Renderer(program, style).rendered()


def prepared_slots(program: Program) -> dict[int, int]:
    """Slot numbers of the free values that a call needs, which a `_prepare` function computes once."""
    graph, free = program.graph, program.free
    order = schedule(graph, program.expressions)
    wanted = {output.id for output in program.expressions}
    for node in order:
        if node not in free:
            wanted |= set(graph.arguments[node])
    kept = [n for n in order if n in wanted and n in free and graph.nodes[n][0] != "const"]
    return {node: k for k, node in enumerate(kept)}


class Renderer:
    """Renderer of one program; `names` holds the C text of each node."""

    def __init__(self, program: Program, style: CStyle) -> None:
        self.program, self.style = program, style
        self.function = f"{style.prefix}_{program.name}"
        self.order = schedule(program.graph, program.expressions)
        self.slots = prepared_slots(program)
        self.real = style.precision
        self.temporaries = 0

    # ------------------------------------------------------------------ texts

    def rendered(self) -> Rendered:
        """Declarations and definitions."""
        declarations, definitions = [], []
        if self.slots:
            n = len(self.slots)
            declarations += [
                f"/* What {self.function} needs of its parameters: computed once, whenever they change. */",
                f"typedef struct {{ {self.real} k[{n}]; }} {self.function}_prepared;",
                f"{self._prepare_head()};",
            ]
            definitions.append(self._prepare())
        declarations += [*self._meaning(), f"{self._head()};"]
        definitions.append(self._call())
        return Rendered("\n".join(declarations) + "\n", "\n".join(definitions), bool(self.slots))

    def _meaning(self) -> list[str]:
        lines = [f"/* {comment(self.program.name.replace('_', ' '))}"]
        parameters = set(self.program.parameters) if self.slots else set()
        for port in self.program.inputs:
            if port.name not in parameters:
                lines.append(f"   in  {port.name}[{port.size}]{_text(port)}")
        lines += [f"   out {port.name}[{port.size}]{_text(port)}" for port in self.program.ports]
        return [*lines, "*/"]

    def _array(self, port: Port, kind: str = "const ") -> str:
        return f"{kind}{self.real} *MINERTIA_RESTRICT {port.name}"

    def _head(self) -> str:
        parameters = set(self.program.parameters)
        arguments = [self._array(p) for p in self.program.inputs if p.name not in parameters]
        if self.slots:
            arguments.append(f"const {self.function}_prepared *MINERTIA_RESTRICT prepared")
        arguments += [self._array(p, "") for p in self.program.ports]
        return _wrapped(f"void {self.function}(", arguments)

    def _prepare_head(self) -> str:
        arguments = [self._array(p) for p in self.program.inputs if p.name in self.program.parameters]
        arguments.append(f"{self.function}_prepared *MINERTIA_RESTRICT prepared")
        return _wrapped(f"void {self.function}_prepare(", arguments)

    def _prepare(self) -> str:
        self.temporaries = 0
        names: dict[int, str] = {}
        ordered = list(self.slots)
        wanted = [Expr(self.program.graph, node, False) for node in ordered]
        lines = self._statements(schedule(self.program.graph, wanted), names)
        lines += [f"  prepared->k[{k}] = {names[node]};" for k, node in enumerate(ordered)]
        used = [p for p in self.program.inputs if p.name in self.program.parameters]
        return self._function(self._prepare_head(), used, names, lines)

    def _call(self) -> str:
        self.temporaries = 0
        names = {node: f"prepared->k[{k}]" for node, k in self.slots.items()}
        order = [n for n in self.order if n not in self.program.free or self.program.graph.nodes[n][0] == "const"]
        if self.style.takes_turns:
            order = in_turns(self.program.graph, order, [output.id for output in self.program.expressions])
        lines = self._statements(order, names, self._remarks(order))
        used = [p for p in self.program.inputs if p.name not in self.program.parameters]
        values = iter(self.program.outputs)
        for port in self.program.straight_ports:
            lines += [f"  {port.name}[{k}] = {self._output(next(values), names)};" for k in range(port.size)]
        if self.program.tail is not None:
            head, loops = self.program.tail.c_lines(self.real, self.style.suffix)
            lines = [*head, *lines, *loops]
        return self._function(self._head(), used, names, lines)

    def _output(self, value: Expr | float, names: dict[int, str]) -> str:
        number = value.value if isinstance(value, Expr) else float(value)
        if number is not None:
            return self.style.number(number + 0.0)
        assert isinstance(value, Expr)
        return f"-{names[value.id]}" if value.negative else names[value.id]

    def _function(self, head: str, ports: Sequence[Port], names: dict[int, str], lines: list[str]) -> str:
        body = "\n".join(lines)
        unused = [f"  (void){port.name};" for port in ports if f"{port.name}[" not in body]
        return "\n".join([head, "{", *unused, *lines, "}", ""])

    # ------------------------------------------------------------------ statements

    def _remarks(self, order: Sequence[int]) -> dict[int, str]:
        """Comments before statements: where the motion of a joint first enters, and where an effort is complete."""
        graph, joints = self.program.graph, self.program.joints
        reach: dict[int, int] = {}
        remarks, met = dict[int, str](), set[int]()
        for node in order:
            operation, *rest = graph.nodes[node]
            if operation == "var":
                reach[node] = self._coordinate(rest[0])
                continue
            reach[node] = max((reach.get(a, -1) for a in graph.arguments[node]), default=-1)
            if reach[node] >= 0 and reach[node] not in met:  # those of a floating base are below
                met.add(reach[node])
                remarks[node] = f"joint {reach[node] + 1} ({comment(joints[reach[node]])}) and its link"
        for k, node in self._efforts():
            remarks.setdefault(node, f"effort of joint {k + 1} ({comment(joints[k])})")
        return remarks

    def _coordinate(self, variable: str) -> int:
        """Index of the joint of a state variable, from 0; -1 for all others."""
        name, index = variable.rstrip("]").split("[")
        ports = {port.name: port.size for port in self.program.inputs}
        joints = len(self.program.joints)
        if name not in ("q", "qd", "qdd", "qdr", "qddr") or not joints:
            return -1
        return int(index) - (ports[name] - joints)  # a floating base comes first

    def _efforts(self) -> list[tuple[int, int]]:
        """(joint, node) of the outputs that are efforts."""
        found, start, joints = [], 0, len(self.program.joints)
        for port in self.program.straight_ports:
            own = self.program.outputs[start : start + port.size]
            start += port.size
            if port.name in ("tau", "b", "g", "h") and port.size >= joints > 0:
                parts = enumerate(own[port.size - joints :])
                found += [(k, output.id) for k, output in parts if isinstance(output, Expr)]
        return found

    def _statements(
        self, order: Sequence[int], names: dict[int, str], remarks: Mapping[int, str] = MappingProxyType({})
    ) -> list[str]:
        lines, sines = list[str](), dict[int, str]()
        for level, angles in enumerate(self._angles(order)):
            lines += self._angle_block(names, angles, sines, str(level or ""))
        for node in order:
            if node not in names and not self._is_named(node, names, sines):
                lines += [f"  /* {remarks[node]} */"] if node in remarks else []
                lines.append(self._statement(node, names))
        return lines

    def _is_named(self, node: int, names: dict[int, str], sines: Mapping[int, str]) -> bool:
        """Whether a node needs no statement: a constant, an input, or a sine or cosine computed in a block."""
        operation, *rest = self.program.graph.nodes[node]
        if operation == "const":
            names[node] = self.style.number(rest[0])
        elif operation == "var":
            names[node] = rest[0]
        elif operation in ("sin", "cos") and rest[0] in sines:
            names[node] = operation[0] + sines[rest[0]]
        else:
            return False
        return True

    def _statement(self, node: int, names: dict[int, str]) -> str:
        operation, *rest = self.program.graph.nodes[node]
        a = [names[r] for r in rest]
        text = {
            "+": "{} + {}",
            "-": "{} - {}",
            "*": "{} * {}",
            "/": "{} / {}",
            "neg": "-{}",
            "sin": f"sin{self.style.suffix}({{}})",
            "cos": f"cos{self.style.suffix}({{}})",
            "sqrt": f"sqrt{self.style.suffix}({{}})",
            "exp": f"exp{self.style.suffix}({{}})",
            "tanh": f"tanh{self.style.suffix}({{}})",
            "abs": f"fabs{self.style.suffix}({{}})",
            "sign": f"{self.style.prefix}_sign({{}})",
        }[operation].format(*a)
        names[node] = f"t{self.temporaries}"
        self.temporaries += 1
        return f"  const {self.real} {names[node]} = {text};"

    def _angles(self, order: Sequence[int]) -> list[list[int]]:
        """Arguments of the sines and cosines that are computed together, group by group.

        The first group consists of inputs; each further group depends on the sines of earlier groups.  Adjacent
        inputs stay adjacent, as a compiler may otherwise load them one by one.
        """
        graph = self.program.graph
        if self.style.sincos != "own":
            return []
        depth: dict[int, int] = {}
        levels: list[dict[int, None]] = []
        for node in order:
            operation, *rest = graph.nodes[node]
            depth[node] = max((depth.get(a, 0) for a in graph.arguments[node]), default=0)
            if operation in ("sin", "cos"):
                levels += [{} for _ in range(depth[node] + 1 - len(levels))]
                levels[depth[node]][rest[0]] = None
                depth[node] += 1
        return [sorted(level, key=self._place_of_input) for level in levels]

    def _place_of_input(self, node: int) -> tuple[int, str, int]:
        """Sort key of inputs, before all other nodes."""
        operation, *rest = self.program.graph.nodes[node]
        return (0, *input_place(rest[0])) if operation == "var" else (1, "", 0)

    def _angle_block(
        self, names: dict[int, str], angles: Sequence[int], sines: dict[int, str], suffix: str
    ) -> list[str]:
        """Statements for the angles, then one call for all sines and cosines, whose positions are added to `sines`."""
        n, lines = len(angles), []
        arguments = [Expr(self.program.graph, a, False) for a in angles]
        for node in schedule(self.program.graph, arguments):
            if node not in names and not self._is_named(node, names, sines):
                lines.append(self._statement(node, names))
        padded = (n + 3) // 4 * 4
        numbers = [names[a] for a in angles] + [self.style.number(0.0)] * (padded - n)
        angle, s, c = (f"{name}{suffix}" for name in ("angle", "s", "c"))
        lines.append(f"  {self.real} {angle}[{padded}], {s}[{padded}], {c}[{padded}];")
        for k in range(0, padded, 4):
            lines.append(f"  {self.style.prefix}_put(&{angle}[{k}], {', '.join(numbers[k : k + 4])});")
        sines |= {argument: f"{suffix}[{k}]" for k, argument in enumerate(angles)}
        return [*lines, f"  {self.style.prefix}_sincos({n}, {angle}, {s}, {c});"]


def _text(port: Port) -> str:
    return f": {comment(port.meaning)}" if port.meaning else ""


def _wrapped(start: str, arguments: Sequence[str]) -> str:
    line = start + ", ".join(arguments) + ")"
    if len(line) <= 100:
        return line
    return start + "\n    " + ",\n    ".join(arguments) + ")"
