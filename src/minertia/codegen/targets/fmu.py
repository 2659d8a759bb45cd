"""A functional mock-up unit (FMI 2.0) around one program: model description, C sources and a binary in one archive."""

from __future__ import annotations

import hashlib
import io
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.etree import ElementTree

from minertia.codegen.draft import PASSIVE
from minertia.codegen.kernels.build import Compiler, find_compiler, run_compiler
from minertia.codegen.program import Port, Program
from minertia.codegen.setting import LOAD, THETA, Setting
from minertia.codegen.targets.c import CStyle
from minertia.codegen.targets.fmu_source import WRAPPER
from minertia.codegen.targets.names import comment, printable
from minertia.dynamics.loops.closing import closing_of
from minertia.io.errors import MissingParameters
from minertia.robot.parameters import LINK, split_name
from minertia.version import __version__

# exponents of the base units
UNITS = {
    "rad": {"rad": 1}, "rad/s": {"rad": 1, "s": -1}, "rad/s2": {"rad": 1, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2},
    "m": {"m": 1}, "m/s": {"m": 1, "s": -1}, "m/s2": {"m": 1, "s": -2}, "N": {"kg": 1, "m": 1, "s": -2},
    "kg": {"kg": 1}, "kg.m": {"kg": 1, "m": 1}, "kg.m2": {"kg": 1, "m": 2},
}  # fmt: skip
# by port: what it is; its unit at a joint that turns, and at one that slides
JOINT_PORTS = {
    "q": ("position", "rad", "m"),
    "qd": ("velocity", "rad/s", "m/s"),
    "qdd": ("acceleration", "rad/s2", "m/s2"),
    "temperature": ("temperature", "degC", "degC"),
    **dict.fromkeys(("tau", "g", "h", "b", "f"), ("effort", "N.m", "N")),
}
FLAGS = ("-std=c99", "-O2")
LIBRARY = ("-fPIC", "-shared", "-fvisibility=hidden")
TEST, PATIENCE = "selftest.c", 60.0  # s for a run of it
SYSTEMS = {"linux": ("linux", ".so"), "darwin": ("darwin", ".dylib"), "win32": ("win", ".dll")}
OLDEST = (1980, 1, 1, 0, 0, 0)  # the date of every file inside: same robot and options, same bytes


@dataclass(frozen=True, slots=True)
class Variable:
    """One real variable of the interface."""

    name: str
    causality: str
    text: str
    unit: str | None
    start: float | None


@dataclass(frozen=True)
class FmuBlock:
    """Program of the FMU, and the mapping of its ports to variables."""

    setting: Setting
    program: Program
    prefix: str
    has_prepare: bool

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Inputs, parameters, outputs; a variable's index is its value reference."""
        return tuple(variable for port, causality in self.ports for variable in self._of_port(port, causality))

    @cached_property
    def ports(self) -> list[tuple[Port, str]]:
        """The ports in the order of their variables."""
        parameters = set(self.program.parameters)
        found = [(port, "input") for port in self.program.inputs if port.name not in parameters]
        found += [(port, "parameter") for port in self.program.inputs if port.name in parameters]
        return found + [(port, "output") for port in self.program.ports]

    def first(self, causality: str) -> int:
        """Value reference of the first variable of a causality, or of its insertion point."""
        order = ("input", "parameter", "output")
        return sum(order.index(v.causality) < order.index(causality) for v in self.variables)

    @cached_property
    def pointers(self) -> dict[str, str]:
        """C expression of the array of each port."""
        sizes = [port.size for port, _ in self.ports]
        return {port.name: f"model->value + {sum(sizes[:k])}" for k, (port, _) in enumerate(self.ports)}

    def _of_port(self, port: Port, causality: str) -> Iterator[Variable]:
        is_given = causality != "output"
        starts = self._nominal.get(port.name, [0.0] * port.size)
        for k in range(port.size):
            text, unit = self._meaning(port, k)
            index = ",".join(str(i + 1) for i in _indices(port.shape, k))
            yield Variable(f"{port.name}[{index}]", causality, text, unit, starts[k] if is_given else None)

    @cached_property
    def _nominal(self) -> dict[str, list[float]]:
        try:
            found = {name: [float(v) for v in values] for name, values in self.setting.nominal_inputs().items()}
        except MissingParameters:
            found = {}
        robot = self.setting.robot
        if robot.is_floating:  # upright: quaternion x y z w
            found["q"] = [0.0] * 6 + [1.0] + [0.0] * (robot.n_position - 7)
        if robot.open_cuts:
            closing = closing_of(robot.numeric)
            found["q"] = found.get("q", [])[: 7 * robot.is_floating] + closing.seed[closing.active].tolist()
            found[PASSIVE] = closing.seed[closing.iterated].tolist()
        return found

    def _meaning(self, port: Port, k: int) -> tuple[str, str | None]:
        if port.name == THETA:
            name = self.setting.names[k]
            return f"parameter {name}", _parameter_unit(name)
        if port.name == LOAD:
            return f"{LINK[k].name} of the load: {LINK[k].meaning}", LINK[k].unit.replace(" ", ".")
        if port.name in JOINT_PORTS:
            return self._at_joint(port, k)
        return port.meaning, None

    def _at_joint(self, port: Port, k: int) -> tuple[str, str | None]:
        robot = self.setting.robot
        what, turning, sliding = JOINT_PORTS[port.name]
        joint = k - (port.size - len(robot.independent))
        if joint < 0:
            return f"{what} of the floating base", None
        if self.setting.motors and what == "effort":
            return f"{what} of motor {joint + 1}", None
        angular, _ = robot.joints[robot.independent[joint]].twist
        return f"{what} of joint '{robot.coordinate_names[joint]}'", turning if any(angular) else sliding


def _indices(shape: tuple[int, ...], k: int) -> Iterator[int]:
    """Row and column of entry k in row-major order."""
    for n in range(len(shape)):
        below = 1
        for size in shape[n + 1 :]:
            below *= size
        yield k // below % shape[n]


def _parameter_unit(name: str) -> str | None:
    try:
        symbol, _ = split_name(name)
    except ValueError:
        return None
    return next((s.unit.replace(" ", ".") for s in LINK if s.name == symbol), None)


def render(block: FmuBlock, sources: Mapping[str, str], test: str, title: str) -> tuple[bytes, str | None]:
    """Archive of the FMU, and a note if it has no binary.

    sources: header and source of the program.  test: the C text of its self-test, which a binary must pass.
    """
    names = [name for name in sources if name.endswith(".c")] + [f"{block.prefix}_fmu.c"]
    described = _description(block, names, "", title)
    guid = _guid(described + _wrapper(block, "", title) + "".join(sources.values()))
    code = {**sources, names[-1]: _wrapper(block, guid, title)}
    entries = {f"sources/{name}": text.encode() for name, text in code.items()}
    entries["modelDescription.xml"] = _description(block, names, guid, title).encode()
    binary, note = compiled(code, block.prefix, test)
    if binary is not None:
        entries |= {f"binaries/{path}": binary for path in library_paths(block.prefix)}
    return archive(entries), note


def archive(entries: Mapping[str, bytes]) -> bytes:
    """Reproducible zip file: entries sorted, with a fixed date, not compressed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as file:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name, OLDEST)
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            file.writestr(entry, entries[name])
    return stream.getvalue()


def _guid(text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return "{" + "-".join(digest[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))) + "}"


def _wrapper(block: FmuBlock, guid: str, title: str) -> str:
    program, outputs = block.program, block.first("output")
    function = f"{block.prefix}_{program.name}"
    arguments = [block.pointers[p.name] for p in program.inputs if p.name not in program.parameters]
    arguments += ["&model->prepared"] if block.has_prepare else []
    arguments += [block.pointers[p.name] for p in program.ports]
    given = ", ".join(block.pointers[name] for name in program.parameters)
    start = [CStyle(block.prefix).number(v.start or 0.0) for v in block.variables[:outputs]]
    prepare = f"  if (model->has_new_parameters)\n    {function}_prepare({given}, &model->prepared);\n"
    return WRAPPER.substitute(
        title=comment(title),
        prefix=block.prefix,
        function=function,
        guid=guid,
        parameters=block.first("parameter"),
        outputs=outputs,
        values=len(block.variables),
        member=f"  {function}_prepared prepared;\n" if block.has_prepare else "",
        prepare=prepare if block.has_prepare else "",
        start="\n".join(f"  {', '.join(start[k : k + 8])}," for k in range(0, len(start), 8)),
        arguments=", ".join(arguments),
    )


def _description(block: FmuBlock, sources: list[str], guid: str, title: str) -> str:
    """Text of modelDescription.xml; text from the robot file is escaped by the XML writer."""
    root = ElementTree.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=printable(block.setting.robot.name) or block.prefix,
        guid=guid,
        description=f"{printable(title)}: {block.program.name.replace('_', ' ')}",
        generationTool=f"minertia {__version__}",
        variableNamingConvention="structured",
        numberOfEventIndicators="0",
    )
    exchange = ElementTree.SubElement(root, "ModelExchange", modelIdentifier=block.prefix)
    together = ElementTree.SubElement(root, "CoSimulation", modelIdentifier=block.prefix)
    together.set("canHandleVariableCommunicationStepSize", "true")
    for kind in (exchange, together):
        files = ElementTree.SubElement(kind, "SourceFiles")
        for name in sources:
            ElementTree.SubElement(files, "File", name=name)
    _add_units(root, block)
    ElementTree.SubElement(root, "DefaultExperiment", startTime="0", stopTime="1", stepSize="0.01")
    _add_variables(root, block)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_units(root: ElementTree.Element, block: FmuBlock) -> None:
    used = {v.unit for v in block.variables}
    listed = [name for name in UNITS if name in used]
    if listed:
        units = ElementTree.SubElement(root, "UnitDefinitions")
        for name in listed:
            unit = ElementTree.SubElement(units, "Unit", name=name)
            ElementTree.SubElement(unit, "BaseUnit", {base: str(power) for base, power in UNITS[name].items()})


def _add_variables(root: ElementTree.Element, block: FmuBlock) -> None:
    listed = ElementTree.SubElement(root, "ModelVariables")
    structure = ElementTree.SubElement(root, "ModelStructure")
    outputs = ElementTree.SubElement(structure, "Outputs")
    initial = ElementTree.SubElement(structure, "InitialUnknowns")
    for k, v in enumerate(block.variables):
        variability = "tunable" if v.causality == "parameter" else "continuous"
        about = {"name": v.name, "valueReference": str(k), "description": printable(v.text)}
        variable = ElementTree.SubElement(
            listed, "ScalarVariable", about, causality=v.causality, variability=variability
        )
        real = ElementTree.SubElement(variable, "Real")
        if v.unit is not None:
            real.set("unit", v.unit)
        if v.start is not None:
            real.set("start", repr(v.start))
        if v.causality == "output":
            for unknowns in (outputs, initial):
                ElementTree.SubElement(unknowns, "Unknown", index=str(k + 1))


# ---------------------------------------------------------------------- binary


def library_paths(name: str) -> tuple[str, ...]:
    """Paths of the library of this machine; on ARM under the newer and the older FMI platform name."""
    if sys.platform not in SYSTEMS:
        return ()
    system, extension = SYSTEMS[sys.platform]
    folders = [f"{system}{64 if sys.maxsize > 2**32 else 32}"]
    if platform.machine().lower() in ("aarch64", "arm64"):
        folders.append(f"aarch64-{'windows' if system == 'win' else system}")
    return tuple(f"{folder}/{name}{extension}" for folder in folders)


def compiled(code: Mapping[str, str], name: str, test: str) -> tuple[bytes | None, str | None]:
    """Shared library whose code passes a self-test, or a note why there is none."""
    compiler, paths = find_compiler(), library_paths(name)
    if not paths:
        return None, f"the interface has no name for this system, so {name}.fmu holds sources only"
    if compiler is None:
        return None, (
            f"there is no C compiler, so {name}.fmu holds sources only; install gcc or clang, or set CC, "
            "to have a binary in it"
        )
    with tempfile.TemporaryDirectory(prefix="minertia-") as folder:
        for file, text in {**code, TEST: test}.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        sources = sorted(file for file in code if file.endswith(".c"))
        library = Path(paths[0]).name
        said = run_compiler([*compiler.command, *FLAGS, *LIBRARY, *sources, "-o", library, "-lm"], folder)
        if said:
            return None, f"the C compiler '{compiler.command[0]}' failed, so {name}.fmu holds sources only: {said}"
        wrong = _wrong(compiler, [TEST, *(file for file in sources if not file.endswith("_fmu.c"))], folder)
        if wrong:
            return None, f"the C compiler '{' '.join(compiler.command)}' {wrong}, so {name}.fmu holds sources only"
        return (Path(folder) / library).read_bytes(), None


def _wrong(compiler: Compiler, sources: list[str], folder: str) -> str:
    """Fault of the compiled code, "" if none."""
    program = str(Path(folder) / "selftest")
    said = run_compiler([*compiler.command, *FLAGS, *sources, "-o", program, "-lm"], folder)
    if said:
        return f"failed on the self-test: {said}"
    try:
        done = subprocess.run([program], capture_output=True, timeout=PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError) as err:
        return f"makes code that cannot be run here ({err.__class__.__name__})"
    return "makes code that computes wrongly" if done.returncode else ""
