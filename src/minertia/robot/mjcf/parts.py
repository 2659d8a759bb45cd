"""What a compiled MJCF says of each joint beside its place: limits, friction, drives, relations, and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minertia.io.errors import DescriptionError
from minertia.robot.description import FollowsSpec
from minertia.robot.joint import Limits
from minertia.robot.mjcf.compile import Compiled
from minertia.robot.mjcf.loops import tendon_followers
from minertia.robot.mjcf.values import FAR
from minertia.robot.robot import Note


def joint_limits(compiled: Compiled, j: int) -> Limits:
    """Range and effort of MuJoCo's joint j."""
    m = compiled.model
    low, high = (float(v) for v in m.jnt_range[j]) if m.jnt_limited[j] else (None, None)
    effort = float(np.max(np.abs(m.jnt_actfrcrange[j]))) if m.jnt_actfrclimited[j] else _drive_effort(compiled, j)
    return Limits(lower=low, upper=high, effort=effort)


def joint_effects(compiled: Compiled, j: int) -> dict[str, float]:
    """Joint-side effects of MuJoCo's joint j, those that are not 0; its drives count with the gear squared."""
    m, d = compiled.model, int(compiled.model.jnt_dofadr[j])
    armature, damping = drive_part(compiled, j)
    values = {
        "IA": float(m.dof_armature[d]) + armature,
        "FV": float(m.dof_damping[d]) + damping,
        "FC": float(m.dof_frictionloss[d]),
        "FVC": _row(m, "dof_dampingpoly", d)[1],
        "KS": 0.0 if _is_far(m, j) else float(m.jnt_stiffness[j]),
    }
    return {symbol: value for symbol, value in values.items() if value != 0}


def _is_far(m: Any, j: int) -> bool:
    """Whether the spring of joint j is there for a constant effort, which `OFFSET` says exactly."""
    return bool(abs(m.qpos_spring[m.jnt_qposadr[j]]) >= 0.5 * FAR)


def joint_constants(compiled: Compiled, j: int) -> dict[str, dict[str, float]]:
    """Constants of the effects of MuJoCo's joint j: where its spring is at rest."""
    m = compiled.model
    if not m.jnt_stiffness[j] or _is_far(m, j):
        return {}
    return {"KS": {"rest": float(m.qpos_spring[m.jnt_qposadr[j]])}}


def drive_part(compiled: Compiled, j: int) -> tuple[float, float]:
    """Inertia and damping that the actuators of joint j add to it."""
    m = compiled.model
    armature = damping = 0.0
    for a in _drives(compiled, j):
        square = float(m.actuator_gear[a][0]) ** 2
        armature += square * float(getattr(m, "actuator_armature", np.zeros(m.nu))[a])
        damping += square * float(getattr(m, "actuator_damping", np.zeros(m.nu))[a])
    return armature, damping


def _drive_effort(compiled: Compiled, j: int) -> float | None:
    """Largest torque of the one actuator on joint j, if it says so."""
    m, drives = compiled.model, _drives(compiled, j)
    if len(drives) != 1 or not m.actuator_forcelimited[drives[0]]:
        return None
    a = drives[0]
    return abs(float(m.actuator_gear[a][0])) * float(np.max(np.abs(m.actuator_forcerange[a])))


def is_driven(compiled: Compiled, j: int) -> bool:
    """Whether an actuator acts on MuJoCo's joint j."""
    return bool(_drives(compiled, j))


def _drives(compiled: Compiled, j: int) -> Sequence[int]:
    return [a for a in range(compiled.model.nu) if int(compiled.model.actuator_trnid[a][0]) == j]


def _row(model: Any, name: str, k: int) -> tuple[float, float]:
    """Coefficients of |x| and x^2 in a polynomial, zeros where this version of MuJoCo has none."""
    table = getattr(model, name, None)
    return (0.0, 0.0) if table is None else (float(table[k][0]), float(table[k][1]))


def followers(compiled: Compiled, names: Sequence[str]) -> tuple[dict[int, FollowsSpec], list[Note]]:
    """Joint -> its leaders by linear joint equalities and by tendons of constant length, and notes on the others."""
    m = compiled.model
    found = tendon_followers(compiled, names)
    notes = []
    for e in range(m.neq):
        if int(m.eq_type[e]) != int(compiled.mujoco.mjtEq.mjEQ_JOINT):
            continue
        j, leader = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
        c0, c1, *higher = (float(c) for c in m.eq_data[e][:5])
        where = f"equality of joint '{names[j]}'"
        if not m.eq_active0[e]:
            notes.append(Note("info", where, "it is not active and is left out"))
        elif leader < 0 or j in found or c1 == 0 or any(higher):
            raise DescriptionError(
                f"the {where} is not supported: a joint can have one linear relation to another joint "
                "(polycoef a b 0 0 0), so replace it or take it out",
                file=compiled.lean.source,
            )
        else:
            x0, y0 = (float(m.qpos0[m.jnt_qposadr[k]]) for k in (leader, j))
            found[j] = FollowsSpec((names[leader],), (c1,), y0 + c0 - c1 * x0)
    return found, notes


def remarks(compiled: Compiled, names: Sequence[str], joint_names: Sequence[str], used: set[str]) -> list[Note]:
    """What acts on the motion in MuJoCo and has no place in the rigid model."""
    m = compiled.model
    found = []
    for j in range(m.njnt):
        where = f"joint '{joint_names[j]}'"
        if joint_names[j] in used:
            found += [(where, text) for text in _joint_remarks(m, j)]
        elif m.jnt_type[j] == compiled.mujoco.mjtJoint.mjJNT_FREE and _resists(m, int(m.jnt_dofadr[j])):
            found.append((where, "damping, friction and armature of a free joint are left out"))
    for b in np.flatnonzero(m.body_gravcomp):
        found.append((f"body '{names[int(b)]}'", "its gravity compensation is not part of the model; it is left out"))
    if m.opt.density or m.opt.viscosity:
        found.append(("option", "forces of the surrounding fluid are not part of the model; they are left out"))
    return [Note("warning", where, text) for where, text in found]


def _joint_remarks(m: Any, j: int) -> list[str]:
    texts = []
    if any(_row(m, "jnt_stiffnesspoly", j)):
        texts.append("only the linear part of its spring is used")
    if _row(m, "dof_dampingpoly", int(m.jnt_dofadr[j]))[0]:
        texts.append("the quadratic part of its damping is left out")
    return texts


def _resists(m: Any, d: int) -> bool:
    return any(np.any(table[d : d + 6]) for table in (m.dof_damping, m.dof_frictionloss, m.dof_armature))
