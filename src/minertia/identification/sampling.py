"""`sample_model`: physically consistent robots from the posterior of an identification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minertia.identification.campaigns.prepare import Tell, silent
from minertia.identification.model import IdentifiedModel, Model, with_efforts
from minertia.identification.model_file import read_model
from minertia.identification.posterior.draw import NotMixedError, draw
from minertia.identification.posterior.options import SampleOptions
from minertia.identification.posterior.prior import Posterior, posterior_of
from minertia.identification.posterior.shown import POSTERIOR, Shown, posterior_part
from minertia.identification.samples import Samples, noise_of
from minertia.io.arrays import Array
from minertia.io.errors import InputError

LOOPS = "loop"
PRIOR_DRAWS = 4096  # robots of the prior, with whose scatter that of the draws is compared
MIDDLE = (0.25, 0.75)


def sample_model(model: Model | str | Path, options: SampleOptions | None = None, *, tell: Tell = silent) -> Samples:
    """Draw robots from the posterior of a model, given as an object, file or folder.  tell: progress callback."""
    asked = SampleOptions() if options is None else options
    known = with_efforts(model if isinstance(model, Model) else read_model(_file(model)), "sample")
    _refuse(known)
    try:
        return _drawn(known, asked, tell)
    except NotMixedError:
        exact = _with_exact_links(known)
        if exact is known:
            raise
        tell("the chains do not mix where links of the robot file vary: they stay as they are")
        return _drawn(exact, asked, tell)


def _with_exact_links(model: IdentifiedModel) -> IdentifiedModel:
    """Model whose equations take links that the fit kept as exactly those of the robot file."""
    shown = shown_by(model)
    if not shown.file_links:
        return model
    table = {**model.evidence[POSTERIOR], "shown": shown.with_file_links().to_dict()}
    return replace(model, evidence={**model.evidence, POSTERIOR: table})


def _drawn(known: IdentifiedModel, asked: SampleOptions, tell: Tell) -> Samples:
    """Robots drawn from the posterior of a model."""
    posterior = posterior_of(known.linear, shown_by(known), known.standard, _fixed(known), asked)
    found = draw(posterior.density, asked.n, asked.seed, tell)
    space = posterior.space
    x = space.values(found.z)
    return Samples(
        known,
        space.names,
        x,
        space.values(found.best[None])[0],
        _prior_share(posterior, space.values(found.states), found.best, asked.seed),
        posterior.unknowns,
        _prior(posterior, found.best, asked),
        {"seed": asked.seed, **found.quality()},
        noise_of(known),
    )


def with_kept_links(samples: Samples, count: int) -> Samples:
    """Robots with the links of the file, as many as given, where these vary though the fit kept them; else the samples.

    Held-out residuals, and so the conformal factor, tell of predictions with these links.
    """
    exact = _with_exact_links(samples.model)
    if exact is samples.model:
        return samples
    asked = SampleOptions(n=count, seed=int(samples.drawn["seed"]), joint_prior=samples.prior["joints"])
    return _drawn(exact, asked, silent)


def _file(path: str | Path) -> Path:
    given = Path(path)
    return given / "model.toml" if given.is_dir() else given


def _refuse(model: IdentifiedModel) -> None:
    gauges = model.evidence.get(LOOPS, {}).get("gauges", ())
    if gauges:
        raise InputError(
            f"the scale of this model is not identified (kp of {', '.join(gauges)} was set to 1); give a gain "
            "or a known payload, and identify again"
        )
    if model.nominal.is_floating and not model.nominal.has_parameters:
        raise InputError("a robot with a floating base needs masses in its file as a prior; add them")


def shown_by(model: IdentifiedModel) -> Shown:
    """Identifiable combinations of a model's unknowns, with estimates and covariance from its logs."""
    known = posterior_part(model.evidence, "shown", Shown)
    if known is not None:
        return known
    if LOOPS in model.evidence:
        raise InputError("this model does not record the covariance of its servo parameters; identify it again")
    if not np.all(np.diag(model.covariance) > 0):
        raise InputError("this model does not record the variance of every parameter; identify it again")
    return Shown(model.linear.names, np.eye(model.linear.count), model.beta, model.covariance)


def _fixed(model: IdentifiedModel) -> tuple[Mapping[str, float], Array]:
    """Known values by name, and the typical effort of each joint."""
    linear = model.linear
    fix = model.campaign.get("fix", {})
    own = {name: float(v) for name, v in fix.items() if name in linear.standard or name in linear.names}
    rows = model.evidence.get("training", {}).get("per_joint", ())
    effort = [r["rmse"] / r["relative"] if r.get("relative") else 1.0 for r in rows]
    usual = effort if len(effort) == len(linear.rows) and LOOPS not in model.evidence else np.ones(len(linear.rows))
    return {**linear.choice.fixed, **own}, np.asarray(usual, float)


def _prior_share(posterior: Posterior, x: Array, best: Array, seed: int) -> Array:
    """Ratio of posterior to prior variance of each parameter, from interquartile ranges; 0 for fixed ones.

    best: coordinates of the most probable robot.  The prior's scatter is that about it: widths of masses and friction
    grow with their size, so that about the file they would make up for what the logs say of a much larger value.
    """
    z = best + np.random.default_rng([seed, 1]).normal(size=(PRIOR_DRAWS, posterior.space.size))
    own, before = (np.ptp(np.quantile(v, MIDDLE, axis=0), axis=0) for v in (x, posterior.space.values(z)))
    return np.asarray(np.clip(np.divide(own, before, out=np.zeros(x.shape[1]), where=before > 0) ** 2, 0.0, 1.0))


def _prior(posterior: Posterior, best: Array, options: SampleOptions) -> dict[str, Any]:
    """Settings of the prior, and the distances of the most probable robot from it and from the fit, as plain data."""
    links, data = best[: 10 * len(posterior.space.links)], len(posterior.density.values)
    missed = posterior.density.residual(best[None])[0, :data]
    return {
        "links": options.prior if posterior.space.links else 0.0,
        "joints": options.joint_prior,
        "centre": posterior.centre,
        "mended": list(posterior.mended),
        "distance": float(np.sqrt(np.mean(links**2))) if len(links) else 0.0,
        "missed": float(np.sqrt(np.mean(missed**2))) if data else 0.0,
    }
