"""The rules that keep the house in order: imports point down, no cycles, no stray prints, quick to import."""

from __future__ import annotations

import ast
import dataclasses
import gc
import importlib
import inspect
import pydoc
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import minertia
from minertia.cli.doctor import EXTRAS
from minertia.io.names import RENAMED, homes_in

SRC = Path(minertia.__file__).parent
ROOT = SRC.parent.parent
LAYERS = (
    *("version", "io", "algebra", "robot", "dynamics", "base", "codegen"),
    *("excitation|identification", "simulation|fleet|calibration", "running", "report", "studio", "cli"),
    *("options", "watch", "__main__"),
)
MAY_PRINT = ("cli", "report")
WRITE_FILES = (
    *("minertia.io.drafts", "minertia.io.files"),
    *("minertia.codegen.kernels.build", "minertia.codegen.kernels.cache"),  # the cache of kernels
    "minertia.codegen.targets.fmu",  # sources for the compiler in a folder that is gone afterwards
)


@cache
def modules() -> list[tuple[str, str, ast.Module]]:
    """(layer, dotted name, tree) of every module but the public list."""
    found = []
    gc.disable()  # of millions of nodes that stay it takes half of the time
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        if parts != ("__init__",):
            name = ".".join(("minertia", *(p for p in parts if p != "__init__")))
            found.append((parts[0], name, ast.parse(path.read_text(encoding="utf-8"))))
    gc.freeze()
    gc.enable()
    return found


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of a tree: walked once, asked by every rule."""
    return tuple(ast.walk(tree))


def layer(module: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if module in names.split("|"))


def is_module(name: str) -> bool:
    """Whether a dotted name is a file or a folder of ours."""
    place = SRC.joinpath(*name.split(".")[1:])
    return place.with_suffix(".py").is_file() or place.is_dir()


def imported(tree: ast.AST) -> Iterator[str]:
    """minertia modules a tree imports, inside functions and for types, too."""
    for node in nodes(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, so that this test sees them"
            if (node.module or "").split(".")[0] == "minertia":
                found = [f"{node.module}.{a.name}" for a in node.names]
                # a package holds no more than the list of its names: who asks for a module of it asks for that alone
                yield from found + ([] if all(is_module(name) for name in found) else [str(node.module)])
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "minertia")


def test_imports_point_down() -> None:
    for own, name, tree in modules():
        for target in imported(tree):
            parts = target.split(".")
            assert len(parts) > 1, f"{name} imports the public list; import the module that has the thing"
            assert parts[1] == own or layer(parts[1]) < layer(own), f"{name} -> {target}"


def named(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Modules named in tables of what is loaded when needed: "minertia.robot.formats.dh.read:parse_toml"."""
    texts = (n.value for n in nodes(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    yield from (text.partition(":")[0] for text in texts if text.partition(":")[0] in names)


def circles(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Circles of a graph, each as the way that leads back to where it began."""
    done: set[str] = set()
    found = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            found.append((*path[path.index(name) :], name))
        elif name not in done:
            for target in sorted(graph.get(name, set()) - {name}):
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())
    return found


def test_no_import_cycle() -> None:
    """Each file can be read before those that use it; imports inside functions and names in tables count."""
    names = {name for _, name, _ in modules()}
    graph = {name: {t for t in (*imported(tree), *named(tree, names)) if t in names} for _, name, tree in modules()}
    assert "minertia.robot.formats.dh.read" in graph["minertia.robot.files"]  # a reader of the table of suffixes
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [("b", "c", "b")]
    found = circles(graph)
    assert found == [], "cycle: " + " -> ".join(found[0])


def test_folders_import_one_another_in_one_direction() -> None:
    """No circle between the folders of a package: each can be read before those that use it."""
    graph: dict[str, set[str]] = {}
    folders = {path.relative_to(SRC).parent.parts for path in SRC.rglob("*.py")}

    def folder(module: str) -> str | None:
        parts = tuple(module.split(".")[1:])
        inside = max((p for p in folders if parts[: len(p)] == p), key=len, default=())
        return ".".join(inside) if len(inside) > 1 else None

    for _, name, tree in modules():
        own = folder(name)
        for target in imported(tree):
            other = folder(target)
            if own is not None and other is not None and own != other:
                graph.setdefault(own, set()).add(other)

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, "circle of folders: " + " -> ".join((*path[path.index(name) :], name))
        for target in graph.get(name, ()):
            visit(target, (*path, name))

    for name in graph:
        visit(name, ())


def test_only_the_top_prints() -> None:
    for own, name, tree in modules():
        calls = (n for n in nodes(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
        assert own in MAY_PRINT or not any(call.func.id == "print" for call in calls), name  # type: ignore[attr-defined]


def writes(call: ast.Call) -> bool:
    """Whether a call can change a file."""
    name = ast.unparse(call.func)
    if name.split(".")[-1] == "open":
        modes = [a.value for a in (*call.args, *(k.value for k in call.keywords)) if isinstance(a, ast.Constant)]
        return any(set(str(mode)) <= set("rwxabt+") and set("wxa+") & set(str(mode)) for mode in modes)
    return (
        name.split(".")[-1] in ("write_text", "write_bytes", "savetxt", "savez", "save")
        and (not name.startswith(("self.", "sweep.", "found.")))
        or name in ("os.replace", "os.rename", "os.unlink", "os.remove", "shutil.move", "shutil.copy")
    )


def test_only_one_mechanism_writes_files() -> None:
    """`minertia.io.files` keeps the user's files; nobody goes past it, but for files that no user ever sees."""
    for _, name, tree in modules():
        calls = [node for node in nodes(tree) if isinstance(node, ast.Call) and writes(node)]
        assert name in WRITE_FILES or not calls, f"{name}: {[ast.unparse(call)[:80] for call in calls]}"
    for text in ("open(p, 'wb')", "Path(p).open(mode='x')", "p.write_text(t)", "os.replace(a, b)", "np.savetxt(p, t)"):
        assert writes(ast.parse(text, mode="eval").body), text  # type: ignore[arg-type]
    assert not writes(ast.parse("open(p, encoding='utf-8')", mode="eval").body)  # type: ignore[arg-type]


def test_documents_are_parsed_in_one_place() -> None:
    """Whatever is read is looked over first, so that no small file takes minutes or gigabytes."""
    for _, name, tree in modules():
        used = {ast.unparse(n) for n in nodes(tree) if isinstance(n, ast.Attribute)}
        is_home = name == "minertia.io.documents"
        assert is_home or not used & {"tomllib.loads", "tomllib.load", "json.loads", "json.load"}, name


def test_a_class_name_names_one_thing() -> None:
    """Whoever reads a name, or searches for it, finds one class; a leading underscore makes no other name."""
    homes: dict[str, list[str]] = {}
    for _, name, tree in modules():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(f"{name}.{node.name}")
    assert len(homes) > 200
    assert [places for places in homes.values() if len(places) > 1] == []


def test_no_bare_except() -> None:
    for _, name, tree in modules():
        handlers = (n for n in nodes(tree) if isinstance(n, ast.ExceptHandler))
        assert all(handler.type is not None for handler in handlers), name


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in run.stdout.split()}


def test_import_is_light() -> None:
    assert not loaded_by("import minertia") & {"numpy", "scipy", "typer", "rich", "mujoco", "defusedxml"}


def test_help_is_light() -> None:
    assert not loaded_by("import minertia.cli") & {"numpy", "scipy", "mujoco", "defusedxml"}


def test_printing_is_light() -> None:
    heavy = {"numpy", "scipy", "mujoco", "defusedxml"}
    assert not loaded_by("from minertia.cli import main; main(['--version'])") & heavy


SPACES = ("", "base", "codegen", "dynamics", "excitation", "fleet", "identification", "options", "report", "simulation",
          "calibration", "watch")  # fmt: skip


def public(space: str) -> dict[str, object]:
    """Public names of minertia, or of a part of it, with what they name."""
    module = importlib.import_module(f"minertia.{space}".rstrip("."))
    return {name: getattr(module, name) for name in dir(module) if not name.startswith("__")}


def stub(space: str) -> Path:
    folder = SRC / space
    return folder / "__init__.pyi" if folder.is_dir() else SRC / f"{space}.pyi"


def test_stubs_are_the_lists_of_public_names() -> None:
    """What type checkers see is what is loaded, and no name is that of a module beside it."""
    for space in SPACES:
        text = stub(space).read_text(encoding="utf-8")
        exported = next(n for n in ast.parse(text).body if isinstance(n, ast.Assign))
        names = set(ast.literal_eval(exported.value)) - {"__version__"}
        assert names == set(public(space)) == set(homes_in(text)) - {"__version__"}, space
        beside = {p.stem for p in stub(space).parent.iterdir()} - (set(SPACES) if not space else set())
        assert stub(space).name != "__init__.pyi" or not names & beside, space
    tops = [name for name, value in public("").items() if not inspect.ismodule(value)]
    assert 35 <= len(tops) <= 45 and minertia.__version__


def test_what_was_renamed_works_and_says_so() -> None:
    known = {f"{space}.{name}".lstrip(".") for space in SPACES for name in public(space)}
    assert len(RENAMED) > 80
    for old, new in RENAMED.items():
        assert new in known and old not in known
        with pytest.warns(DeprecationWarning, match=rf"minertia\.{old} has been renamed to minertia\.{new}; .*1\.0\.0"):
            found = getattr(minertia, old)
        space, _, name = new.rpartition(".")
        assert found is public(space)[name]
    with pytest.raises(AttributeError, match="no attribute 'mass_matirx'"):
        _ = minertia.mass_matirx  # type: ignore[attr-defined]


def test_classes_are_nouns_and_functions_verbs_or_the_quantity_that_they_return() -> None:
    quantities = {
        "base_parameters",
        "geometric_base_parameters",
        "inverse_dynamics",
        "forward_dynamics",
        "motion_limits",
        "significance",
        "wrench",
    }
    verbs = {"audit", "build", "calibrate", "check", "compare", "compile", "draft", "excite", "generate", "identify",
             "judge", "list", "read", "rehearse", "show", "solve", "to", "validate", "write", "derive", "learn",
             "watch", "filter", "repair", "save", "plan", "sample", "predict", "score"}  # fmt: skip
    for space in SPACES:
        for name, value in public(space).items():
            if inspect.isclass(value):
                assert name[0].isupper(), name
            elif callable(value) and space != "dynamics":
                assert name in quantities or name.split("_")[0] in verbs, name


def test_help_fits_a_screen_and_names_the_first_three_steps() -> None:
    text = pydoc.render_doc(minertia, renderer=pydoc.plaintext)
    assert len(text.splitlines()) <= 65
    steps = [text.index(step) for step in ("mi.read_robot(", "mi.excite(", "mi.identify(")]
    assert steps == sorted(steps)
    assert all(re.search(rf"\b{name}\b", text) for name in public(""))


def public_functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Functions of the public list, methods of its classes, and what makes those of them that are no plain values."""
    for name, found in ((name, value) for space in SPACES for name, value in public(space).items()):
        if inspect.ismodule(found):
            continue
        if inspect.isclass(found) and issubclass(found, Exception):
            continue
        if not inspect.isclass(found):
            yield from [(name, found)] if callable(found) else []
            continue
        yield from [] if dataclasses.is_dataclass(found) else [(name, found)]
        for key, method in inspect.getmembers(found, callable):
            yield from [] if key.startswith("_") else [(f"{name}.{key}", method)]


def test_argument_lists_are_short() -> None:
    """Eight arguments at most; the rest in option values, whose names say what belongs together."""
    lengths = {
        name: len([p for p in inspect.signature(function).parameters if p != "self"])
        for name, function in public_functions()
    }
    assert {"excite", "generate", "rehearse", "motion_limits", "identify", "Robot.with_payload"} <= set(lengths)
    assert [f"{name}: {length} arguments" for name, length in lengths.items() if length > 8] == []


def test_the_table_of_contributing_names_files_that_exist() -> None:
    """The places a newcomer is sent to, but for those of files yet to be made (foo)."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("## What to edit for an addition")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    words = {word for line in rows for word in re.findall(r"`([\w./]+)`", line)}
    named = {word for word in words if "/" in word or word.endswith(".toml")}
    assert len(rows) > 12 and len(named) > 15
    missing = [name for name in named if "foo" not in name and not ((SRC / name).exists() or (ROOT / name).exists())]
    assert [name for name in missing if name != "minertia/__init__.py"] == []


def test_doctor_knows_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - {"ci", "dev", "docs"}
