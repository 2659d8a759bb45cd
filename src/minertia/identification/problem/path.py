"""Effects that depend on the path of a joint: their presliding displacement along the samples of a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from minertia.dynamics.kinematics import State, joint_positions, joint_rates
from minertia.dynamics.loops.projection import project
from minertia.dynamics.presliding import GAP, displacements_in_time
from minertia.identification.problem.linear import LinearModel
from minertia.identification.problem.terms import Term
from minertia.identification.signals.filtering import Motion
from minertia.io.arrays import Array


def with_path(model: LinearModel, blocks: Iterable[Motion]) -> Iterator[Motion]:
    """Blocks of a log with the displacements of the effects as channels, carried from block to block."""
    before: Motion | None = None
    for block in blocks:
        before = block if _has_path(model, block) else _followed(model, block, before)
        yield before


def presliding_of(model: LinearModel, block: Motion) -> dict[str, Array]:
    """Displacement (N,) of each effect over the largest, by name; of a block without a path, from 0 at its start."""
    if not _has_path(model, block):
        block = _followed(model, block, None)
    return {t.name: block.channels[_channel(t)] for t in model.choice.remembering}


def without_order(model: LinearModel, samples: Motion) -> Motion:
    """Samples that do not follow each other, each in steady sliding."""
    _, rates = _joints(model, samples)
    found = {_channel(t): np.sign(rates[t.joint]) for t in model.choice.remembering}
    return replace(samples, channels={**samples.channels, **found})


def _has_path(model: LinearModel, block: Motion) -> bool:
    return all(_channel(t) in block.channels for t in model.choice.remembering)


def _channel(term: Term) -> str:
    """Name of the channel of a block that has the displacement of an effect."""
    return f"presliding of joint {term.joint + 1} up to {term.settings['displacement']!r}"


def _joints(model: LinearModel, block: Motion) -> tuple[list[Array], list[Array]]:
    """Positions and velocities (N,) of every joint."""
    closed = project(model.robot.numeric, State(*(list(values.T) for values in (block.q, block.qd, block.qdd))))
    both = joint_positions(closed.tree, closed.state.q), joint_rates(closed.tree, closed.state.qd)
    q, qd = ([np.broadcast_to(np.asarray(x, float), block.t.shape) for x in own] for own in both)
    return q, qd


def _followed(model: LinearModel, block: Motion, before: Motion | None) -> Motion:
    (q, _), found = _joints(model, block), {}
    for term in model.choice.remembering:
        largest = term.settings["displacement"]
        start = 0.0 if before is None else largest * _last(term, before, block)
        found[_channel(term)] = displacements_in_time(block.t, q[term.joint], largest, start) / largest
    return replace(block, channels={**block.channels, **found})


def _last(term: Term, before: Motion, block: Motion) -> float:
    """Displacement of the block before at the start of this one, 0 after a gap."""
    k = int(np.searchsorted(before.t, block.t[0], side="right")) - 1
    step = float(np.median(np.diff(before.t))) if len(before) > 1 else 0.0
    is_next = k >= 0 and float(block.t[0] - before.t[k]) <= GAP * step
    return float(before.channels[_channel(term)][k]) if is_next else 0.0
