"""Draws from a posterior, by Markov chains in coordinates in which it is nearly a standard normal.

The chains move in the normal vectors eta of `Transport`, from independent starts, by preconditioned Crank-Nicolson
steps eta sqrt(1 - b^2) + b xi (Cotter, Roberts, Stuart, White 2013).  These keep the standard normal, and a Metropolis
test with the weights of eta makes the draws exact.  Every second step has b = 1, an independent proposal, the others a
width b that is uniform in (0, 1): they leave places that independent proposals hardly reach.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minertia.identification.posterior.density import Density, maximum
from minertia.identification.posterior.mixing import effective_size, split_rhat
from minertia.identification.posterior.transport import Transport
from minertia.io.arrays import Array
from minertia.io.errors import InputError
from minertia.io.resources import one_thread
from minertia.io.steps import WorkStep

FEWEST_CHAINS, MOST_CHAINS = 16, 64  # enough to tell whether they cover the same robots; a batch of small matrices
DRAWS_OF_CHAIN = 32  # draws of one chain, where there are few
FEWEST_STATES = 32  # of a chain, from which its mixing is told
BURN_IN = 16  # steps before the first round
THINNED = 4  # steps from one state to the next, to begin with (an even number): twice as many in each further round
MOST_STEPS = 2048  # of a chain in a round: 4 min for 4096 arms of six joints
LEAST_SOLVED = 0.9  # share of the proposals below which the draws are refused
MOST_RHAT = 1.1  # of the value that mixes worst, of some hundred (Vehtari et al. 2021 ask 1.01, for means of one value)
LEAST_EFFECTIVE = 0.25  # effective sample size over the number of draws, of the value with the least


class NotMixedError(InputError):
    """Chains that cover different robots."""


@dataclass(frozen=True)
class PosteriorDraws:
    """Draws z (N, coordinates) from a posterior; best: maximum of the density; states: those of all chains, at least N.

    accepted: fraction of steps that the Metropolis test accepted.  effective: effective sample size over the number of
    draws, at most 1, and rhat: split R-hat, each of the value that mixes worst; slowest: its name.  unsolved: fraction
    of proposals without a solution.
    """

    z: Array
    best: Array
    states: Array
    accepted: float
    effective: float
    rhat: float
    slowest: str
    unsolved: float

    def quality(self) -> dict[str, float | str]:
        """Convergence of the chains as plain data."""
        return {key: getattr(self, key) for key in ("accepted", "effective", "rhat", "slowest", "unsolved")}


def draw(density: Density, count: int, seed: int, tell: Callable[[str], None] = lambda step: None) -> PosteriorDraws:
    """Draw `count` samples from a posterior.  tell: progress callback."""
    with one_thread():
        tell("searching for the most probable robot")
        best = maximum(density)
        chains = _Chains(Transport(density, best), _chains_for(count), seed)
        length, thinned = max(FEWEST_STATES, -(-count // chains.count)), THINNED
        chains.run(BURN_IN, 1, tell)
        _refuse_unsolved(chains.unsolved)
        while True:
            states = chains.run(length, thinned, tell)
            effective, rhat, slowest = _mixing(density, states, count)
            is_mixed = rhat <= MOST_RHAT and effective >= LEAST_EFFECTIVE
            if is_mixed or 2 * thinned * length > MOST_STEPS:
                break
            thinned *= 2
    _refuse_unsolved(chains.unsolved)
    if not is_mixed:
        raise NotMixedError(
            f"the draws would be copies of few robots: after {chains.steps} steps the chains of {slowest} cover "
            f"different robots (split R-hat {rhat:.3g}, effective sample size {100 * effective:.2g} % of --n), as "
            "hardly any physically consistent robot has the identified values; identify with other effects, more logs "
            "or --physical, or give a smaller --prior"
        )
    z = states.reshape(-1, states.shape[2])
    chosen = np.linspace(0, len(z) - 1, count).round().astype(int)
    return PosteriorDraws(z[chosen], best, z, chains.accepted, effective, rhat, slowest, chains.unsolved)


def _refuse_unsolved(share: float) -> None:
    """Raise an error where the map from normal vectors to robots leaves out too many."""
    if share > 1 - LEAST_SOLVED:
        raise InputError(
            f"{100 * share:.0f} % of the draws have no solution: the prior is too wide for these logs; give a smaller "
            "--prior"
        )


def _chains_for(count: int) -> int:
    """Number of chains for a number of draws."""
    return min(max(count // DRAWS_OF_CHAIN, FEWEST_CHAINS), MOST_CHAINS)


class _Chains:
    """Chains from independent starts, as one batch.

    accepted: fraction of accepted steps of the last run.  unsolved: fraction of proposals without a solution.
    """

    def __init__(self, transport: Transport, count: int, seed: int) -> None:
        self.transport, self.count = transport, count
        self.rng = np.random.default_rng(seed)
        self.eta = self.rng.normal(size=(count, len(transport.best)))
        self.z, self.weights = transport.of(self.eta)
        self.steps, self.accepted, self.unsolved = 0, 1.0, 0.0

    def run(self, length: int, thinned: int, tell: Callable[[str], None]) -> Array:
        """Coordinates (length, chains, coordinates) at every `thinned` steps."""
        states, shares = np.empty((length, *self.z.shape)), []
        for k in range(length):
            tell(WorkStep(f"drawing robots, {length * thinned} steps of each chain", k / length))
            shares += [self._step() for _ in range(thinned)]
            states[k] = self.z
        self.accepted = float(np.mean(shares))
        return states

    def _step(self) -> float:
        """One step of every chain; returns the share that was accepted."""
        width = np.ones((self.count, 1)) if self.steps % 2 == 0 else self.rng.random((self.count, 1))
        eta = np.sqrt(1 - width**2) * self.eta + width * self.rng.normal(size=self.eta.shape)
        z, weights = self.transport.of(eta)
        with np.errstate(invalid="ignore"):
            taken = np.log(self.rng.random(self.count)) < weights - self.weights
        self.eta[taken], self.z[taken], self.weights[taken] = eta[taken], z[taken], weights[taken]
        self.unsolved += (float(np.mean(~np.isfinite(weights))) - self.unsolved) / (self.steps + 1)
        self.steps += 1
        return float(np.mean(taken))


def _mixing(density: Density, states: Array, count: int) -> tuple[float, float, str]:
    """Effective sample size over the number of draws, and split R-hat, of the value that mixes worst, and its name."""
    space = density.space
    x = space.values(states.reshape(-1, space.size))[:, list(space.varied)]
    values = x.reshape(*states.shape[:2], -1)
    if not values.size:
        return 1.0, 1.0, ""
    size, rhat = effective_size(values), split_rhat(values)
    slowest = int(np.argmax(rhat))
    return min(1.0, float(size.min()) / count), float(rhat.max()), space.names[space.varied[slowest]]
