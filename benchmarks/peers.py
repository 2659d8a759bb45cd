"""The other side: Pinocchio in Python, and its C++ compiled from the headers of the `pin` wheel."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.oracles import PinocchioOracle

from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.codegen.kernels.build import Compiler
from minertia.codegen.kernels.kernel import regressor_program
from minertia.codegen.program import Program
from minertia.codegen.programs import build
from minertia.codegen.setting import Setting
from minertia.robot.files import read_robot
from minertia.robot.inertia import from_pseudo_inertia, to_com
from minertia.robot.parameters import LINK_SYMBOLS, full_name
from minertia.robot.robot import Robot

HERE = Path(__file__).parent
CPP_FUNCTIONS = {  # our program -> the function of pinocchio_loop.cpp, and how many arrays it fills
    "inverse_dynamics": ("peer_rnea", 1),
    "mass_matrix": ("peer_mass_matrix", 1),
    "forward_dynamics": ("peer_forward_dynamics", 1),
    "inverse_dynamics_derivatives": ("peer_derivatives", 2),
    "coriolis_matrix": ("peer_coriolis_matrix", 1),
}
OTHERS = {"CasADi": "casadi", "dynibo": "dynibo"}  # title -> module and package
DEFINITIONS = (
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
    "NDEBUG",
)
EIGEN = (Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3"), Path("/opt/homebrew/include/eigen3"))


@cache
def arm(name: str) -> Robot:
    """A bundled arm; where the file has no inertias, bodies that can exist are drawn with a fixed seed."""
    robot = read_robot(name, letters=False)
    if robot.has_parameters:
        return robot
    rng = np.random.default_rng(0)
    values: dict[str, float] = {}
    for j in range(robot.n_joints):
        A = rng.normal(size=(4, 4)) * np.array([0.2, 0.2, 0.2, 1.5])[:, None]
        ten = from_pseudo_inertia(A @ A.T + 1e-3 * np.eye(4))
        values |= {full_name(s, j + 1): v for s, v in zip(LINK_SYMBOLS, ten, strict=True)}
    return robot.with_parameters(values)


@cache
def base(name: str) -> BaseParameters:
    return base_parameters(arm(name))


@cache
def torques(name: str) -> Program:
    """Inverse dynamics of the links as Pinocchio computes it: no friction, no rotors, parameters as constants."""
    return build(Setting(arm(name)), "inverse_dynamics")


@cache
def regressor(name: str) -> Program:
    return regressor_program(arm(name), base(name).kept)


def check(name: str, tau: np.ndarray, state: Sequence[np.ndarray]) -> None:
    """What is timed must give Pinocchio's numbers."""
    wanted = np.array([oracle(name).inverse_dynamics(*sample) for sample in zip(*state, strict=True)])
    error = np.abs(tau - wanted).max() / np.abs(wanted).max()
    if not error < 1e-12:
        raise SystemExit(f"{name}: torques differ from Pinocchio's by {error:.1e} of the largest")


@cache
def states(name: str, count: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return tuple(np.ascontiguousarray(x) for x in rng.uniform(-2, 2, (3, count, arm(name).n)))


@cache
def oracle(name: str) -> PinocchioOracle:
    return PinocchioOracle(arm(name))


def c_compilers() -> dict[str, Compiler]:
    """The C compilers of this machine that our code is timed with."""
    found = {}
    for name in ("gcc", "clang"):
        if shutil.which(name):
            found[name] = Compiler((name,), name)
    return found


def missing() -> list[str]:
    """What this machine lacks to compare with, and how to get it."""
    libraries, why = cpp_libraries()
    found = [] if libraries else [f"Pinocchio in C++ ({why})"]
    found += [f"our code compiled by {name}" for name in ("gcc", "clang") if name not in c_compilers()]
    for title, package in OTHERS.items():
        if importlib.util.find_spec(package) is None:
            found.append(f"{title} (pip install {package})")
    return found


class CppPeer:
    """Pinocchio's loops over samples in C++."""

    def __init__(self, library: Path, robot: Robot) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.peer_open.restype = ctypes.c_void_p
        self.library.peer_regressor.restype = ctypes.c_double
        self.handle = ctypes.c_void_p(self.library.peer_open(_text(robot).encode()))

    def run(self, program: str, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """One of our programs, by the function of Pinocchio that computes the same."""
        name, given = CPP_FUNCTIONS[program]
        function = getattr(self.library, name)
        function(self.handle, ctypes.c_long(len(inputs[0])), *map(_pointer, (*inputs, *outputs[:given])))

    def rnea(self, state: Sequence[np.ndarray], tau: np.ndarray) -> None:
        self.run("inverse_dynamics", state, [tau])

    def regressor(self, state: tuple[np.ndarray, ...]) -> None:
        n = ctypes.c_long(len(state[0]))
        self.library.peer_regressor(self.handle, n, *map(_pointer, state))


def _pointer(array: np.ndarray) -> Any:
    return ctypes.c_void_p(array.ctypes.data)


def _text(robot: Robot) -> str:
    lines = [str(robot.n_joints)]
    for joint, ten in zip(robot.numeric.joints, robot.links, strict=True):
        assert ten is not None
        mass, com, inertia = to_com(ten)
        six = [inertia[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
        numbers = [*np.array(joint.R, float).ravel(), *np.array(joint.p, float), mass, *com, *six]
        parent = -1 if joint.parent is None else joint.parent
        lines.append(f"{parent} {int(joint.kind == 'prismatic')} " + " ".join(repr(float(v)) for v in numbers))
    return "\n".join([*lines, " ".join(map(repr, robot.gravity))])


@cache
def cpp_libraries() -> tuple[dict[str, Path], str]:
    """The peer compiled with every C++ compiler there is, and why there is none if so."""
    try:
        import cmeel
    except ImportError:
        return {}, "the pin wheel is not installed"
    prefix = Path(cmeel.__file__).parent.parent / "cmeel.prefix"
    wheels = [Path(folder) / "cmeel.prefix" / "include" / "eigen3" for folder in (prefix.parent, *sys.path)]
    eigen = next((folder for folder in (*wheels, *EIGEN) if folder.is_dir()), None)
    if eigen is None:
        return {}, "the headers of Eigen are not installed (libeigen3-dev, or the wheel cmeel-eigen)"
    target = "-mcpu=native" if platform.machine() in ("aarch64", "arm64") else "-march=native"
    made, why = {}, "no C++ compiler"
    for compiler in ("clang++", "g++"):
        if not shutil.which(compiler):
            continue
        source = HERE / "pinocchio_loop.cpp"
        command = [
            *(compiler, "-std=c++17", "-O3", target, "-shared", "-fPIC", *(f"-D{d}" for d in DEFINITIONS)),
            *(f"-I{prefix / 'include'}", f"-I{eigen}", str(source), f"-L{prefix / 'lib'}", "-lpinocchio_default"),
            f"-Wl,-rpath,{prefix / 'lib'}",
        ]
        key = hashlib.sha256((" ".join(command) + source.read_text()).encode()).hexdigest()[:16]
        library = HERE.parent / "build" / "benchmarks" / f"{compiler}-{key}.so"
        if not library.exists():
            library.parent.mkdir(parents=True, exist_ok=True)
            done = subprocess.run([*command, "-o", str(library)], capture_output=True, text=True)
            if done.returncode:
                why = f"{compiler} cannot compile Pinocchio's headers"
                continue
        made[compiler] = library
    return made, "" if made else why


@cache
def cpp_peers(name: str) -> dict[str, CppPeer]:
    return {compiler: CppPeer(library, arm(name)) for compiler, library in cpp_libraries()[0].items()}
