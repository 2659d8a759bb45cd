"""Physically consistent robots for files of other formats, fitted to the same logs.

A format that cannot represent every identified effect cannot take over the values of the model: an effect
that is merely omitted is missing, although another effect could have replaced it.  So the problem is built
and solved again with the effects that the format supports, and with physically consistent links near those of
the robot file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.prepare import PreparedCampaign, silent
from minertia.identification.campaigns.prepared import EffortLog
from minertia.identification.efforts.build import EffortRows, build_rows
from minertia.identification.efforts.judge import residuals_on
from minertia.identification.efforts.prior import prior_values
from minertia.identification.efforts.solve import solve_efforts
from minertia.identification.estimators.estimate import Estimate
from minertia.identification.estimators.physical import Physical
from minertia.identification.evidence.residuals import Residuals, pooled
from minertia.identification.model import term_table
from minertia.identification.physical.consistency import physical_space, values_of_file
from minertia.identification.problem.linear import link_number, symbol_of
from minertia.identification.problem.terms import EffectChoice, Wanted, at_joints, chosen_effects
from minertia.io.errors import MinertiaError
from minertia.robot.divided import whole_links
from minertia.robot.effects import BY_SYMBOL, STANDARD_SYMBOLS
from minertia.robot.inertia import pseudo_inertia
from minertia.robot.parameters import BIAS_SYMBOLS, LINK_SYMBOLS, full_name
from minertia.robot.targets import TARGETS, ExportTarget

LINK_ERROR = 0.25  # of the shape of a link in a robot's file, as a logarithm; its mass may be wrong by any factor
UNKNOWN_ERROR = 1.0  # of links without a prior
HEAVIEST = 1.3  # mass of a link over that of the file, unless the logs contradict it
ROUNDS, FASTER, SETTLED = 8, 3.0, 0.01  # of the search for masses: most fits, power of a step, last change
STAND_INS = ("FV", "FC")  # for friction of any other kind


def exported(problem: EffortRows, estimate: Estimate) -> dict[str, dict[str, Any]]:
    """Robot parameters fitted for each export target by name, as stored in a model file, with their residuals.

    Targets with the same effects share one fit.  Targets without a physically consistent robot, and those that take
    the values of the model itself, are omitted.
    """
    found: dict[str, dict[str, Any]] = {}
    fits: list[_TargetFit] = []
    for target in (one for one in TARGETS if not one.is_whole):
        asked = tuple(target_effects(problem, target)), _fixed(problem, target)
        first = next((one for one in fits if one.asked == asked), None)
        fit = first or _fitted(problem, target, asked, fits)
        if fit is None:
            continue
        fits.append(replace(fit, target=target))
        values = fit.values() if first is None else {"values": first.target.name}
        same = first is not None and first.held == fits[-1].held
        left = found[fit.target.name]["left"] if same else _left(problem, estimate, fits[-1])
        found[target.name] = {**values, **fit.cost(), "read_by": "minertia", "left": left}
    return found


Asked: TypeAlias = tuple[tuple[Wanted, ...], dict[str, float]]  # effects, and fixed parameters


@dataclass(frozen=True)
class _TargetFit:
    """Fit for an export target: what was asked, its linear problem, and the physically consistent parameters.

    regularised: relative residual of the file's logs `with` and `without` the prior of the links; empty if there is
    none.
    """

    target: ExportTarget
    asked: Asked
    problem: EffortRows
    standard: Mapping[str, float]
    regularised: Mapping[str, float] = field(default_factory=dict)

    @property
    def held(self) -> dict[str, float]:
        """Parameters that the target can represent, and the biases of sensors, which are not the robot's."""
        return {n: v for n, v in self.standard.items() if _is_held(n, self.target) or symbol_of(n) in BIAS_SYMBOLS}

    def residuals(self) -> list[tuple[Residuals, int]]:
        """Residuals of the joints on each log on which the file is evaluated, and their numbers of samples."""
        linear = self.problem.linear
        beta, joints = linear.values(self.held), linear.joint_rows or None
        return [residuals_on(linear, beta, log, joints) for log in _logs(self.problem)]

    def cost(self) -> dict[str, Any]:
        """Residuals with and without the prior of the links, as stored in a model file."""
        return {"regularised": dict(self.regularised)} if self.regularised else {}

    def values(self) -> dict[str, Any]:
        """Effects and parameters as stored in a model file."""
        choice = self.problem.linear.choice
        effects = {"own": list(choice.own), "terms": [term_table(term) for term in choice.terms]}
        return {"effects": effects, "standard": whole_links(self.problem.linear.robot, self.standard)}


def _fitted(problem: EffortRows, target: ExportTarget, asked: Asked, fits: Sequence[_TargetFit]) -> _TargetFit | None:
    """Fit for an export target; None without a physically consistent robot.  fits: those of earlier targets."""
    prior = _prior(problem.campaign)
    limits = {link_number(n): HEAVIEST * m for n, m in (prior or {}).items() if symbol_of(n) == "M" and m > 0}
    try:
        built = _built(problem, *asked)
        if fits:
            fit = solve_efforts(built, _near_first(built, target, fits[0], prior, limits))
        elif prior is None:
            fit = solve_efforts(built, _estimator(built, None, {}))
        else:
            fit = _rescaled(built, prior, limits)
    except MinertiaError:
        return None
    if not fit.standard:
        return None
    found = _TargetFit(target, asked, built, fit.standard)
    return found if prior is None else replace(found, regularised=_cost(found, prior))


def _logs(problem: EffortRows) -> Sequence[EffortLog]:
    """Logs on which files are evaluated: the validation logs, or else the fitted ones."""
    return problem.unseen or problem.logs


def _cost(fit: _TargetFit, prior: Mapping[str, float]) -> dict[str, float]:
    """Relative residual of a file with the prior of its fit, and with one of what the logs do not show alone.

    On the logs on which the file itself is evaluated, and as it is there.
    """
    try:
        free = replace(fit, standard=solve_efforts(fit.problem, Physical(prior=prior)).standard)
    except MinertiaError:
        return {}
    return {"with": _relative(fit), "without": _relative(free)} if free.standard else {}


def _relative(fit: _TargetFit) -> float:
    """Relative residual of a fit on all logs on which its file is evaluated."""
    return pooled("", fit.residuals()).relative


def _near_first(
    problem: EffortRows,
    target: ExportTarget,
    first: _TargetFit,
    prior: Mapping[str, float] | None,
    limits: Mapping[int, float],
) -> Physical:
    """Estimator near the links of the first fit, with the masses of those that turn.

    A poorer target lacks effects, such as rotors, which would be mistaken for masses.  The effort of a joint that
    turns shows first moments and inertias, which can replace these effects at any mass; that of a slide shows the
    mass itself.
    """
    own = {name: v for name, v in first.standard.items() if symbol_of(name) in LINK_SYMBOLS}
    links = {**(prior or {}), **own}
    near = links if "IA" in target.held else _with_discs(links, first)
    turning = [j + 1 for j, joint in enumerate(problem.linear.robot.joints) if joint.kind == "revolute"]
    held = {name: links[name] for link in turning if (name := full_name("M", link)) in first.standard}
    most = {link: max(mass, near[full_name("M", link)]) for link, mass in limits.items()}
    return replace(_estimator(problem, near, most), fixed=held)


def _rescaled(problem: EffortRows, prior: Mapping[str, float], limits: Mapping[int, float]) -> Estimate:
    """Fit near links of the shape in the robot file, each with the mass that makes it nearest.

    The divergence from a link of the file times s is least at s = tr(P0^-1 P) / 4.  So the next fit is near the link
    times s; steps to there are small, so they are made longer (`FASTER`).
    """
    links = {link_number(name) for name in problem.linear.standard if symbol_of(name) == "M"}
    scales = dict.fromkeys(links & set(limits), 1.0)
    for _ in range(ROUNDS):
        fit = solve_efforts(problem, _estimator(problem, _times(prior, scales), limits))
        if not fit.standard or not scales:
            break
        found = _nearest_scales(problem, prior, fit.standard, scales)
        steps = {link: FASTER * np.log(found[link] / scales[link]) for link in scales}
        scales = {link: float(np.clip(s * np.exp(steps[link]), 1 / HEAVIEST, HEAVIEST)) for link, s in scales.items()}
        if max(abs(step) for step in steps.values()) < SETTLED:
            break
    return fit


def _times(prior: Mapping[str, float], scales: Mapping[int, float]) -> dict[str, float]:
    """Prior with the ten parameters of each link times its scale."""
    return {n: v * (scales.get(link_number(n), 1.0) if symbol_of(n) in LINK_SYMBOLS else 1.0) for n, v in prior.items()}


def _nearest_scales(
    problem: EffortRows, prior: Mapping[str, float], standard: Mapping[str, float], links: Collection[int]
) -> dict[int, float]:
    """Factor of each link of the prior that is nearest to a robot: tr(P0^-1 P) / 4 of its pseudo-inertias."""
    space = physical_space(problem.linear, prior, problem.campaign.fix, problem.observation.effort_rms)
    found = {}
    for link in links:
        L, P = space.roots[link], pseudo_inertia([standard[full_name(s, link)] for s in LINK_SYMBOLS])
        found[link] = float(np.trace(np.linalg.solve(L, np.linalg.solve(L, P).T)) / 4)
    return found


def _fixed(problem: EffortRows, target: ExportTarget) -> dict[str, float]:
    """Parameters that are not fitted for an export target: known ones, and motor effects that it cannot represent."""
    campaign, robot = problem.campaign, problem.linear.robot
    kept = {name: v for name, v in campaign.fix.items() if symbol_of(name) not in BY_SYMBOL or _is_held(name, target)}
    twins = [f"{s}M{j + 1}" for s in STANDARD_SYMBOLS for j in robot.coupled_motors if f"{s}M" not in target.held]
    named = {name for name in target_effects(problem, target) if isinstance(name, str)}
    return {**kept, **{name: 0.0 for name in twins if name.replace("M", "", 1) in named}}


def _built(problem: EffortRows, effects: tuple[Wanted, ...], fix: Mapping[str, float]) -> EffortRows:
    """The problem with other effects and fixed parameters; the logs are not read or filtered again."""
    robot, campaign = problem.linear.robot, problem.campaign
    if fix == dict(campaign.fix) and _is_same(chosen_effects(robot, effects), problem.linear.choice):
        return problem
    asked = replace(campaign, effects=effects, fix=dict(fix))
    return build_rows(PreparedCampaign(asked, problem.logs, problem.unseen), silent)


def _is_same(a: EffectChoice, b: EffectChoice) -> bool:
    return set(a.own) == set(b.own) and a.terms == b.terms


def _is_held(name: str, target: ExportTarget) -> bool:
    return symbol_of(name) in (*LINK_SYMBOLS, *target.held)


def target_effects(problem: EffortRows, target: ExportTarget) -> Iterator[Wanted]:
    """Effects to fit for an export target: those of the model that it supports, and substitutes for friction.

    If the effects of the model were selected from its logs, all standard effects that the target supports are
    fitted, at every driven joint.  Effects that do not depend on velocity, such as a spring, are fitted even if
    the target cannot represent them, as they would otherwise be mistaken for masses; but not those that were
    selected, such as the small stiffness of a hose, which masses and offsets represent better than nothing does.
    """
    robot, choice, is_selected = problem.linear.robot, problem.linear.choice, problem.ladder is not None
    names = dict.fromkeys(choice.own) if not is_selected else {}
    if is_selected:
        names = dict.fromkeys(full_name(s, j + 1) for s in STANDARD_SYMBOLS for j in robot.driven)
    others = []
    for term in choice.terms:
        is_static = "qd" not in term.effect.inputs
        if is_static and is_selected and not term.is_known and term.symbol not in target.held:
            continue
        if is_static or term.symbol in target.held:
            spec = at_joints(robot, term.symbol, [term.joint], term.settings, term.tag)
            others.append(replace(spec, known=term.is_known))
        else:
            names |= dict.fromkeys(full_name(s, term.joint + 1) for s in STAND_INS)
    own = {full_name(BY_SYMBOL[symbol_of(name)].name, link_number(name)) for name in names}  # a motor's come with them
    yield from sorted(name for name in own if symbol_of(name) in target.held)
    yield from others


def _estimator(problem: EffortRows, prior: Mapping[str, float] | None, limits: Mapping[int, float]) -> Physical:
    """Estimator of physically consistent links, regularised towards those of a prior, with limited masses.

    The links are assumed to be accurate to `LINK_ERROR`, in the entropic divergence of pseudo-inertias, which does
    not depend on the frame.  In this divergence a body that is heavier as a whole is nearer than one whose mass has
    moved.  For small errors the divergence is half of a squared distance, which has the weight 1 / LINK_ERROR^2
    relative to squared residuals of unit size.  Without a prior, `UNKNOWN_ERROR` is that of usual bodies.
    """
    rows = problem.observation.samples * len(problem.observation.row_names)
    error = UNKNOWN_ERROR if prior is None else LINK_ERROR
    return Physical(prior=prior, kind="entropic", weight=1 / (rows * error**2), heaviest=limits)


def _prior(campaign: Campaign) -> dict[str, float] | None:
    """Prior of the campaign, else of the robot file; None without masses."""
    stated = prior_values(campaign)
    values = values_of_file(campaign.robot) if stated is None and campaign.robot.has_parameters else dict(stated or {})
    return values if any(symbol_of(name) == "M" and mass > 0 for name, mass in values.items()) else None


def _with_discs(prior: Mapping[str, float], first: _TargetFit) -> dict[str, float]:
    """Prior with the rotors of a fit as discs in their links, for a format that has no place for rotors."""
    values = dict(prior)
    for name, inertia in first.standard.items():
        for symbol, part in (("XX", 0.5), ("YY", 0.5), ("ZZ", 1.0)) if symbol_of(name) == "IA" else ():
            place = full_name(symbol, link_number(name))
            if place in values:
                values[place] += part * inertia
    return values


def _left(problem: EffortRows, estimate: Estimate, fit: _TargetFit) -> list[dict[str, Any]]:
    """Residuals of the model and of the exported file on each validation log, or else on each fitted log.

    With force/torque sensors, which no format has, they are those of the joints.
    """
    found, joints = [], fit.problem.linear.joint_rows or None
    for log, (theirs, _) in zip(_logs(problem), fit.residuals(), strict=True):
        own = residuals_on(problem.linear, estimate.beta, log, joints)[0]
        found.append({"log": log.name, "model": own.to_dict(with_log=False), "file": theirs.to_dict(with_log=False)})
    return found
