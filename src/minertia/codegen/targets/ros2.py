"""A ROS 2 package with a plugin for `inverse_dynamics_solver::InverseDynamicsSolver`, around the generated C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from xml.etree import ElementTree

from minertia.codegen.draft import PASSIVE
from minertia.codegen.program import Program
from minertia.codegen.setting import Setting
from minertia.codegen.targets.c import CStyle, Rendered
from minertia.codegen.targets.names import comment, printable
from minertia.codegen.targets.ros2_text import CLOSED_METHOD, CMAKE, HEADER, METHOD, READ, README, SOURCE
from minertia.dynamics.loops.closing import closing_of
from minertia.io.errors import MissingParameters

BASE = "inverse_dynamics_solver"
# what the base class asks for, what it returns, and the program that finds it
METHODS = (
    ("getInertiaMatrix", "MatrixXd", "mass_matrix"),
    ("getCoriolisVector", "VectorXd", "velocity_torque"),
    ("getGravityVector", "VectorXd", "gravity"),
    ("getFrictionVector", "VectorXd", "friction"),
    ("getTorques", "VectorXd", "inverse_dynamics"),
)
PROGRAMS = tuple(program for _, _, program in METHODS)
ARGUMENTS = {"q": "joint_positions", "qd": "joint_velocities", "qdd": "joint_accelerations"}


@dataclass(frozen=True)
class Plugin:
    """The programs of a robot as methods of one class."""

    setting: Setting
    prefix: str
    programs: Sequence[Program]
    rendered: Mapping[str, Rendered]

    @property
    def package(self) -> str:
        """Name of the package, its library and its namespace."""
        return f"{self.prefix}_{BASE}"

    @property
    def name(self) -> str:
        """Name of the class."""
        return "InverseDynamicsSolver" + "".join(part.capitalize() for part in self.prefix.split("_"))

    @cached_property
    def prepared(self) -> list[Program]:
        """Programs that read a struct precomputed from the run-time parameters."""
        return [p for p in self.programs if p.name in PROGRAMS and self.rendered[p.name].has_prepare]

    @cached_property
    def parameters(self) -> dict[str, list[float] | int]:
        """Run-time parameters: their nominal values, or only their number if the robot has none."""
        used = {name for program in self.prepared for name in program.parameters}
        sizes = {port.name: port.size for port in self.setting.ports if port.name in used}
        try:
            nominal = self.setting.nominal_inputs()
        except MissingParameters:
            return dict(sizes)
        return {name: [float(v) for v in nominal[name]] for name in sizes}

    @cached_property
    def passive(self) -> list[float]:
        """Seed positions of the passive joints that Newton iteration solves for; empty without such loops."""
        robot = self.setting.robot.numeric
        closing = closing_of(robot) if robot.open_cuts else None
        return [] if closing is None else [float(closing.seed[c]) for c in closing.iterated]

    @property
    def is_ready_at_once(self) -> bool:
        """Whether all parameters have default values, so that the node need not set any."""
        return all(isinstance(value, list) for value in self.parameters.values())


def render(plugin: Plugin, header: str, source: str, selftest: str, title: str, digest: str) -> dict[str, str]:
    """The files of the package; header, source, selftest: those of the generated C."""
    package, prefix = plugin.package, plugin.prefix
    words = {"package": package, "prefix": prefix, "name": plugin.name, "base": BASE, "digest": digest}
    words |= {"title": comment(title)}
    return {
        "package.xml": _package_xml(plugin, title, digest),
        "plugins.xml": _plugin_xml(plugin, title),
        "CMakeLists.txt": CMAKE.substitute(words),
        "README.md": _readme(plugin, words),
        f"include/{package}/{prefix}.h": header,
        f"include/{package}/{package}.hpp": _header(plugin, words),
        f"src/{prefix}.c": source,
        f"src/{package}.cpp": _source(plugin, words),
        "test/selftest.c": selftest,
    }


def _remarks(plugin: Plugin) -> list[str]:
    friction = "There is no friction in the model: getFrictionVector gives zeros."
    if plugin.setting.friction:
        friction = "getTorques includes friction, which getFrictionVector gives alone."
    base = (
        "The floating base comes first: position and quaternion x y z w in positions, six numbers in all other vectors."
    )
    found = [base, friction] if plugin.setting.robot.is_floating else [friction]
    if plugin.setting.friction and plugin.setting.placed:
        found.append(f"getTorques alone has {', '.join(plugin.setting.placed)}, which need more than velocities.")
    if plugin.passive:
        found.append("Loops are closed from where the last call left them, so that an object serves one thread and its")
        found.append("positions change little from call to call; what does not close is an exception.")
    return found


# ---------------------------------------------------------------------- C++


def _header(plugin: Plugin, words: Mapping[str, str]) -> str:
    joints = [f"///   {k + 1}. {comment(name)}" for k, name in enumerate(plugin.setting.robot.coordinate_names)]
    methods = "".join(
        f"  Eigen::{kind} {method}(\n    {_declared(plugin, program)}) const override;\n\n"
        for method, kind, program in METHODS
    )
    private = _private(plugin)
    state = "are called by one thread" if plugin.passive else "neither lock nor keep state"
    about = "".join(f"  /// {line}\n" for line in _about_parameters(plugin))
    remarks = "\n".join(f"/// {line}" for line in _remarks(plugin))
    parts = {"joints": "\n".join(joints), "methods": methods if private else methods[:-1], "private": private}
    include = "#include <array>\n" if plugin.passive else ""
    return HEADER.substitute(words, about=about, remarks=remarks, include=include, state=state, **parts)


def _private(plugin: Plugin) -> str:
    """Private members: prepared parameters, and the last loop-closure solution."""
    lines = []
    if plugin.prepared:
        arguments = ", ".join(f"const double * {name}" for name in plugin.parameters)
        members = [f"  {plugin.prefix}_{p.name}_prepared {p.name}_;" for p in plugin.prepared]
        lines += [f"  void prepare({arguments});", "", *members, "  bool is_ready_ = false;"]
    if plugin.passive:
        number = CStyle(plugin.prefix).number
        values = ", ".join(number(v + 0.0) for v in plugin.passive)
        lines.append(f"  mutable std::array<double, {len(plugin.passive)}> passive_ = {{{{{values}}}}};")
    return "\n".join(["private:", *lines]) + "\n" if lines else ""


def _about_parameters(plugin: Plugin) -> list[str]:
    if not plugin.parameters:
        return ["Does nothing: all parameters are constants in the code."]
    lines = ["Reads parameters of the node, arrays of numbers, from the namespace given:"]
    for port in plugin.setting.ports:
        if port.name in plugin.parameters:
            value = plugin.parameters[port.name]
            otherwise = "needed" if isinstance(value, int) else "else zero" if not any(value) else "else nominal"
            lines.append(f"- {port.name} ({port.size}, {otherwise}): {comment(port.meaning)}")
    return lines


def _program(plugin: Plugin, name: str) -> Program:
    return next(p for p in plugin.programs if p.name == name)


def _inputs(plugin: Plugin, name: str) -> list[tuple[str, int]]:
    """Arguments of a method, with their sizes."""
    program = _program(plugin, name)
    return [(ARGUMENTS[p.name], p.size) for p in program.inputs if p.name not in (*program.parameters, PASSIVE)]


def _declared(plugin: Plugin, name: str) -> str:
    return ",\n    ".join(f"const Eigen::VectorXd & {argument}" for argument, _ in _inputs(plugin, name))


def _source(plugin: Plugin, words: Mapping[str, str]) -> str:
    methods = "".join(_method(plugin, *row) for row in METHODS)
    include = "#include <rclcpp/parameter.hpp>\n" if plugin.parameters else ""
    helpers = READ + _nominal_tables(plugin) if plugin.parameters else ""
    return SOURCE.substitute(words, include=include, helpers=helpers, setup=_setup(plugin), methods=methods)


def _method(plugin: Plugin, method: str, kind: str, name: str) -> str:
    program, inputs = _program(plugin, name), _inputs(plugin, name)
    port, takes_steps = program.ports[0], len(program.ports) > 1
    is_prepared = plugin.rendered[name].has_prepare
    checks = [f'  check({argument}, {size}, "{argument}");' for argument, size in inputs]
    if is_prepared:
        ready = f'    throw std::runtime_error("{plugin.package}: initialize() must be called first");'
        checks = ["  if (!is_ready_) {", ready, "  }", *checks]
    passed = [f"{argument}.data()" for argument, _ in inputs]
    passed += ["passive_.data()"] if takes_steps else []
    passed += [f"&{name}_"] if is_prepared else []
    more = ["next.data()", "&residual", "branch.data()"] if takes_steps else []
    return (CLOSED_METHOD if takes_steps else METHOD).substitute(
        package=plugin.package,
        type=kind,
        name=plugin.name,
        method=method,
        arguments=_declared(plugin, name).replace("\n    ", "\n  "),
        checks="".join(line + "\n" for line in checks),
        out=port.name,
        sets=program.ports[-1].size,
        size=f"({', '.join(str(n) for n in port.shape)})",
        function=f"{plugin.prefix}_{name}",
        passed=", ".join([*passed, f"{port.name}.data()", *more]),
        remark="  // symmetric: by rows or by columns is the same" if kind == "MatrixXd" else "",
    )


def _nominal_tables(plugin: Plugin) -> str:
    number = CStyle(plugin.prefix).number
    tables = []
    for name, value in plugin.parameters.items():
        if isinstance(value, list):
            rows = [", ".join(number(v) for v in value[k : k + 6]) for k in range(0, len(value), 6)]
            tables.append(f"const std::vector<double> nominal_{name} = {{\n  " + ",\n  ".join(rows) + "};\n\n")
    return "".join(tables)


def _setup(plugin: Plugin) -> str:
    """Constructor, `initialize`, and preparation of the structs."""
    head = (
        f"void {plugin.name}::initialize(\n"
        "  rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters_interface,\n"
        "  const std::string & param_namespace, const std::string & robot_description)\n{\n"
    )
    name = f"{plugin.name}::{plugin.name}()\n"
    if not plugin.parameters:
        unused = ("parameters_interface", "param_namespace", "robot_description")
        return f"{name}{{\n}}\n\n{head}" + "".join(f"  (void){word};\n" for word in unused) + "}\n\n"
    nominal = ", ".join(f"nominal_{p}.data()" for p in plugin.parameters)
    given = ", ".join(f"{p}.data()" for p in plugin.parameters)
    lines = ["  (void)robot_description;"]
    lines.append('  const std::string start = param_namespace.empty() ? "" : param_namespace + ".";')
    for parameter, value in plugin.parameters.items():
        call = f'read(parameters_interface, start + "{parameter}", {parameter})'
        if isinstance(value, list):
            lines += [f"  std::vector<double> {parameter} = nominal_{parameter};", f"  {call};"]
        else:
            text = f'"the parameter \'" + start + "{parameter}\' with {value} numbers is needed"'
            lines += [f"  std::vector<double> {parameter}({value});", f"  if (!{call}) {{"]
            lines += [f"    throw std::invalid_argument({text});", "  }"]
    body = "\n".join([*lines, f"  prepare({given});"])
    ready = f"  prepare({nominal});\n" if plugin.is_ready_at_once else ""
    return f"{name}{{\n{ready}}}\n\n{head}{body}\n}}\n\n{_prepare(plugin)}"


def _prepare(plugin: Plugin) -> str:
    arguments = ", ".join(f"const double * {name}" for name in plugin.parameters)
    calls = [
        f"  {plugin.prefix}_{p.name}_prepare({', '.join([*p.parameters, f'&{p.name}_'])});" for p in plugin.prepared
    ]
    body = "\n".join([*calls, "  is_ready_ = true;"])
    return f"void {plugin.name}::prepare({arguments})\n{{\n{body}\n}}\n\n"


# ---------------------------------------------------------------------- XML and text


def _package_xml(plugin: Plugin, title: str, digest: str) -> str:
    root = ElementTree.Element("package", format="3")
    _text(root, "name", plugin.package)
    _text(root, "version", "1.0.0")
    _text(root, "description", f"{printable(title)} as an inverse dynamics solver (generated, {digest})")
    _text(root, "maintainer", "user").set("email", "user@example.com")
    _text(root, "license", "not declared")
    _text(root, "buildtool_depend", "ament_cmake")
    for name in ("eigen", BASE, "pluginlib", "rclcpp"):
        _text(root, "depend", name)
    _text(ElementTree.SubElement(root, "export"), "build_type", "ament_cmake")
    return _xml(root)


def _plugin_xml(plugin: Plugin, title: str) -> str:
    root = ElementTree.Element("library", path=plugin.package)
    about = {"name": f"{plugin.package}/{plugin.name}", "type": f"{plugin.package}::{plugin.name}"}
    row = ElementTree.SubElement(root, "class", about, base_class_type=f"{BASE}::InverseDynamicsSolver")
    _text(row, "description", printable(title))
    return _xml(root)


def _text(parent: ElementTree.Element, tag: str, text: str) -> ElementTree.Element:
    element = ElementTree.SubElement(parent, tag)
    element.text = text
    return element


def _xml(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _readme(plugin: Plugin, words: Mapping[str, str]) -> str:
    joints = ", ".join(f"`{comment(name).replace('`', ' ')}`" for name in plugin.setting.robot.coordinate_names)
    parameters = "\n".join(_about_parameters(plugin)) + "\n" if plugin.parameters else ""
    return README.substitute(words, joints=joints, parameters=parameters, remarks="\n".join(_remarks(plugin)))
