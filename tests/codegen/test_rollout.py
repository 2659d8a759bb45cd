"""Position servos, step by step: derivatives, friction that sticks, the rule's order, and NumPy against C."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.codegen.rollout.effects import SIMULATED, EffectAt, effect_programs
from minertia.codegen.rollout.kernel import LoopKernel
from minertia.codegen.rollout.task import KINDS, OF_DUTY, OF_SPRINGS, LoopCommand, LoopValues, Rollout
from minertia.robot.effects import BY_SYMBOL
from tests.codegen.kernel_helpers import at_rest
from tests.every_effect import plain_constants

ARM = replace(read_robot("planar2r"), gravity=(0.0, -9.81, 0.0))  # in a vertical plane
LINKS = ("ZZ1", "ZZ2", "MX2", "MY2", "MX1", "MY1")
BODY = np.array([0.9, 0.4, 0.5, 0.05, 1.0, 0.1])
EFFECTS = {"IA": 0.3, "FV": 1.0, "FC": 2.0, "OFF": 0.4, "FCL": 0.04, "KS": 0.5, "FS": 0.5, "FCQ": 0.3}
CONSTANTS = {"rest": 0.1, "velocity": 0.4, "middle": 0.1, "width": 0.1}
GAINS = {"kp": 150.0, "kd": 8.0, "ki": 20.0, "limit": 45.0, "zero": 0.05}


def effects_at(symbols: Iterable[str], places: Iterable[int] = (0, 1)) -> tuple[EffectAt, ...]:
    """Effects at some coordinates, each symbol at all of them."""
    every = tuple(places)
    rows = [BY_SYMBOL[s] for s in symbols]
    return tuple(EffectAt(e.name, j, plain_constants(e) | e.filled(CONSTANTS)[0]) for e in rows for j in every)


AT = effects_at(EFFECTS)
MOVING = np.array([0.3, -0.2])  # from rest, friction makes derivatives by the starting velocity differ with its sign


def task(
    h: float = 1e-3, seconds: float = 0.6, effort_delay: float | None = None, links: bool = False, **changes: float
) -> Rollout:
    """The planar arm with everything at its joints."""
    two, t = np.ones(2), h * (np.arange(round(seconds / h)) + 0.5)[:, None]
    phase = np.array([0.0, 1.0])
    u, slope = 0.5 * np.sin(9 * t + phase) - 0.5 * np.sin(phase), 4.5 * np.cos(9 * t + phase)
    gains = {name: changes.get(name, value) * two for name, value in GAINS.items()}
    x, own = BODY if links else np.zeros(0), np.repeat([changes.get(s, value) for s, value in EFFECTS.items()], 2)
    values = LoopValues(**gains, effects=own, links=x, effort_delay=effort_delay)
    return Rollout(values, LoopCommand(u, -slope), h, round(0.02 / h), 0 * two, 0 * two)


def unknowns(links: int, effects: int = len(AT)) -> tuple[tuple[str, int], ...]:
    own = [(kind, j) for kind in KINDS[2:] if kind not in ("delay", *OF_SPRINGS, *OF_DUTY) for j in range(2)]
    return (*(("link", k) for k in range(links)), *(("effect", k) for k in range(effects)), *own, ("delay", 0))


def nudged(given: Rollout, kind: str, place: int, step: float) -> Rollout:
    """The same rollout with one unknown changed."""
    values = given.values
    if kind in ("q0", "v0"):
        start = getattr(given, kind).copy()
        start[place] += step
        return replace(given, **{kind: start})
    if kind == "delay" and values.effort_delay is not None:
        return replace(given, values=replace(values, effort_delay=values.effort_delay + step))
    if kind == "delay":
        return replace(given, command=replace(given.command, u=given.command.u + step * given.command.u_d))
    name = {"link": "links", "effect": "effects"}.get(kind, kind)
    changed = getattr(values, name).copy()
    changed[place] += step
    return replace(given, values=replace(values, **{name: changed}))


@pytest.mark.parametrize(("effort_delay", "is_euler"), [(None, False), (0.0004, False), (0.0037, False), (None, True)])
def test_derivatives_are_those_of_the_simulated_motion(effort_delay: float | None, is_euler: bool) -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS, effects=AT)
    given = task(effort_delay=effort_delay, links=True)
    given = replace(given, v0=MOVING, values=replace(given.values, is_euler=is_euler))
    carried = kernel.run(replace(given, unknowns=unknowns(len(LINKS))))
    assert carried is not None and np.abs(carried[0]).max() > 0.3
    for c, (kind, place) in enumerate(unknowns(len(LINKS))):
        ends = [kernel.run(nudged(given, kind, place, step)) for step in (1e-6, -1e-6)]
        assert ends[0] is not None and ends[1] is not None
        wanted = (ends[0][0] - ends[1][0]) / 2e-6
        assert np.abs(wanted).max() > 1e-7, kind
        assert np.abs(carried[1][:, :, c] - wanted).max() < 1e-4 * np.abs(wanted).max(), kind


@pytest.mark.parametrize("effort_delay", [None, 0.0037])
def test_without_a_compiler_the_motion_is_the_same(effort_delay: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    given = replace(task(effort_delay=effort_delay, links=True, seconds=0.2), unknowns=unknowns(len(LINKS)))
    compiled = LoopKernel(ARM, (0, 1), LINKS, effects=AT).run(given)
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    kernel = LoopKernel(ARM, (0, 1), LINKS, effects=AT)
    plain = kernel.run(given)
    assert kernel.path == "numpy" and compiled is not None and plain is not None
    for mine, theirs in zip(plain, compiled, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-7, atol=1e-10)


GAS = {"outer": 0.8, "inner": 0.2, "closed": 0.6, "angle": 1.66, "energy": 15.6, "volume": 0.00096, "area": 0.00167}
OTHERS = {"FCP": 0.8, "FCN": 1.4, "FLD": 0.05, "FLB": 0.02, "FCT": 0.9, "FVC": 0.3, "GAS": 1.0, "FV": 0.5, "IA": 0.1}
OTHERS |= {symbol: 0.1 for symbol in SIMULATED if symbol not in {*EFFECTS, *OTHERS}}


def other_task() -> tuple[LoopKernel, Rollout]:
    """The same arm with effects that bend, differ with the direction or come from the table alone."""
    at = tuple(e if e.symbol != "GAS" else e._replace(constants=GAS) for e in effects_at(OTHERS))
    given = task(links=True)
    values = replace(given.values, effects=np.repeat(list(OTHERS.values()), 2))
    return LoopKernel(ARM, (0, 1), LINKS, effects=at), replace(given, v0=MOVING, values=values)


def test_every_effect_of_the_table_is_simulated_with_its_derivatives() -> None:
    kernel, given = other_task()
    assert not kernel.effects.programs.is_linear and effect_programs(1, (("KS", 0), ("FCQ", 0))).is_linear
    carried = kernel.run(replace(given, unknowns=unknowns(len(LINKS), 2 * len(OTHERS))))
    assert carried is not None and np.abs(carried[0]).max() > 0.3
    for c, (kind, place) in enumerate(unknowns(len(LINKS), 2 * len(OTHERS))):
        ends = [
            kernel.run(nudged(given, kind, place, step)) for step in (1e-7, -1e-7)
        ]  # 1e-6 s of delay let a joint stick
        assert ends[0] is not None and ends[1] is not None
        wanted = (ends[0][0] - ends[1][0]) / 2e-7
        assert np.abs(wanted).max() > 1e-7, (kind, place)
        assert np.abs(carried[1][:, :, c] - wanted).max() < 1e-4 * np.abs(wanted).max(), (kind, place)


@pytest.mark.slow
def test_effects_that_bend_are_the_same_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, given = other_task()
    given = replace(given, unknowns=unknowns(len(LINKS), 2 * len(OTHERS)))
    compiled = kernel.run(given)
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    plain = other_task()[0].run(given)
    assert compiled is not None and plain is not None
    for mine, theirs in zip(plain, compiled, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-6, atol=1e-9)


def test_stiff_smooth_friction_is_that_of_dry_friction_at_any_step() -> None:
    """tanh over a width that a step passes at once neither rings nor pushes: the arm comes to rest as with FC."""
    found, weightless = [], replace(ARM, gravity=(0.0, 0.0, 0.0))
    for symbol, h in (("FC", 5e-4), ("FCT", 5e-4), ("FCT", 4e-3)):
        at = tuple(EffectAt(symbol, j, {"width": 1e-3} if symbol == "FCT" else {}) for j in (0, 1))
        given = task(h, seconds=2.0, links=True)
        still = replace(given.command, u=np.where(np.arange(given.steps)[:, None] * h < 0.5, given.command.u, 0.1))
        values = replace(given.values, effects=np.full(2, 4.0), ki=np.zeros(2), kd=np.full(2, 20.0))
        motion = LoopKernel(weightless, (0, 1), LINKS, effects=at).run(replace(given, values=values, command=still))
        assert motion is not None
        found.append(motion[0])
    assert np.abs(found[1] - found[0]).max() < 2e-3 and np.abs(found[2] - found[0]).max() < 1e-2
    assert np.abs(np.diff(found[2][-5:], axis=0)).max() < 6e-5  # it creeps by the width, 1e-3 rad/s, or twice that


def test_friction_holds_a_joint_exactly_and_lets_it_go() -> None:
    own = effects_at(("FC", "IA"))
    kernel = LoopKernel(replace(ARM, gravity=(0.0, 0.0, 0.0)), (0, 1), LINKS, effects=own)
    two, t = np.ones(2), 1e-3 * np.arange(2000)[:, None]
    u = np.where(t < 1.0, 0.018, 0.03) * two  # 1.8 N m, below friction, then 3 N m
    values = replace(at_rest(2, BODY), kp=100 * two, kd=10 * two, effects=np.array([2.0, 2.0, 0.1, 0.1]))
    found = kernel.run(Rollout(values, LoopCommand(u, 0 * u), 1e-3, 1, 0 * two, 0 * two))
    assert found is not None
    assert np.all(found[0][:1000] == 0.0)
    rest = found[0][-1]
    assert np.all(rest > 0) and np.all(np.abs(100 * (0.03 - rest)) <= 2.0 + 1e-9)
    assert np.array_equal(found[0][-1], found[0][-200])  # it sticks again, without creeping


def test_friction_that_is_zero_has_derivatives_of_the_way_it_would_act() -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS, effects=AT)
    given = task(links=True, FC=0.0, FCL=0.0, FS=0.0, FCQ=0.0)
    coulomb = [k for k, effect in enumerate(AT) if effect.symbol == "FC"]
    carried = kernel.run(replace(given, unknowns=tuple(("effect", k) for k in coulomb)))
    assert carried is not None
    for joint, k in enumerate(coulomb):
        with_some = kernel.run(nudged(given, "effect", k, 1e-2))  # steps that it divides are a little more exact
        assert with_some is not None
        wanted = (with_some[0] - carried[0]) / 1e-2
        assert np.abs(carried[1][:, :, joint] - wanted).max() < 0.1 * np.abs(wanted).max()


@pytest.mark.parametrize("dry", [0.0, 2.0])
def test_the_rule_is_of_second_order(dry: float) -> None:
    """Without dry friction, and with joints that it stops and turns back."""
    kernel = LoopKernel(ARM, (0, 1), LINKS, effects=AT)
    ends = []
    for h in (4e-3, 2e-3, 1e-3, 1.25e-4):
        found = kernel.run(task(h, seconds=1.2, links=True, FC=dry, FCL=0.0, FS=0.0, FCQ=0.0, limit=np.inf))
        assert found is not None
        ends.append(found[0])
    errors = [float(np.abs(end - ends[-1]).max()) for end in ends[:-1]]
    assert 3.4 < errors[0] / errors[1] < 4.8 and 3.4 < errors[1] / errors[2] < 4.8


def test_a_motion_that_runs_away_is_told_and_not_raised() -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS, effects=AT)
    given = task(links=True)
    broken = replace(given, values=replace(given.values, links=-5 * given.values.links))
    assert kernel.run(broken) is None


def test_friction_reads_the_load_of_the_step_itself() -> None:
    """With the load of the step before, the error were of first order in the step and 13 mrad here."""
    kernel = LoopKernel(ARM, (0, 1), LINKS, effects=AT)
    plain = {"FC": 0.5, "FS": 0.0, "FCQ": 0.0, "ki": 0.0, "FCL": 0.8}
    coarse, fine = (kernel.run(task(h, links=True, **plain)) for h in (2e-3, 1.25e-4))
    assert coarse is not None and fine is not None
    assert np.abs(coarse[0] - fine[0]).max() < 2e-3
