"""`generate`: write code for a robot into a folder; `count_programs`: count its operations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from minertia.codegen.calibrated_programs import CALIBRATED_BUILDERS
from minertia.codegen.count import Count, count_c
from minertia.codegen.draft import PASSIVE
from minertia.codegen.elastic_programs import ELASTIC_BUILDERS
from minertia.codegen.options import Arithmetic, CodeModel, CodeSearch
from minertia.codegen.program import Program
from minertia.codegen.programs import BUILDERS, build
from minertia.codegen.search import representative
from minertia.codegen.setting import Representative, Setting, setting_of
from minertia.codegen.targets import (
    arrays,
    c,
    cuda,
    cuda_selftest,
    fmu,
    layout,
    ros2,
    selftest,
    watch,
    watch_selftest,
)
from minertia.codegen.targets.entries import entry_names
from minertia.codegen.targets.example import usage
from minertia.codegen.targets.names import identifier
from minertia.codegen.targets.references import Arrays
from minertia.dynamics.frame import frame_named
from minertia.dynamics.options import LAST_LINK
from minertia.io.documents import json_document
from minertia.io.errors import MinertiaError, UnknownName, expect_one_of, expect_path
from minertia.io.files import check_folder, folder_at_once, make_folder, reading, write_file
from minertia.io.notebook import clipped, html_table
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.files import RobotLike, as_robot
from minertia.robot.formats.reading import read_text
from minertia.robot.parameters import split_name
from minertia.robot.robot import Robot

DEFAULT = ("inverse_dynamics", "background", "synchronous")
COUNTED = ("inverse_dynamics", "background", "coefficients", "velocity_torque", "gravity", "mass_matrix",
           "base_regressor", "forward_dynamics")  # fmt: skip
REPRESENTATIVES = "representatives.json"
LONG = 10_000  # lines of one function; compilers for controllers take minutes beyond
MODEL, ARITHMETIC, SEARCH = CodeModel(), Arithmetic(), CodeSearch()  # what is usual
RIGID = CodeModel("base", rotors=False, friction=False)  # what is counted


@dataclass(frozen=True)
class GenerationResult:
    """Result of code generation.

    counts: per program multiplications, additions, trigonometric, inputs, outputs, lines.  representatives: the free
    choices of the formulation, to be saved and reused.  notes: sentences on requests that could not be fulfilled.
    effects: the robot's effects included in the code, by full name, with their nominal values.  iterated: programs
    that take the passive positions of their last call, for loops without a closed form.
    """

    folder: Path | None
    files: tuple[Path, ...]
    counts: Mapping[str, Mapping[str, int]]
    names: tuple[str, ...]
    hash: str
    representatives: Mapping[str, Representative] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    effects: Mapping[str, float] = field(default_factory=dict)
    iterated: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return as a dict of plain data, for JSON."""
        return {
            "folder": None if self.folder is None else str(self.folder),
            "files": [path.relative_to(self.folder or path).as_posix() for path in self.files],
            "programs": {name: dict(count) for name, count in self.counts.items()},
            "parameters": list(self.names),
            "hash": self.hash,
            "effects": dict(self.effects),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        where = "nothing written" if self.folder is None else f"{len(self.files)} files in '{clipped(self.folder, 50)}'"
        return f"<GenerationResult: {where}; programs {clipped(', '.join(self.counts), 90)}>"

    def _repr_html_(self) -> str:
        keys = ("multiplications", "additions", "trigonometric", "lines")
        rows = [(name, *(n[key] for key in keys)) for name, n in self.counts.items()]
        where = "Operations" if self.folder is None else f"{len(self.files)} files in {self.folder}"
        return html_table(where, ("program", *keys), rows, right=(1, 2, 3, 4), notes=self.notes)

    def __str__(self) -> str:
        rows = [f"{'program':<24}{'M':>7}{'A':>7}{'sin/cos':>9}{'lines':>7}"]
        for name, n in self.counts.items():
            rows.append(f"{name:<24}{n['multiplications']:>7}{n['additions']:>7}{n['trigonometric']:>9}{n['lines']:>7}")
        return "\n".join(rows)


def generate(
    robot: RobotLike,
    out: str | Path | None,
    *,
    programs: Sequence[str] | None = None,
    target: str = "c",
    model: CodeModel = MODEL,
    arithmetic: Arithmetic = ARITHMETIC,
    search: CodeSearch = SEARCH,
    force: bool = False,
) -> GenerationResult:
    """Generate code for a robot into a folder (None: only count); files are written all together or not at all.

    programs: names in `programs.BUILDERS`; None for the default of the target.  target: "c", "cortex-m"
    (single precision and generated sine functions, regardless of `arithmetic`), "cuda" (generated sine
    functions), "numpy", "jax", "torch", "matlab", "fmu" or "ros2".  model: which parameters and effects are
    included, and how.  search: options of the search for fewer operations.  force: replace files that
    minertia did not write, or that were edited since.
    """
    robot = as_robot(robot)
    given: tuple[tuple[object, type], ...] = ((model, CodeModel), (arithmetic, Arithmetic), (search, CodeSearch))
    for value, kind in given:
        expect_one_of(value, (kind,), f"what is given for {kind.__name__}")
    if out is not None:
        expect_path(out, "a folder of code")
    target = str(target)
    if target not in TARGETS:
        raise UnknownName("target", target, TARGETS)
    row = TARGETS[target]
    programs = [programs] if isinstance(programs, str) else programs
    for name in programs or ():
        if name not in BUILDERS:
            raise UnknownName("program", name, BUILDERS)
    asked = row.usual(robot) if programs is None else tuple(dict.fromkeys(programs))
    row.check(target, asked, arithmetic.precision, model.motors)
    frame_named(robot, model.frame.name)  # refuse one that does not exist before any work is done
    if out is not None:  # counts do not depend on them
        robot.require_values("generated code")
    setting = setting_of(model, robot, at_joints=row.at_joints)
    numbers = row.arithmetic or arithmetic
    style = c.CStyle(identifier(robot.name), replace(numbers, sincos=row.sincos or numbers.sincos), target != "cuda")
    if out is not None:
        check_folder(out, [name.format(style.prefix) for name in row.names], force=force)
    unit = _Unit(setting, style, asked, search)
    folder = None if out is None else Path(out)
    paths: tuple[Path, ...] = ()
    if folder is not None:
        files = row.render(unit)
        chosen = {REPRESENTATIVES: unit.choices_text()} if unit.choices else {}
        paths = write_files(folder, files | chosen, force=force)
    statistics, notes = unit.statistics(), (*unit.notes, *_effect_notes(setting), *_rigid_notes(robot, asked))
    made = (folder, paths, statistics, setting.names, unit.hash, unit.choices, notes, setting.effects, unit.iterated)
    return GenerationResult(*made)


def _rigid_notes(robot: Robot, asked: Sequence[str]) -> list[str]:
    """Notes on programs that ignore the springs of a robot with elastic joints."""
    rigid = [name for name in asked if name not in ELASTIC_BUILDERS]
    if not robot.elastic or not rigid:
        return []
    joints = ", ".join(robot.coordinate_names[j] for j in robot.elastic)
    return [f"{joints}: elastic, taken as rigid in {', '.join(rigid)}; {' and '.join(ELASTIC_BUILDERS)} have springs"]


def _effect_notes(setting: Setting) -> list[str]:
    """Notes on effects that the code excludes or simplifies."""
    left = [name for name in setting.robot.effect_values if name not in setting.effects]
    notes = [f"left out of the code: {', '.join(left)}"] if left else []
    warm = [name for name in setting.others if "temperature" in BY_SYMBOL[split_name(name)[0]].inputs]
    if warm and not setting.temperature:
        notes.append(f"{', '.join(warm)} are taken at their reference temperature")
    slid = [name for name in setting.others if "presliding" in BY_SYMBOL[split_name(name)[0]].inputs]
    if slid:
        notes.append(f"{', '.join(slid)} are taken as in steady sliding: the code has no memory of the path")
    if setting.placed and setting.of_velocity:
        named = ", ".join(setting.placed)
        notes.append(f"the function of friction alone leaves out {named}, which need more than velocities")
    return notes


def count_programs(
    robot: Robot,
    programs: Sequence[str] = COUNTED,
    *,
    model: CodeModel = RIGID,
    search: CodeSearch = SEARCH,
) -> GenerationResult:
    """Count the operations of a robot's programs without writing files."""
    return generate(robot, None, programs=programs, model=model, search=search)


def load_representatives(folder: str | Path) -> dict[str, Representative]:
    """Load the representatives saved with generated code."""
    path = Path(folder) / REPRESENTATIVES
    reading(path)
    try:
        data = json_document(read_text(path))
        return {name: Representative.from_dict(choice) for name, choice in data["programs"].items()}
    except (MinertiaError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MinertiaError(f"{path} contains no usable search result: {error}") from None


class _Unit:
    """One robot and its programs, built and rendered."""

    def __init__(self, setting: Setting, style: c.CStyle, names: Sequence[str], search: CodeSearch) -> None:
        self.setting, self.style = setting, style
        self.choices: dict[str, Representative] = {}
        self.notes: list[str] = []
        self.programs: list[Program] = []
        for name in names:
            choice = search.representatives.get(name) or representative(
                setting, name, effort=search.effort, seed=search.seed
            )
            if choice is not None:
                self.choices[name] = choice
            self.programs.append(build(setting, name, choice))
        self.rendered = {program.name: c.render(program, style) for program in self.programs}
        self.source = layout.source(style, self.title, list(self.rendered.values()))
        self.counts: dict[str, Count] = count_c(self.source)
        self.hash = self._hash()
        self.notes += [
            f"the function of {program.name} has {self.count(program).lines} lines, more than {LONG}: a compiler for a "
            "controller may take minutes, and its flash may not hold it"
            for program in self.programs
            if self.count(program).lines > LONG
        ]

    @property
    def title(self) -> str:
        return f"Dynamics of the robot '{self.setting.robot.name}'"

    def count(self, program: Program) -> Count:
        return self.counts[f"{self.style.prefix}_{program.name}"]

    @property
    def iterated(self) -> tuple[str, ...]:
        """Programs that take passive positions as input."""
        return tuple(p.name for p in self.programs if PASSIVE in [port.name for port in p.inputs])

    def statistics(self) -> dict[str, dict[str, int]]:
        return {
            p.name: asdict(self.count(p))
            | {"inputs": sum(i.size for i in p.inputs), "outputs": sum(o.size for o in p.ports)}
            for p in self.programs
        }

    def choices_text(self) -> str:
        programs = {name: choice.to_dict() for name, choice in self.choices.items()}
        return json.dumps({"format": layout.FORMAT, "hash": self.hash, "programs": programs}, indent=1) + "\n"

    def _hash(self) -> str:
        """Hash of everything that determines the values in the code."""
        s = self.setting
        robot = s.robot.numeric
        joints = [(j.kind, j.parent, repr(j.R), repr(j.p), repr(j.follows)) for j in robot.joints]
        values = robot.parameters() if robot.has_parameters else []
        chosen = [s.parameters, s.rotors, s.friction, s.payload, s.values, s.essential, s.motors]
        if s.frame != LAST_LINK:
            chosen.append([s.frame.name, s.frame.axes])
        if robot.corrections is not None:
            chosen.append(repr(robot.corrections))
        if s.others:
            chosen.append([(name, repr(robot.constants[split_name(name)[1] - 1])) for name in s.others])
        if robot.open_cuts:
            chosen.append([repr(robot.open_cuts), repr(robot.seed), list(robot.coordinate_names), s.closing_steps])
        data = [joints, list(robot.gravity), robot.base, repr(robot.coupling), values, chosen, list(s.names)]
        return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:16]


Files = dict[str, str | bytes]


def _facts(unit: _Unit) -> str:
    facts = [("parameters", unit.setting.parameters), ("hash of robot and options", unit.hash)]
    facts += [("format", str(layout.FORMAT)), ("precision", unit.style.precision)]
    facts += [(p.name, layout.count_text(unit.count(p))) for p in unit.programs]
    joints = unit.setting.robot.coordinate_names
    facts += [(f"joint {k + 1}", name) for k, name in enumerate(joints)]
    return layout.facts(facts)


def _header(unit: _Unit, further: Sequence[c.Rendered] = ()) -> str:
    joints = len(unit.setting.robot.coordinate_names)
    names = entry_names(unit.style, unit.setting, unit.programs)
    return layout.header(unit.style, unit.title, _facts(unit), joints, [*unit.rendered.values(), *further], names)


def _cases(unit: _Unit) -> list[tuple[Program, Arrays, Arrays, bool]]:
    return [(p, *selftest.reference(unit.setting, p), unit.rendered[p.name].has_prepare) for p in unit.programs]


def _selftest(unit: _Unit, more: selftest.MoreTests = selftest.NO_MORE) -> str:
    return selftest.render_selftest(unit.style, _cases(unit), more)


def _watch(unit: _Unit) -> tuple[list[c.Rendered], selftest.MoreTests]:
    """Source text around `watch_terms`, if requested, and its tests."""
    program = next((p for p in unit.programs if p.name == watch.PROGRAM), None)
    if program is None:
        return [], selftest.NO_MORE
    rendered = unit.rendered[program.name]
    part = watch.watch_part(unit.style, program, rendered, unit.setting.robot.tip + 1)
    return [part], watch_selftest.watch_tests(unit.style, unit.setting, program, rendered.has_prepare)


def _c_files(unit: _Unit, target: str = "c") -> Files:
    style = unit.style
    further, tests = _watch(unit)
    return {
        f"{style.prefix}.h": _header(unit, further),
        f"{style.prefix}.c": layout.source(style, unit.title, [*unit.rendered.values(), *further]),
        "selftest.c": _selftest(unit, tests),
        "Makefile": layout.makefile(style, target),
        "README.md": layout.readme(
            style,
            unit.title,
            unit.counts,
            usage(style, unit.programs, unit.rendered),
            layout.effect_table(unit.setting),
            layout.size_table(style, unit.programs, unit.counts),
        ),
    }


def _cortex_m_files(unit: _Unit) -> Files:
    return _c_files(unit, "cortex-m")


def _cuda_files(unit: _Unit) -> Files:
    style, programs = unit.style, unit.programs
    has_prepare = unit.rendered[programs[0].name].has_prepare
    return {
        f"{style.prefix}.cuh": cuda.render(style, unit.title, _facts(unit), programs, unit.rendered),
        "selftest.cu": cuda_selftest.render_selftest(style, _cases(unit)),
        "CMakeLists.txt": cuda.cmake(style),
        "README.md": cuda.readme(style, unit.title, unit.counts, programs[0], has_prepare),
    }


def _numpy_files(unit: _Unit, framework: str = "numpy") -> Files:
    return {f"{unit.style.prefix}.py": arrays.render(unit.programs, unit.title, unit.hash, framework)}


def _jax_files(unit: _Unit) -> Files:
    return _numpy_files(unit, "jax")


def _torch_files(unit: _Unit) -> Files:
    return _numpy_files(unit, "torch")


def _matlab_files(unit: _Unit) -> Files:
    return {
        f"{unit.style.prefix}_{p.name}.m": arrays.render_matlab(p, unit.style.prefix, unit.title, unit.hash)
        for p in unit.programs
    }


def _fmu_files(unit: _Unit) -> Files:
    (program,) = unit.programs
    block = fmu.FmuBlock(unit.setting, program, unit.style.prefix, unit.rendered[program.name].has_prepare)
    sources = {f"{unit.style.prefix}.h": _header(unit), f"{unit.style.prefix}.c": unit.source}
    archive, note = fmu.render(block, sources, _selftest(unit), unit.title)
    unit.notes += [note] if note else []
    return {f"{unit.style.prefix}.fmu": archive}


def _ros2_files(unit: _Unit) -> Files:
    plugin = ros2.Plugin(unit.setting, unit.style.prefix, unit.programs, unit.rendered)
    return dict(ros2.render(plugin, _header(unit), unit.source, _selftest(unit), unit.title, unit.hash))


@dataclass(frozen=True)
class Target:
    """Code-generation target, a row of `TARGETS`: description, renderer and supported options.

    title, what: name and description of the output, for pages.  names: names of the files that are written
    for any programs, with {} in place of the robot's name.  programs: programs generated by default.
    needs: required programs. is_block: whether exactly one program is generated.  is_double: whether only
    double precision is supported. at_joints: whether only efforts at the joints are supported.  arithmetic,
    sincos: settings fixed by the target.
    """

    title: str
    what: str
    render: Callable[[_Unit], Files]
    names: tuple[str, ...] = ()
    programs: tuple[str, ...] = DEFAULT
    needs: tuple[str, ...] = ()
    is_block: bool = False
    is_double: bool = False
    at_joints: bool = False
    arithmetic: Arithmetic | None = None
    sincos: str = ""

    def usual(self, robot: Robot) -> tuple[str, ...]:
        """Programs generated by default; a calibrated robot adds its calibration programs.

        Of a calibrated robot without inertial parameters only the calibration programs are generated.
        """
        if robot.corrections is None or self.needs or self.is_block:
            return self.programs
        return (*(self.programs if robot.has_parameters else ()), *CALIBRATED_BUILDERS)

    def check(self, name: str, programs: Sequence[str], precision: str, motors: bool) -> None:
        """Raise an error for options that the target does not support, before any work is done."""
        if self.is_block and len(programs) != 1:
            raise MinertiaError(f"the target '{name}' takes one program, not {len(programs)}")
        missing = [program for program in self.needs if program not in programs]
        if missing:
            raise MinertiaError(f"the target '{name}' also needs the program '{missing[0]}'")
        if self.is_double and precision != "double":
            raise MinertiaError(f"the target '{name}' supports double precision only; omit --float")
        if self.at_joints and motors:
            raise MinertiaError(f"the target '{name}' gives efforts at the joints, not at the motors")


_C_NAMES = ("{}.h", "{}.c", "selftest.c", "Makefile", "README.md")
_ROS2_NAMES = ("package.xml", "plugins.xml", "CMakeLists.txt", "README.md", "src/{}.c", "test/selftest.c")
MODULE = "a module; a function per program"
TARGETS: dict[str, Target] = {
    "c": Target("C", "one .h, one .c, a self-test, a Makefile, a README with a servo loop", _c_files, _C_NAMES),
    # a double, or a library that computes in doubles, costs ten times as much there
    "cortex-m": Target(
        "C for Cortex-M",
        "the same in single precision with its own sines",
        _cortex_m_files,
        _C_NAMES,
        arithmetic=Arithmetic("float", "own"),
    ),
    # own sines: those of the CUDA library keep a stack for large angles
    "cuda": Target(
        "CUDA",
        "one .cuh with functions and batch kernels, a self-test, a CMake file, a README with a launch",
        _cuda_files,
        ("{}.cuh", "selftest.cu", "CMakeLists.txt", "README.md"),
        sincos="own",
    ),
    "numpy": Target("NumPy", MODULE, _numpy_files, ("{}.py",), is_double=True),
    "jax": Target("JAX", MODULE, _jax_files, ("{}.py",), is_double=True),
    "torch": Target("PyTorch", MODULE, _torch_files, ("{}.py",), is_double=True),
    "matlab": Target("MATLAB", MODULE, _matlab_files, is_double=True),
    "fmu": Target(
        "FMU",
        "`<robot>.fmu`, FMI 2.0, co-simulation and model exchange",
        _fmu_files,
        ("{}.fmu",),
        ("inverse_dynamics",),
        is_block=True,
        is_double=True,
    ),
    "ros2": Target(
        "ROS 2 plugin",
        "a package with a plugin for `inverse_dynamics_solver::InverseDynamicsSolver`",
        _ros2_files,
        _ROS2_NAMES,
        ros2.PROGRAMS,
        ros2.PROGRAMS,
        is_double=True,
        at_joints=True,
    ),
}


def write_files(folder: Path, files: Mapping[str, str | bytes], *, force: bool = False) -> tuple[Path, ...]:
    """Write files into a folder, all of them or none; force: as in `generate`."""
    with folder_at_once(folder, force=force) as draft:
        for name, content in files.items():
            make_folder((draft / name).parent)
            write_file(draft / name, content)
    return tuple(folder / name for name in files)
