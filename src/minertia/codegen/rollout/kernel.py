"""`LoopKernel`: position-servo simulation of one group of joints, compiled, or on NumPy without a compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from minertia.codegen.kernels import build
from minertia.codegen.kernels.kernel import compile_function, single_library
from minertia.codegen.kernels.schedule import schedule
from minertia.codegen.kernels.task import address
from minertia.codegen.program import Program
from minertia.codegen.rollout.commands import Followed, followed
from minertia.codegen.rollout.effects import EffectAt, GroupEffects
from minertia.codegen.rollout.floor import FloorUnder
from minertia.codegen.rollout.plain import Diverged, PlainLoop
from minertia.codegen.rollout.programs import slopes_program, terms_program
from minertia.codegen.rollout.task import (
    AT_JOINTS,
    KINDS,
    OF_DUTY,
    OF_MOTOR,
    OF_SPRINGS,
    OF_SUPPLY,
    LoopCommand,
    LoopValues,
    Rollout,
    Springs,
    Supply,
)
from minertia.io.arrays import Array
from minertia.io.errors import MinertiaError
from minertia.robot.effects import BY_SYMBOL
from minertia.robot.robot import Robot

MOST = 64  # joints of a group, as servo.c has it
FUNCTIONS = ("terms", "slopes", "efforts", "rubbing")  # generated ones that the compiled loop calls
OF_EFFECTS = ("e", "c", "at", "inertia", "loaded")
CLOSE = 1e-9  # between compiled and NumPy, over some steps


class _Loop(ctypes.Structure):
    """C structure of servo.c."""

    _fields_ = (
        *(
            (name, ctypes.c_int)
            for name in ("n", "links", "columns", "steps", "every", "is_voltage", "ring", "fail", "is_euler", "springs")
        ),
        *((name, ctypes.c_int) for name in ("effects", "is_linear", "on_floor")),
        *((name, ctypes.c_double) for name in ("h", "delay_steps")),
        *((name, ctypes.c_void_p) for name in (*FUNCTIONS, *AT_JOINTS, *OF_EFFECTS, "x", "q0", "v0")),
        *((name, ctypes.c_void_p) for name in ("u", "u_d", "ud", "ud_d", "kind", "place", "q_out", "S_out")),
        *((name, ctypes.c_void_p) for name in ("cj", "dj", "rj", "at_link", "at_motor", "sees")),
        *((name, ctypes.c_void_p) for name in (*OF_SUPPLY, "u_s", "u_l", *OF_MOTOR)),
    )


class LoopKernel:
    """Group of a robot's joints under position control.

    joints: coordinates of the group, from 0; the others stay at 0 and must not be coupled to it by inertia.
    links: full names of the link parameters that are inputs of a rollout (all others are zero); if empty,
    the robot's nominal values are constants. motors: number of motors of elastic joints, whose coordinates
    follow the joints.  floor: ground contact; its values (`FLOOR`, then the step) follow those of the
    links.  effects: effects at the coordinates of the group, joints and motors; their values are given with
    each rollout.
    """

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[int],
        links: Sequence[str] = (),
        motors: int = 0,
        floor: FloorUnder | None = None,
        effects: Sequence[EffectAt] = (),
    ) -> None:
        if len(joints) + motors > MOST:
            raise MinertiaError(
                f"a servo model of {len(joints) + motors} coordinates cannot be simulated; at most {MOST} are supported"
            )
        self.joints, self.links, self.size = tuple(joints), tuple(links), len(joints) + motors
        self.on_floor, self.has_inputs = floor is not None, bool(links) or floor is not None
        dynamics = _dynamics(_Same(robot), self.joints, self.links, motors, floor)
        self.terms, self.slopes = dynamics.terms, dynamics.slopes
        self.effects = GroupEffects(self.size, tuple(effects))
        self._compiled: tuple[Any, dict[str, int]] | None = None
        self._plain: tuple[Callable[..., Any], ...] | None = None
        self.path, self.reason = build.choose(max(len(p.graph.nodes) for p in (self.terms, self.slopes)))
        if self.path == "compiled":
            try:
                found = [*dynamics.addresses, *(_address(program) for program in self._of_effects())]
                self._compiled = _loop_library(), dict(zip(FUNCTIONS, found, strict=False))
            except build.CompilerMissing:
                if self.reason.startswith(build.PATH_VARIABLE):
                    raise
                self.path = "numpy"

    def _of_effects(self) -> tuple[Program, ...]:
        """Programs of the effects; empty if there are none."""
        made = self.effects.programs
        return (made.efforts, made.slopes) if self.effects.all else ()

    def run(self, task: Rollout) -> tuple[Array, Array] | None:
        """Positions (rows, n) and derivatives (rows, n, unknowns) at the rows; None if the simulation diverges."""
        if self._compiled is not None:
            return _run_compiled(*self._compiled, task, self.effects, self.on_floor)
        if self._plain is None:
            self._plain = tuple(compile_function(p) for p in (self.terms, self.slopes, *self._of_effects()))
        terms, slopes, *others = self._plain
        empty = np.zeros((self.size, 0))

        def of_links(q: Array, qd: Array, qdd: Array, x: Array) -> tuple[Array, Array, Array]:
            return slopes(q, qd, qdd, x) if self.has_inputs else (*slopes(q, qd, qdd), empty)

        def terms_at(q: Array, qd: Array, x: Array) -> tuple[Array, Array]:
            D, b = terms(q, qd, *([x] if self.has_inputs else []))
            return D, b

        try:
            return PlainLoop(task, terms_at, of_links, self.effects, others, self.on_floor).run()
        except Diverged:
            return None

    def followed(
        self, u: Array, t: Array, speeds: Array, lapses: Array, first: float, h: float, steps: int
    ) -> Followed:
        """Targets that follow commands, as `commands.followed` computes them."""
        if self._compiled is None:
            return followed(u, t, speeds, lapses, first, h, steps)
        return _follow_compiled(self._compiled[0], u, t, speeds, lapses, first, h, steps)


class _Same:
    """A robot as a key: equal to itself alone, since robots cannot be hashed."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def __hash__(self) -> int:
        return id(self.robot)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.robot is other.robot


class _Dynamics:
    """Programs of a group's dynamics, and their compiled functions: the same for all effects that are tried at it."""

    def __init__(self, terms: Program, slopes: Program) -> None:
        self.terms, self.slopes = terms, slopes

    @cached_property
    def addresses(self) -> tuple[int, int]:
        return _address(self.terms), _address(self.slopes)


@lru_cache(maxsize=16)
def _dynamics(
    same: _Same, joints: tuple[int, ...], links: tuple[str, ...], motors: int, floor: FloorUnder | None
) -> _Dynamics:
    return _Dynamics(*(make(same.robot, joints, links, motors, floor) for make in (terms_program, slopes_program)))


def _address(program: Program) -> int:
    """Address of a program's compiled function."""
    return build.function(single_library(schedule(program)), "minertia_call")


@cache
def _loop_library() -> ctypes.CDLL:
    """Compiled servo simulation, the same for all robots."""
    text = (files("minertia.codegen.rollout") / "servo.c").read_text(encoding="utf-8")
    return build.load(build.library(text, _loop_fault))


def _run_compiled(
    library: Any, functions: Mapping[str, int], task: Rollout, effects: GroupEffects, on_floor: bool
) -> tuple[Array, Array] | None:
    n, p, x = len(task.q0), len(task.unknowns), task.values
    q_out, S_out = np.zeros((task.rows, n)), np.zeros((task.rows, n, p))
    kind = np.array([KINDS.index(k) for k, _ in task.unknowns], dtype=np.int32)
    place = np.array([j for _, j in task.unknowns], dtype=np.int32)
    kept: dict[str, Any] = {name: _numbers(getattr(x, name)) for name in AT_JOINTS}
    kept |= {name: _numbers(getattr(task, name)) for name in ("q0", "v0")} | {"x": _numbers(x.links)}
    given = {name: getattr(task.command, name) for name in ("u", "u_d", "ud", "ud_d", "u_s", "u_l")}
    given |= {name: getattr(x, name) for name in OF_MOTOR}
    given |= {name: getattr(task.command.supply, name, None) for name in OF_SUPPLY}
    kept |= {name: _numbers(values) for name, values in given.items() if values is not None}
    kept |= {"kind": kind, "place": place, "q_out": q_out} | ({"S_out": S_out} if p else {})
    kept |= _elastic(x)
    kept |= {"e": _numbers(x.effects), "c": effects.constants, "at": effects.places, "inertia": effects.are_inertia}
    kept |= {"loaded": effects.read_load}
    loop = _Loop(
        n=n, links=len(x.links), columns=p, steps=task.steps, every=task.every, is_voltage=int(x.is_voltage),
        ring=task.ring, is_euler=int(x.is_euler), springs=len(x.springs.link), h=task.h,
        delay_steps=(x.effort_delay or 0.0) / task.h, effects=len(effects.all),
        is_linear=int(effects.programs.is_linear), on_floor=int(on_floor), **functions,
        **{name: address(array) for name, array in kept.items()},
    )  # fmt: skip
    code = library.minertia_servo(ctypes.byref(loop))
    if code == 3:
        raise MemoryError
    return None if code else (q_out, S_out)


def _follow_compiled(
    library: Any, u: Array, t: Array, speeds: Array, lapses: Array, first: float, h: float, steps: int
) -> Followed:
    found = Followed(*np.empty((4, steps, u.shape[1])))
    arrays = (*(_numbers(x) for x in (u, t, speeds, lapses)), *found)
    library.minertia_follow(
        *u.shape,
        steps,
        ctypes.c_double(first),
        ctypes.c_double(h),
        *(ctypes.c_void_p(address(array)) for array in arrays),
    )
    return found


def _elastic(x: LoopValues) -> dict[str, Any]:
    """Elastic-joint arguments of the compiled simulation."""
    s = x.springs
    values = {"cj": s.compliance, "dj": s.damping, "rj": s.rest}
    places = {"at_link": np.array(s.link, dtype=np.int32), "at_motor": np.array(s.motor, dtype=np.int32)}
    return {name: _numbers(own) for name, own in values.items()} | places | {"sees": x.seen}


def _numbers(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


# effects and their values that a compiled loop is tried with
TRIED = {"IA": 0.02, "FV": 0.1, "FC": 0.3, "OFF": 0.05, "FCL": 0.05, "KS": 0.4, "FS": 0.2, "FCQ": 0.1}
SLOW = {"velocity": 0.5, "rest": 0.1, "middle": 0.3}


def _loop_fault(library: ctypes.CDLL) -> str:
    """Compare the compiled simulation with NumPy, on two joints with all effects; return its fault, "" if none."""
    for effort_delay, is_euler, sees, symbols, is_driven in (
        (None, False, (), TRIED, False),
        (0.013, False, (0, 0), TRIED, False),
        (None, True, (), TRIED, False),
        (None, False, (0, 0), TRIED, False),
        (None, False, (), (*TRIED, "FCT", "FVC", "FCP"), False),
        (None, False, (), TRIED, True),
    ):
        effects = GroupEffects(2, tuple(EffectAt(s, j, BY_SYMBOL[s].filled(SLOW)[0]) for s in symbols for j in (0, 1)))
        task = _trial(effort_delay, effects)
        task = replace(task, values=replace(task.values, is_euler=is_euler, sees=sees))
        task = _driven(task) if is_driven else task
        programs = effects.programs.efforts, effects.programs.slopes
        efforts, rubbing = (_on_numpy(program) for program in programs)
        wanted = PlainLoop(task, _terms, _slopes, effects, (efforts, rubbing), True).run()
        callback = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)
        sizes = [[2, 2, 1], [2, 2, 2, 1], *([port.size for port in program.inputs] for program in programs)]
        called: tuple[Callable[..., tuple[Array, ...]], ...] = (_terms, _slopes, efforts, rubbing)
        calls = [callback(_as_c(function, own)) for function, own in zip(called, sizes, strict=True)]
        addresses = (ctypes.cast(call, ctypes.c_void_p).value or 0 for call in calls)
        found = _run_compiled(library, dict(zip(FUNCTIONS, addresses, strict=True)), task, effects, True)
        if found is None:
            return "a simulated motion diverges"
        for mine, theirs in zip(found, wanted, strict=True):
            if not np.all(np.abs(mine - theirs) <= CLOSE * max(1.0, float(np.abs(theirs).max()))):
                return f"a simulated motion is off by {float(np.abs(mine - theirs).max()):.2g}"
    times = 0.1 * np.arange(40) + 0.01 * np.sin(np.arange(40))
    told = (np.sin(0.5 * np.arange(80).reshape(40, 2) ** 1.5), times, np.array([4.0, 0.0]), np.array([0.1, 0.0]))
    edges = -0.05, 0.03, 150
    pairs = zip(_follow_compiled(library, *told, *edges), followed(*told, *edges), strict=True)
    off = max(np.abs(a - b).max() for a, b in pairs)
    return "" if off <= CLOSE else f"a simulated target is off by {off:.2g}"


def _trial(effort_delay: float | None, effects: GroupEffects) -> Rollout:
    """Test rollout: two joints that move, stick and saturate."""
    two = np.ones(2)
    t = 0.005 * np.arange(200)[:, None]
    u, slope = np.sin(9 * t + [0.0, 1.0]), 9 * np.cos(9 * t + [0.0, 1.0])
    values = LoopValues(
        8 * two, 0.3 * two, 2 * two, np.array([3.0, np.inf]), 0.1 * two,
        effects=np.array([TRIED.get(effect.symbol, 0.1) for effect in effects.all]), effort_delay=effort_delay,
        links=np.zeros(1),
        springs=Springs((0,), (1,), np.array([0.2]), np.array([0.3]), np.array([0.4])),
    )  # fmt: skip
    unknowns = tuple(("effect", k) for k in range(len(effects.all)))
    own = [kind for kind in KINDS[2:] if kind not in ("delay", *OF_SPRINGS, *OF_DUTY)]
    unknowns += tuple((kind, j) for kind in own for j in range(2))
    unknowns += tuple((kind, 0) for kind in OF_SPRINGS)
    return Rollout(values, LoopCommand(u, -slope), 0.005, 4, 0.1 * two, 0 * two, (*unknowns, ("delay", 0)))


def _driven(task: Rollout) -> Rollout:
    """The test rollout with motors that are driven by their duty, of which one is switched off on the way."""
    count, two = task.rows, np.ones(2)
    gain, room, on, volts = (np.tile(row, (count, 1)) for row in ([1.5, 1.0], [0.4, 9.0], [1.0, 1.0], [2.0, 3.0]))
    for rows in (gain, room, on, volts):
        rows[count // 2 : count // 2 + 10, 0] = 0.0
    supply = Supply(gain, room, on, volts, np.linspace([-3.0, 0.0], [5.0, 9.0], count))
    command = replace(task.command, u_s=0.1 * task.command.u, u_l=-0.3 * task.command.u, supply=supply)
    values = replace(
        task.values,
        is_voltage=True,
        share=0.4 * two,
        curve=0.2 * two,
        start=0.03 * two,
        warm=0.02 * two,
        ki=0 * two,
        sag=0.05 * two,
        play=np.array([0.02, 0.05]),
    )
    unknowns = tuple(one for one in task.unknowns if one[0] != "ki")
    more = tuple((kind, j) for kind in OF_DUTY for j in range(2))
    return replace(task, values=values, command=command, unknowns=(*unknowns, *more))


def _terms(q: Array, qd: Array, x: Array) -> tuple[Array, Array]:
    """Mass matrix and bias of two pendulums with inertial coupling, and a damper that is implicit in the step x."""
    D = np.array([[0.3 + 20 * x[0], 0.1 * q[1]], [0.1 * q[1], 0.2]])
    return D, np.array([np.sin(q[0]) + 0.1 * qd[1] ** 2, 0.5 * np.sin(q[1])])


def _slopes(q: Array, qd: Array, qdd: Array, _: Array) -> tuple[Array, Array, Array]:
    by_q = np.array([[np.cos(q[0]), 0.1 * qdd[1]], [0.0, 0.5 * np.cos(q[1]) + 0.1 * qdd[0]]])
    return by_q, np.array([[0.0, 0.2 * qd[1]], [0.0, 0.0]]), np.array([[20 * qdd[0]], [0.0]])


def _on_numpy(program: Program) -> Callable[..., tuple[Array, ...]]:
    """Program as a function of one sample, without a compiler."""
    names = [port.name for port in program.inputs]
    return lambda *inputs: tuple(program.evaluate(**dict(zip(names, inputs, strict=True))).values())


def _as_c(function: Callable[..., tuple[Array, ...]], inputs: Sequence[int]) -> Callable[[Any, int, int], None]:
    """Wrap a function of inputs of these sizes for calls from the compiled simulation."""

    def call(_: Any, given: int, out: int) -> None:
        rows = ctypes.cast(given, ctypes.POINTER(ctypes.POINTER(ctypes.c_double)))
        found = function(*(np.array(rows[k][:size]) for k, size in enumerate(inputs)))
        places = ctypes.cast(out, ctypes.POINTER(ctypes.POINTER(ctypes.c_double)))
        for k, values in enumerate(found):
            for i, value in enumerate(values.ravel()):
                places[k][i] = value

    return call
