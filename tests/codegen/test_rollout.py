"""The closed loop, step by step: derivatives, friction that sticks, the rule's order, and NumPy against C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.codegen.rollout.kernel import LoopKernel
from minertia.codegen.rollout.task import KINDS, OF_SPRINGS, LoopCommand, LoopValues, Rollout

ARM = replace(read_robot("planar2r"), gravity=(0.0, -9.81, 0.0))  # in a vertical plane
LINKS = ("ZZ1", "ZZ2", "MX2", "MY2", "MX1", "MY1")
BODY = np.array([0.9, 0.4, 0.5, 0.05, 1.0, 0.1])


def task(
    h: float = 1e-3, seconds: float = 0.6, effort_delay: float | None = None, links: bool = False, **changes: float
) -> Rollout:
    """The planar arm with everything at its joints."""
    two, t = np.ones(2), h * (np.arange(round(seconds / h)) + 0.5)[:, None]
    phase = np.array([0.0, 1.0])
    u, slope = 0.5 * np.sin(9 * t + phase) - 0.5 * np.sin(phase), 4.5 * np.cos(9 * t + phase)
    usual = {"ia": 0.3, "fv": 1.0, "fc": 2.0, "off": 0.4, "fcl": 0.04, "ks": 0.5, "rest": 0.1}
    usual |= {"fs": 0.5, "vs": 0.4, "fcq": 0.3, "middle": 0.1}
    usual |= {"kp": 150.0, "kd": 8.0, "ki": 20.0, "limit": 45.0, "zero": 0.05} | changes
    x = BODY if links else np.zeros(0)
    values = LoopValues(**{name: value * two for name, value in usual.items()}, links=x, effort_delay=effort_delay)
    return Rollout(values, LoopCommand(u, -slope), h, round(0.02 / h), 0 * two, 0 * two)


def unknowns(links: int) -> tuple[tuple[str, int], ...]:
    own = [(kind, j) for kind in KINDS[1:] if kind not in ("delay", *OF_SPRINGS) for j in range(2)]
    return (*(("link", k) for k in range(links)), *own, ("delay", 0))


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
    name = "links" if kind == "link" else kind
    changed = getattr(values, name).copy()
    changed[place] += step
    return replace(given, values=replace(values, **{name: changed}))


@pytest.mark.parametrize(("effort_delay", "is_euler"), [(None, False), (0.0004, False), (0.0037, False), (None, True)])
def test_derivatives_are_those_of_the_simulated_motion(effort_delay: float | None, is_euler: bool) -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS)
    given = task(effort_delay=effort_delay, links=True)
    given = replace(given, values=replace(given.values, is_euler=is_euler))
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
    compiled = LoopKernel(ARM, (0, 1), LINKS).run(given)
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    kernel = LoopKernel(ARM, (0, 1), LINKS)
    plain = kernel.run(given)
    assert kernel.path == "numpy" and compiled is not None and plain is not None
    for mine, theirs in zip(plain, compiled, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-7, atol=1e-10)


def test_friction_holds_a_joint_exactly_and_lets_it_go() -> None:
    kernel = LoopKernel(replace(ARM, gravity=(0.0, 0.0, 0.0)), (0, 1), LINKS)
    two, t = np.ones(2), 1e-3 * np.arange(2000)[:, None]
    u = np.where(t < 1.0, 0.018, 0.03) * two  # 1.8 N m, below friction, then 3 N m
    values = replace(LoopValues.at_rest(2, BODY), kp=100 * two, kd=10 * two, fc=2.0 * two, ia=0.1 * two)
    found = kernel.run(Rollout(values, LoopCommand(u, 0 * u), 1e-3, 1, 0 * two, 0 * two))
    assert found is not None
    assert np.all(found[0][:1000] == 0.0)
    rest = found[0][-1]
    assert np.all(rest > 0) and np.all(np.abs(100 * (0.03 - rest)) <= 2.0 + 1e-9)
    assert np.array_equal(found[0][-1], found[0][-200])  # it sticks again, without creeping


def test_friction_that_is_zero_has_derivatives_of_the_way_it_would_act() -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS)
    given = task(links=True, fc=0.0, fcl=0.0, fs=0.0, fcq=0.0)
    carried = kernel.run(replace(given, unknowns=(("fc", 0), ("fc", 1))))
    assert carried is not None
    for joint in range(2):
        with_some = kernel.run(nudged(given, "fc", joint, 1e-4))
        assert with_some is not None
        wanted = (with_some[0] - carried[0]) / 1e-4
        assert np.abs(carried[1][:, :, joint] - wanted).max() < 0.1 * np.abs(wanted).max()


def test_the_rule_is_of_second_order() -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS)
    ends = []
    for h in (4e-3, 2e-3, 1e-3, 1.25e-4):
        found = kernel.run(task(h, links=True, fc=0.0, fcl=0.0, fs=0.0, fcq=0.0, limit=np.inf))
        assert found is not None
        ends.append(found[0])
    errors = [float(np.abs(end - ends[-1]).max()) for end in ends[:-1]]
    assert 3.4 < errors[0] / errors[1] < 4.8 and 3.4 < errors[1] / errors[2] < 4.8


def test_a_motion_that_runs_away_is_told_and_not_raised() -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS)
    given = task(links=True)
    broken = replace(given, values=replace(given.values, links=-5 * given.values.links))
    assert kernel.run(broken) is None
