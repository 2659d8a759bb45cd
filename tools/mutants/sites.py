"""Faults of a source: a number, a comparison, an operator, a condition or a bound, changed one at a time."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.mutants.places import PLACES

COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
TURNED = {"<": ">", "<=": ">", ">": "<", ">=": "<", "==": "!=", "!=": "=="}
EXCHANGED = {"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "//": "*", "%": "*"}
BOUNDS = ("maximum", "minimum", "max", "min", "abs", "sqrt")
SAME = (
    "strict",
    "hermitian",
    "optimize",
    "full_matrices",
    "check_finite",
    "overwrite_a",
)  # arguments that change no right result
LEFT_ALONE = ("__all__", "ROUNDS", "ITERATIONS")  # names, and how often something is tried at most
SHOWN = ("__repr__", "__str__", "_repr_html_")  # words, which are held elsewhere
LARGE = 10  # from here on a count one higher is no fault that anybody would see, and is changed like other numbers
GUARD = 1e-200  # numbers below it only keep divisions apart from zero: changing them changes nothing


@dataclass(frozen=True)
class Fault:
    """A piece of a source, what takes its place, and the function it is in ("" for the module)."""

    file: str
    line: int
    column: int
    start: int
    stop: int
    old: str
    new: str
    function: str
    names: tuple[str, ...] = ()  # of constants of the module that it changes

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column} {self.function or 'module'}: {self.old!r} -> {self.new!r}"


class Sites(ast.NodeVisitor):
    """All faults of a source."""

    def __init__(self, file: str, text: str, rng: random.Random) -> None:
        self.file, self.text, self.rng = file, text, rng
        self.found: list[Fault] = []
        self.inside: list[str] = []
        self.in_function = 0
        self.names: tuple[str, ...] = ()
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.visit(ast.parse(text))

    def at(self, node: ast.AST, end: bool = False) -> int:
        """Position of a node in the text."""
        if end:
            return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def add(self, start: int, stop: int, new: str, line: int) -> None:
        """Note a fault, unless it stands where no function runs it."""
        if self.inside and not self.in_function:
            return
        old, function, column = self.text[start:stop], ".".join(self.inside), start - self.starts[line - 1]
        self.found.append(Fault(self.file, line, column, start, stop, old, new, function, self.names))

    def operator(self, left: ast.AST, right: ast.AST, table: dict[str, str], line: int) -> None:
        """Exchange the operator between two nodes."""
        start, stop = self.at(left, True), self.at(right)
        found = re.search(r"\*\*|//|<=|>=|==|!=|[-+*/%<>]", self.text[start:stop])
        if found and found[0] in table:
            self.add(start + found.start(), start + found.end(), table[found[0]], line)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Faults of a function."""
        if node.name in SHOWN:
            return
        self.inside.append(node.name)
        self.in_function += 1
        for statement in [*node.args.defaults, *(d for d in node.args.kw_defaults if d), *node.body]:
            self.visit(statement)
        self.in_function -= 1
        self.inside.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Faults of the methods of a class."""
        self.inside.append(node.name)
        outer, self.in_function = self.in_function, 0
        for statement in node.body:
            self.visit(statement)
        self.in_function = outer
        self.inside.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        """Constants of a module have names that others import."""
        self.assigned(node.targets, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """No fault is in an annotation."""
        if node.value is not None:
            self.assigned([node.target], node.value)

    def assigned(self, targets: Sequence[ast.AST], value: ast.AST) -> None:
        """Faults of a value; constants of a module are noted by name."""
        if not self.inside:
            names = [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]
            self.names = tuple(names)
        if not set(self.names) & set(LEFT_ALONE):
            self.visit(value)
        self.names = ()

    def visit_For(self, node: ast.For) -> None:
        """How often something is tried at most, and when it is good enough, changes no right result."""
        ends = [n for n in node.body if isinstance(n, ast.If) and isinstance(n.body[0], ast.Break)]
        is_search = bool(ends) and ast.unparse(node.target) == "_"
        for child in ast.iter_child_nodes(node):
            if not (is_search and (child is node.iter or child in ends)):
                self.visit(child)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Arguments that only choose a way to the same result are left alone."""
        if node.arg not in SAME:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Words are held elsewhere."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Nor what stands in sentences."""

    def visit_Constant(self, node: ast.Constant) -> None:
        """Another number."""
        value = node.value
        if isinstance(value, bool):
            self.add(self.at(node), self.at(node, True), str(not value), node.lineno)
        elif isinstance(value, int):
            new = value + 1 if value < LARGE else round(value * self.rng.choice((0.25, 4.0)))
            self.add(self.at(node), self.at(node, True), str(new), node.lineno)
        elif isinstance(value, float) and abs(value) > GUARD:
            new = value * self.rng.choice((0.01, 0.25, 4.0))
            self.add(self.at(node), self.at(node, True), repr(new), node.lineno)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Another comparison."""
        table = self.rng.choice((COMPARED, TURNED, TURNED))
        table = TURNED if _is_measured(node) else table
        if len(node.ops) == 1:
            self.operator(node.left, node.comparators[0], table, node.lineno)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Another operator."""
        is_union = isinstance(node.op, ast.BitOr | ast.BitAnd | ast.MatMult)
        if not is_union and not isinstance(node.left, ast.Constant | ast.JoinedStr) or _is_number(node.left):
            self.operator(node.left, node.right, EXCHANGED, node.lineno)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Or for and."""
        start, stop = self.at(node.values[0], True), self.at(node.values[1])
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        found = re.search(rf"\b{old}\b", self.text[start:stop])
        if found and len(node.values) == 2:
            self.add(start + found.start(), start + found.end(), new, node.lineno)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Without the sign."""
        if isinstance(node.op, ast.Not | ast.USub) and not isinstance(node.operand, ast.Constant):
            size = len("not ") if isinstance(node.op, ast.Not) else len("-")  # a bracket may follow
            self.add(self.at(node), self.at(node) + size, "", node.lineno)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """The other branch; what is imported for annotations alone has none."""
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self.add(self.at(node.test), self.at(node.test, True), f"not ({self.source(node.test)})", node.lineno)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Without a bound."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        is_split = len(node.args) == 2 or name in ("abs", "sqrt")
        if name == "sqrt" and node.args and _is_rounded_off(node.args[0]):
            self.add(self.at(node), self.at(node, True), f"({self.source(node.args[0])})", node.lineno)
            self.visit(node.args[0].args[0])  # type: ignore[attr-defined]
            return
        if name in BOUNDS and is_split and not any(_is_left_alone(a) for a in node.args):
            kept = min(node.args, key=lambda arg: isinstance(arg, ast.Constant))  # what is bounded, not the bound
            self.add(self.at(node), self.at(node, True), f"({self.source(kept)})", node.lineno)
        for child in ast.iter_child_nodes(node):
            if not (name == "reshape" and isinstance(child, ast.UnaryOp)):  # any negative length means: what is left
                self.visit(child)

    def source(self, node: ast.AST) -> str:
        """Text of a node."""
        return self.text[self.at(node) : self.at(node, True)]


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_measured(node: ast.Compare) -> bool:
    """Whether numbers are compared that are never equal: one side has a fraction in it."""
    return any(isinstance(n, ast.Constant) and isinstance(n.value, float) and n.value for n in ast.walk(node))


def _is_rounded_off(node: ast.AST) -> bool:
    """Whether this is a number with what rounding left below zero cut off."""
    bound = node.args[1] if isinstance(node, ast.Call) and len(node.args) == 2 else None
    return isinstance(bound, ast.Constant) and bound.value == 0 and "max" in ast.unparse(node.func)  # type: ignore[attr-defined]


def _is_left_alone(node: ast.AST) -> bool:
    """Whether a bound with this argument only keeps a division apart from zero, or has no first argument."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(node, ast.Starred) or (isinstance(value, float) and 0 < abs(value) < GUARD)


def drawn(root: Path, count: int, seed: int) -> list[Fault]:
    """Faults drawn from all sources."""
    rng = random.Random(seed)
    every = [
        fault for file in PLACES for fault in Sites(file, (root / "src/minertia" / file).read_text("utf-8"), rng).found
    ]
    return rng.sample(every, min(count, len(every)))


def unchanged(root: Path) -> list[Fault]:
    """For each source a fault that changes nothing: no test may notice it."""
    first = {fault.file: fault for fault in drawn(root, 10**9, 0)}
    return [replace(fault, new=fault.old) for fault in first.values()]
