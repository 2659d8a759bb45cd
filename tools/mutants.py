"""Would the tests notice?  Small faults are put into the code one at a time, and the tests that run it must fail.

python tools/mutants.py --count 300 --seed 0 --out build/mutants.txt

A fault changes a number, a comparison, an operator, a condition or a bound (`np.maximum(a, b)` becomes `a`).  Faults
are drawn by seed from the sources in PLACES; for each, the tests that were seen to call the faulty function run,
quickest first, until one fails.  All happens in a copy of the tree: code is exchanged inside a forked process, so that
nothing is imported again.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import os
import pickle
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BASE = ("tests/base/test_rules.py", "tests/base/test_facts.py", "tests/base/test_lettered_robots.py")
SPREAD = (
    "tests/identification/test_noise.py",
    "tests/identification/test_coverage.py",
    "tests/identification/test_evidence.py",
)
AUDIT = ("tests/identification/test_audit.py", "tests/identification/test_audit_thresholds.py")
PLACES: dict[str, tuple[str, ...]] = {
    "base/closed_form.py": BASE,
    "base/mlc.py": BASE,
    "base/numeric.py": BASE,
    "base/sample.py": BASE,
    "base/sets.py": BASE,
    "base/certificate.py": BASE,
    "base/derive.py": BASE,
    "identification/evidence/intervals.py": SPREAD,
    "identification/evidence/noise.py": SPREAD,
    "identification/evidence/plausibility.py": ("tests/identification/test_plausibility.py", *SPREAD[2:]),
    "identification/evidence/verdict.py": SPREAD[2:],
    "identification/loads/payload.py": ("tests/identification/test_payload.py", *SPREAD[:2]),
    "identification/loads/gains.py": ("tests/identification/test_payload.py", *SPREAD[:2]),
    "identification/logs/repair.py": (*AUDIT, "tests/identification/test_recording.py"),
    "identification/audits/time.py": AUDIT,
    "identification/audits/values.py": AUDIT,
    "identification/audits/motion.py": AUDIT,
    "robot/snap.py": ("tests/robot/test_snap.py", "tests/robot/test_urdf.py"),
    "validation/online_payload.py": ("tests/validation/test_online_payload.py",),
    "validation/change.py": ("tests/validation/test_online_payload.py",),
}
LEFT_OUT = (
    ".git",
    ".venv",
    "build",
    "dist",
    "*.egg-info",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
)
SECONDS = 25.0  # of tests for one fault, as they were measured; three tests at least
SLOW = 20.0  # s: tests that take longer are not run
PATIENCE = 4.0  # times as long before a fault counts as noticed because nothing ends
COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
TURNED = {"<": ">", "<=": ">", ">": "<", ">=": "<", "==": "!=", "!=": "=="}
EXCHANGED = {"+": "-", "-": "+", "*": "/", "/": "*", "**": "*", "//": "*", "%": "*"}
BOUNDS = ("maximum", "minimum", "max", "min", "abs", "sqrt")
SAME = ("strict", "hermitian", "optimize", "full_matrices", "check_finite")  # arguments that change no right result
SHOWN = ("__repr__", "__str__", "_repr_html_")  # words, which are held elsewhere
GUARD = 1e-200  # numbers below it only keep divisions apart from zero: changing them changes nothing


@dataclass(frozen=True)
class Fault:
    """A piece of a source, what takes its place, and the function it is in ("" for the module)."""

    file: str
    line: int
    start: int
    stop: int
    old: str
    new: str
    function: str
    names: tuple[str, ...] = ()  # of constants of the module that it changes

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function or 'module'}: {self.old!r} -> {self.new!r}"


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
        self.found.append(
            Fault(self.file, line, start, stop, self.text[start:stop], new, ".".join(self.inside), self.names)
        )

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
        if self.names != ("__all__",):
            self.visit(value)
        self.names = ()

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
            self.add(self.at(node), self.at(node, True), str(value + 1), node.lineno)
        elif isinstance(value, float) and abs(value) > GUARD:
            new = value * self.rng.choice((0.01, 0.25, 4.0))
            self.add(self.at(node), self.at(node, True), repr(new), node.lineno)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Another comparison."""
        table = self.rng.choice((COMPARED, TURNED, TURNED))
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
            self.add(self.at(node), self.at(node.operand), "", node.lineno)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """The other branch."""
        self.add(self.at(node.test), self.at(node.test, True), f"not ({self.source(node.test)})", node.lineno)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Without a bound."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        is_split = len(node.args) == 2 or name in ("abs", "sqrt")
        if name in BOUNDS and is_split and not any(_is_left_alone(a) for a in node.args):
            self.add(self.at(node), self.at(node, True), f"({self.source(node.args[0])})", node.lineno)
        self.generic_visit(node)

    def source(self, node: ast.AST) -> str:
        """Text of a node."""
        return self.text[self.at(node) : self.at(node, True)]


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_left_alone(node: ast.AST) -> bool:
    """Whether a bound with this argument only keeps a division apart from zero, or has no first argument."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(node, ast.Starred) or (isinstance(value, float) and 0 < abs(value) < GUARD)


# ---------------------------------------------------------------------- which tests run which functions


@dataclass
class Calls:
    """A plugin of pytest: seconds of each test, and the functions of the sources that it calls."""

    files: dict[str, str]
    seconds: dict[str, float] = field(default_factory=dict)
    called: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    prepared: dict[str, set[tuple[str, str]]] = field(default_factory=dict)  # by test file: in fixtures and imports
    now: set[tuple[str, str]] = field(default_factory=set)

    def profile(self, frame: Any, event: str, _: Any) -> None:
        """Called by the interpreter."""
        if event == "call":
            code = frame.f_code
            file = self.files.get(code.co_filename)
            if file is not None:
                self.now.add((file, code.co_qualname.replace(".<locals>", "").split(".<")[0]))

    def _watched(self, into: dict[str, set[tuple[str, str]]], key: str) -> Iterator[None]:
        self.now = into.setdefault(key, set())
        sys.setprofile(self.profile)
        yield
        sys.setprofile(None)

    def hooks(self, pytest: Any) -> Any:
        """The plugin itself."""
        calls = self

        class Plugin:
            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_setup(self, item: Any) -> Iterator[None]:
                yield from calls._watched(calls.prepared, item.nodeid.split("::")[0])

            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_call(self, item: Any) -> Iterator[None]:
                begin = time.monotonic()
                yield from calls._watched(calls.called, item.nodeid)
                calls.seconds[item.nodeid] = time.monotonic() - begin

        return Plugin()

    def tests(self, fault: Fault, sources: Sequence[str]) -> list[str]:
        """Tests of some files that run a fault, quickest first."""
        wanted = {(fault.file, fault.function)}
        if not fault.function:
            wanted = {(file, name) for group in self.called.values() for file, name in group if file == fault.file}
        chosen = [
            test
            for test, names in self.called.items()
            if test.split("::")[0] in sources and (names | self.prepared.get(test.split("::")[0], set())) & wanted
        ]
        chosen.sort(key=lambda test: self.seconds.get(test, SLOW))
        total, kept = 0.0, []
        for test in chosen:
            total += self.seconds.get(test, SLOW)
            if self.seconds.get(test, SLOW) > SLOW or (total > SECONDS and len(kept) >= 3):
                break
            kept.append(test)
        return kept


def watched(root: Path, tests: Sequence[str]) -> Calls:
    """Run some test files once."""
    calls = Calls({str(root / "src/minertia" / file): file for file in PLACES})
    kept = root / "calls.pickle"

    def run() -> int:
        import pytest

        code = pytest.main(["-q", "-p", "no:cacheprovider", "-n", "0", *tests], plugins=[calls.hooks(pytest)])
        kept.write_bytes(pickle.dumps((calls.seconds, calls.called, calls.prepared)))
        return int(code)

    if forked(run, 3600.0) != 0:
        raise SystemExit("the tests do not pass without a fault")
    calls.seconds, calls.called, calls.prepared = pickle.loads(kept.read_bytes())
    return calls


# ---------------------------------------------------------------------- one fault


def forked(work: Any, seconds: float) -> int | None:
    """Exit status of some work in a forked process; None where it did not end in time."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.setsid()
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            code = work()
        except BaseException:
            code = 71
        finally:
            os._exit(code)
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def put_in(root: Path, fault: Fault) -> None:
    """Exchange the code of a module that is in memory, and what others have imported of its constants."""
    path = root / "src/minertia" / fault.file
    text = path.read_text(encoding="utf-8")
    changed = text[: fault.start] + fault.new + text[fault.stop :]
    module = importlib.import_module(module_name(fault.file))
    fresh = types.ModuleType(module.__name__)
    fresh.__dict__.update(__file__=str(path), __package__=module.__package__)
    exec(compile(changed, str(path), "exec"), fresh.__dict__)
    old, new = (_functions(names, str(path)) for names in (module.__dict__, fresh.__dict__))
    for key, function in new.items():
        for own in old.get(key, ()):
            own.__code__, own.__defaults__ = function[0].__code__, function[0].__defaults__
            own.__kwdefaults__ = function[0].__kwdefaults__
    for name in fault.names:
        before, after = module.__dict__[name], fresh.__dict__[name]
        for other in list(sys.modules.values()):
            if getattr(other, "__name__", "").startswith("minertia") and getattr(other, name, None) is before:
                setattr(other, name, after)


def _functions(names: dict[str, Any], path: str) -> dict[tuple[str, int], list[types.FunctionType]]:
    found: dict[tuple[str, int], list[types.FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__globals__ is names and thing.__code__.co_filename == path:
            found.setdefault((thing.__qualname__, thing.__code__.co_firstlineno), []).append(thing)
    return found


def module_name(file: str) -> str:
    """Name of the module of a source."""
    return "minertia." + file.removesuffix(".py").replace("/", ".")


def is_noticed(root: Path, fault: Fault, tests: Sequence[str], seconds: float) -> str:
    """Whether tests notice a fault: killed, killed by time, survived, or not run by any test."""
    if not tests:
        return "not run"

    def run() -> int:
        import pytest

        put_in(root, fault)
        return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-n", "0", *tests]))

    code = forked(run, 20.0 + PATIENCE * seconds)
    return "killed by time" if code is None else "survived" if code == 0 else "killed"


# ---------------------------------------------------------------------- all of them


def drawn(root: Path, count: int, seed: int, places: Sequence[str]) -> list[Fault]:
    """Faults drawn from all of some sources."""
    rng = random.Random(seed)
    every = [
        fault for file in places for fault in Sites(file, (root / "src/minertia" / file).read_text("utf-8"), rng).found
    ]
    return rng.sample(every, min(count, len(every)))


def copied(here: Path) -> Path:
    """A copy of the tree, in which all happens."""
    root = Path(tempfile.mkdtemp(prefix="minertia-mutants-")) / "tree"
    shutil.copytree(here, root, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    return root


def main() -> None:
    """Draw, run, and list what was not noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="faults to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the names of the sources")
    parser.add_argument("--again", type=Path, help="an earlier list: only what was not noticed there is run")
    parser.add_argument("--out", type=Path, help="file for the list of faults; it is written as they are run")
    given = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    out = None if given.out is None else given.out.resolve()
    places = [file for file in PLACES if given.only in file]
    root = copied(here)
    try:
        faults = drawn(root, given.count, given.seed, places)
        if given.again is not None:
            lines = given.again.read_text("utf-8").splitlines()
            faults = [fault for fault in faults if any(str(fault) in line and " killed " not in line for line in lines)]
        _run(root, faults, out)
    finally:
        shutil.rmtree(root.parent)


def _run(root: Path, faults: Sequence[Fault], out: Path | None) -> None:
    os.environ.update(OPENBLAS_NUM_THREADS="1", PYTHONHASHSEED="0")
    os.chdir(root)
    sys.path[:0] = [str(root / "src"), str(root)]
    for file in {fault.file for fault in faults}:
        importlib.import_module(module_name(file))
    importlib.import_module("pytest")
    told: dict[str, int] = {}
    for sources in dict.fromkeys(PLACES[fault.file] for fault in faults):
        calls = watched(root, sources)
        for fault in (fault for fault in faults if PLACES[fault.file] == sources):
            tests = calls.tests(fault, sources)
            found = is_noticed(root, fault, tests, sum(calls.seconds[test] for test in tests))
            told[found] = told.get(found, 0) + 1
            _say(out, f"{sum(told.values()):4d} {found:15} {fault}")
    killed = sum(n for word, n in told.items() if word.startswith("killed"))
    _say(out, f"{killed} of {len(faults)} noticed ({100 * killed / max(len(faults), 1):.1f} %): {told}")


def _say(out: Path | None, line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
