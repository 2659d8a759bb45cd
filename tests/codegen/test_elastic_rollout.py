"""Elastic joints under position servos: derivatives, the rule's order at stiff springs, the limit of a rigid joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia import read_robot
from minertia.codegen.rollout.kernel import LoopKernel
from minertia.codegen.rollout.task import OF_SPRINGS, LoopCommand, Rollout, Springs
from tests.codegen.kernel_helpers import at_rest
from tests.codegen.test_rollout import MOVING, effects_at

ARM = replace(read_robot("planar2r"), gravity=(0.0, -9.81, 0.0))
LINKS = ("ZZ1", "ZZ2", "MX2", "MY2", "MX1", "MY1")
BODY = np.array([0.9, 0.4, 0.5, 0.05, 1.0, 0.1])
AT_MOTOR = {"IA": 0.3, "FV": 1.0, "FC": 1.0, "OFF": 0.4}
GAINS = {"kp": 150.0, "kd": 8.0, "ki": 20.0}
AT = (*effects_at(AT_MOTOR, (2, 3)), *effects_at(("FV",), (1,)))  # at the motors, and one behind a spring
FIELD = {"cj": "compliance", "dj": "damping", "rj": "rest"}


def task(
    h: float = 1e-3, seconds: float = 0.6, *, stiffness: float = 2000.0, sees: tuple[int, ...] = (), **changes: float
) -> Rollout:
    """The planar arm with both joints elastic: coordinates 0 and 1 are links, 2 and 3 their motors."""
    t = h * (np.arange(round(seconds / h)) + 0.5)[:, None]
    phase = np.array([0.0, 1.0])
    u, slope = 0.5 * np.sin(9 * t + phase) - 0.5 * np.sin(phase), 4.5 * np.cos(9 * t + phase)
    both = {name: np.array([0.0, 0.0, value, value]) for name, value in GAINS.items()}
    own = np.append(np.repeat([changes.get(s, value) for s, value in AT_MOTOR.items()], 2), 0.0)
    springs = Springs((0, 1), (2, 3), np.full(2, 1 / stiffness), np.full(2, 3.0), np.array([0.001, -0.002]))
    values = replace(at_rest(4, BODY), **both, effects=own, springs=springs, sees=sees)
    wide = [np.hstack([0 * u, x]) for x in (u, -slope)]
    return Rollout(values, LoopCommand(*wide), h, round(0.02 / h), np.zeros(4), np.zeros(4))


def nudged(given: Rollout, kind: str, place: int, step: float) -> Rollout:
    x = given.values
    if kind in ("q0", "v0"):
        start = getattr(given, kind).copy()
        start[place] += step
        return replace(given, **{kind: start})
    if kind == "delay":
        return replace(given, command=replace(given.command, u=given.command.u + step * given.command.u_d))
    owner, name = (x.springs, FIELD[kind]) if kind in FIELD else (x, "effects" if kind == "effect" else kind)
    changed = getattr(owner, name).copy()
    changed[place] += step
    other = replace(owner, **{name: changed})
    return replace(given, values=replace(x, springs=other) if isinstance(other, Springs) else other)


UNKNOWNS = (
    *((kind, place) for kind in OF_SPRINGS for place in (0, 1)),
    *(("effect", k) for k in range(len(AT))),
    *((kind, place) for kind in ("kp", "kd", "ki") for place in (2, 3)),
    *(("q0", place) for place in range(4)), *(("v0", place) for place in range(4)),
    ("zero", 0), ("delay", 0),
)  # fmt: skip


@pytest.mark.parametrize(
    ("sees", "effort_delay"), [((), None), ((0, 1, 0, 1), None), ((0, 1, 0, 1), 0.0037)]
)  # motors that read their own encoder, or that of the link
def test_derivatives_are_those_of_the_simulated_motion(sees: tuple[int, ...], effort_delay: float | None) -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS, motors=2, effects=AT)
    given = replace(task(sees=sees), v0=np.tile(MOVING, 2))
    given = replace(given, values=replace(given.values, effort_delay=effort_delay))
    unknowns = UNKNOWNS[:-1] if effort_delay else UNKNOWNS
    carried = kernel.run(replace(given, unknowns=unknowns))
    assert carried is not None and np.abs(carried[0][:, 0] - carried[0][:, 2]).max() > 2e-3
    for c, (kind, place) in enumerate(unknowns):
        step = 1e-8 if kind == "cj" else 1e-6
        ends = [kernel.run(nudged(given, kind, place, s)) for s in (step, -step)]
        assert ends[0] is not None and ends[1] is not None
        wanted = (ends[0][0] - ends[1][0]) / (2 * step)
        assert np.abs(wanted).max() > 1e-7, kind
        assert np.abs(carried[1][:, :, c] - wanted).max() < 1e-3 * np.abs(wanted).max(), kind


@pytest.mark.parametrize("sees", [(), (0, 1, 0, 1)])
def test_without_a_compiler_the_motion_is_the_same(sees: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    given = replace(task(seconds=0.1, sees=sees), unknowns=UNKNOWNS)
    compiled = LoopKernel(ARM, (0, 1), LINKS, motors=2, effects=AT).run(given)
    monkeypatch.setenv("MINERTIA_KERNELS", "numpy")
    kernel = LoopKernel(ARM, (0, 1), LINKS, motors=2, effects=AT)
    plain = kernel.run(given)
    assert kernel.path == "numpy" and compiled is not None and plain is not None
    for mine, theirs in zip(plain, compiled, strict=True):
        assert np.allclose(mine, theirs, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("sees", [(), (0, 1, 0, 1)])
def test_the_rule_is_of_second_order(sees: tuple[int, ...]) -> None:
    kernel = LoopKernel(ARM, (0, 1), LINKS, motors=2, effects=AT)
    ends = []
    for h in (2e-3, 1e-3, 5e-4, 6.25e-5):
        found = kernel.run(task(h, sees=sees, FC=0.0, stiffness=500.0))
        assert found is not None
        ends.append(found[0])
    errors = [float(np.abs(end - ends[-1]).max()) for end in ends[:-1]]
    assert 3.0 < errors[0] / errors[1] < 5.0 and 3.0 < errors[1] / errors[2] < 5.0


def test_a_very_stiff_joint_moves_as_a_rigid_one_at_any_step() -> None:
    kernel, given = LoopKernel(ARM, (0, 1), LINKS, motors=2, effects=AT), task(2e-3)
    start = np.array([-0.001, 0.002])  # where links are with their motors at 0 and springs relaxed
    q0 = np.append(start, [0.0, 0.0])
    motion = [kernel.run(replace(task(2e-3, stiffness=k), q0=q0)) for k in (1e9, 1e5)]
    own = np.repeat(list(AT_MOTOR.values()), 2)
    gains = {name: np.full(2, value) for name, value in GAINS.items()}
    rigid_values = replace(at_rest(2, BODY), **gains, effects=own)
    command = LoopCommand(given.command.u[:, 2:], given.command.u_d[:, 2:])
    rigid = LoopKernel(ARM, (0, 1), LINKS, effects=effects_at(AT_MOTOR)).run(
        Rollout(replace(rigid_values, zero=start), command, 2e-3, 10, np.zeros(2), np.zeros(2))
    )
    assert rigid is not None
    for found, bound in zip(motion, (2e-4, 2e-3), strict=True):
        assert found is not None and np.abs(found[0][:, 2:] - rigid[0]).max() < bound


def test_energy_of_an_undamped_two_mass_system_stays() -> None:
    bare = at_rest(4, BODY)
    springs = Springs((0, 1), (2, 3), np.full(2, 1e-4), np.zeros(2), np.zeros(2))
    rotors = effects_at(("IA",), (2, 3))
    kernel = LoopKernel(replace(ARM, gravity=(0.0, 0.0, 0.0)), (0, 1), LINKS, motors=2, effects=rotors)
    u = np.zeros((4000, 4))
    values = replace(bare, effects=np.array([0.3, 0.2]), springs=springs)
    found = kernel.run(Rollout(values, LoopCommand(u, u), 5e-4, 1, np.array([0.0, 0.0, 0.01, -0.01]), np.zeros(4)))
    assert found is not None
    wound = np.abs(found[0][:, 2:] - found[0][:, :2])
    assert np.abs(wound[-800:].max(axis=0) / wound[:800].max(axis=0) - 1).max() < 0.2
