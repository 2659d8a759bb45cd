"""Unknowns of a campaign of commands: known, shared, free, or fixed by convention."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.codegen.rollout.effects import SIMULATED, EffectAt
from minertia.codegen.rollout.floor import FLOOR, FloorUnder
from minertia.codegen.rollout.kernel import LoopKernel
from minertia.codegen.rollout.task import OF_DUTY, OF_SPRINGS
from minertia.dynamics.frame import frame_named
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import FLOORS, SAME, SETS, STIFFNESS, Command, Floor
from minertia.identification.closed_loop.ground import tied_by_floor
from minertia.identification.closed_loop.groups import require_simple, shown_at, tied_groups
from minertia.identification.closed_loop.layout import SprungLayout
from minertia.identification.closed_loop.logs import elastic_joints, layout_of
from minertia.identification.closed_loop.model import (
    FARTHEST_ZERO,
    MOST_WARMED,
    Atom,
    JointGroup,
    ServoModel,
    floor_name,
)
from minertia.identification.problem.ladder import usual_effects
from minertia.identification.problem.linear import LinearModel, linear_model, link_number, symbol_of
from minertia.identification.problem.terms import Term
from minertia.io.errors import CampaignError, MinertiaError
from minertia.io.schema import UNKNOWN
from minertia.robot.effects import BY_SYMBOL, STANDARD_SYMBOLS
from minertia.robot.joint import Elastic
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Array = NDArray[np.float64]
SLOWEST = 0.01  # rad/s or m/s of targets that follow their commands
GAUGE = 1.0  # kp of the first joint of a group where nothing fixes the scale


def loop_model(campaign: Campaign, period: float, *, varies_links: bool = False) -> ServoModel:
    """Servo model of a campaign of commands; period: sampling period of its logs [s], which bounds the delay.

    varies_links: whether links that are kept are further unknowns, the last ones.
    """
    robot, command = campaign.robot, campaign.command
    require_simple(robot)
    if campaign.joints and len(campaign.joints) < robot.n:
        raise CampaignError("commands move all joints, so joints cannot be selected here; lock the others with hold")
    effects = usual_effects(robot) if campaign.effects is None else campaign.effects
    linear = linear_model(robot, effects, method=SETS[campaign.parameters])
    for name in (*linear.choice.own, *(t.name for t in linear.choice.terms)):
        if symbol_of(name) not in SIMULATED:
            raise CampaignError(
                f"the effect {name} cannot be simulated in fits of commands, which have no temperatures and no "
                f"memory of the path; available: {', '.join(SIMULATED)}"
            )
    keeps = campaign.links == "robot"
    if keeps and not robot.has_parameters:
        raise CampaignError(
            f"'{robot.name}' has no masses to keep; set links = \"physical\" in [model] to fit them as well"
        )
    groups = tied_by_floor(robot, campaign.floor, tied_groups(robot))
    loads = [log.load for log in (*campaign.train, *campaign.validate) if log.load is not None]
    builder = _ServoBuilder(robot, command, linear, groups, keeps, bool(loads) or varies_links)
    builder.add_floor(campaign.floor)
    builder.loaded = {robot.payload_frame(log.load.at).joint for log in campaign.train if log.load is not None}
    builder.add_effects()
    builder.add_gains()
    builder.add_zeros()
    builder.add_duty()
    builder.add_springs(campaign)
    builder.add_delay(campaign.map.command_when, period)
    if varies_links:
        builder.vary_links()
    model = builder.model()
    given = {
        _compliance(name): 1 / value if name != _compliance(name) else value for name, value in campaign.fix.items()
    }
    fixed = {name: value for name, value in given.items() if name in model.names}
    unknown = [name for name in given if name not in fixed]
    if unknown:
        raise CampaignError(
            f"{unknown[0]} is fixed but is not an unknown of this fit; the unknowns are: {', '.join(model.names)}"
        )
    return model.with_fixed(fixed)


def _compliance(name: str) -> str:
    """Name of the compliance, such as CJ2, fitted for a stiffness KJ2; the motion is nearly linear in it."""
    return f"CJ{name[2:]}" if re.fullmatch(r"KJ\d+", name) else name


def nominal_links(linear: LinearModel, links: Sequence[str]) -> Array:
    """Values of link parameters in the robot file, regrouped as the kept ones are, without rotor inertia."""
    robot = linear.robot
    own = dict(zip(robot.columns(), robot.parameter_vector().tolist(), strict=True))
    standard = linear.standard_values(linear.values(own))
    return np.array([standard[name] for name in links])


class _ServoBuilder:
    """Builder of the unknowns and simulation parameters (`Atom`) of a servo model."""

    def __init__(
        self,
        robot: Robot,
        command: Command,
        linear: LinearModel,
        groups: Sequence[tuple[int, ...]],
        keeps: bool,
        is_loaded: bool,
    ) -> None:
        self.robot, self.command, self.linear, self.tied, self.keeps = robot, command, linear, groups, keeps
        self.n = robot.n
        kept = [linear.standard[k] for k in linear.kept]
        self.links = () if keeps and not is_loaded else tuple(name for name in kept if symbol_of(name) in LINK_SYMBOLS)
        kinds, terms = [*STANDARD_SYMBOLS, "kp", "kd", "ki", "zero", *OF_SPRINGS, *OF_DUTY], linear.choice.terms
        self.atoms = (
            *(Atom("link", k) for k in range(len(self.links))),
            *(Atom("floor", k) for k in range(len(FLOOR))),
            *(Atom(kind, j) for kind in kinds for j in range(self.n)),
            *(Atom(term.symbol, term.joint) for term in terms),
            Atom("delay", 0),
        )
        self.where = {atom: k for k, atom in enumerate(self.atoms)}
        self.constant = np.zeros(len(self.atoms))
        self.columns: dict[str, Array] = {}
        self.lower: dict[str, float] = {}
        self.constants = {Atom(t.symbol, t.joint): self._constants(t) for t in terms if t.effect.constants}
        if keeps and is_loaded:  # links of the file, to which the payloads of logs are added
            self.constant[: len(self.links)] = nominal_links(linear, self.links)
        self.gauges: list[int] = []
        self.loaded: set[int | None] = set()  # joints that carry a load which is known, in some log
        self.layout, self.begin, self.floor = SprungLayout(robot.n), dict[int, Elastic](), Floor()

    @staticmethod
    def _constants(term: Term) -> dict[str, float]:
        """Constants of an effect, which must be given because they are not estimated from commands."""
        values, missing = term.effect.filled(term.settings)
        if term.tag:
            missing = [name for name, usual in term.effect.constants.items() if usual is None]
        if missing:
            raise CampaignError(
                f"{missing[0]} of {term.name} cannot be estimated in fits of commands; give it, as in effects "
                f'= ["viscous", {{ kind = "{term.symbol}", {missing[0]} = 0.1 }}]'
            )
        return values

    def add(self, name: str, atoms: dict[Atom, float], lower: float = -np.inf) -> None:
        """Add an unknown with its coefficients in these simulation parameters; lower: its lower bound."""
        column = self.columns.setdefault(name, np.zeros(len(self.atoms)))
        for atom, weight in atoms.items():
            column[self.where[atom]] += weight
        self.lower[name] = lower

    @property
    def damping_is_one(self) -> list[bool]:
        """Whether kd and fv of each joint are one unknown: both unknown and acting on the same velocity."""
        given = self.command.each("kd", self.n)
        apart = self.command.velocity_reference or self.command.law == "servo"  # a motor that is off has no back-EMF
        return [isinstance(v, str) and not apart for v in given]

    def vary_links(self) -> None:
        """Make the links of the file unknowns."""
        for k, name in enumerate(self.links):
            self.constant[k] = 0.0
            self.add(name, {Atom("link", k): 1.0})

    def add_effects(self) -> None:
        """Add the unknowns of links and effects: each effect if the links are fixed, else the linear model's."""
        choice = self.linear.choice
        for term in choice.terms:
            self.constant[self.where[Atom(term.symbol, term.joint)]] = float(term.is_known)
        if self.keeps:
            for name in (*choice.own, *(t.name for t in choice.terms if not t.is_known)):
                self._add_linear(name, {name: 1.0})
            return
        mixing = np.eye(self.linear.count) if self.linear.mixing is None else self.linear.mixing
        kept = [self.linear.standard[k] for k in self.linear.kept]
        for k, name in enumerate(self.linear.names):
            if name not in choice.fixed:
                self._add_linear(name, {kept[r]: mixing[r, k] for r in np.flatnonzero(mixing[:, k])})

    def _add_linear(self, name: str, parts: dict[str, float]) -> None:
        atoms = {}
        for part, weight in parts.items():
            symbol, j = symbol_of(part), link_number(part) - 1
            if symbol == "FV" and self.damping_is_one[j]:
                return  # kd stands for both
            atoms[Atom("link", self.links.index(part)) if symbol in LINK_SYMBOLS else Atom(symbol, j)] = weight
        kinds = [atom.kind for atom in atoms]
        is_bounded = len(kinds) == 1 and kinds[0] in BY_SYMBOL and BY_SYMBOL[kinds[0]].is_nonnegative
        self.add(name, atoms, 0.0 if is_bounded else -np.inf)

    def add_gains(self) -> None:
        """Add the gains: known, unknown or shared; if nothing fixes a group's scale, kp of its first joint is 1."""
        self._check_reference()
        for kind in ("kp", "kd", "ki"):
            for j, value in enumerate(self.command.each(kind, self.n)):
                atom = Atom(kind, j)
                if not isinstance(value, str):
                    self.constant[self.where[atom]] = float(value)
                elif kind == "kp" and self._is_gauge(j, value):
                    self.constant[self.where[atom]] = GAUGE
                    self.gauges.append(j)
                else:
                    number = "" if value == SAME else str(j + 1)
                    twin = f"+FV{number}" if kind == "kd" and self._has_friction(j) else ""
                    self.add(f"{kind.upper()}{number}{twin}", {atom: 1.0}, 0.0)

    def _is_gauge(self, j: int, value: str) -> bool:
        """Whether this kp is set to 1 because nothing fixes the scale of its group."""
        if self.reference == "none":
            return j in self._firsts or value == SAME
        weighed = [group for group in self.tied if self.loaded & set(group)]
        is_tied = value == SAME and bool(weighed)
        return self.reference == "load" and j in self._firsts and not is_tied and not any(j in g for g in weighed)

    def _has_friction(self, j: int) -> bool:
        return self.damping_is_one[j] and f"FV{j + 1}" in self.linear.choice.own

    @property
    def _firsts(self) -> set[int]:
        """The first joint of each group without a known gain."""
        kp = self.command.each("kp", self.n)
        return {group[0] for group in self.tied if all(isinstance(kp[j], str) for j in group)}

    @property
    def reference(self) -> str:
        """Name of the reference that fixes the scale: as given, else "gains", "links" or "none"."""
        if self.command.reference is not None:
            return self.command.reference
        if not self._firsts:
            return "gains"
        return "links" if self.keeps else "none"

    def _check_reference(self) -> None:
        loose, names = self._firsts, self.robot.coordinate_names
        if self.reference == "gains" and loose:
            raise CampaignError(
                f'kp of joint {names[min(loose)]} and of all joints coupled to it is "?" and the reference is '
                '"gains"; give a gain, or set reference = "links" (masses of the robot file) or "none" (ratios '
                "to kp)"
            )
        if self.reference == "load" and self.keeps:
            raise CampaignError('the reference "load" needs links that are fitted; set links = "physical" in [model]')
        if self.reference == "links" and not self.keeps:
            raise CampaignError('the reference "links" keeps the masses of the robot file; set links = "robot"')
        if self.reference == "none" and self.keeps and loose:
            raise CampaignError(
                'links = "robot" takes the masses of the robot file as true, which is a reference; set reference '
                '= "links", or links = "physical"'
            )

    def add_zeros(self) -> None:
        """Add the joint zeros: known, or one unknown each."""
        for j, value in enumerate(self.command.each("zeros", self.n)):
            if isinstance(value, str):
                self.add(f"ZERO{j + 1}", {Atom("zero", j): 1.0}, -FARTHEST_ZERO)
            else:
                self.constant[self.where[Atom("zero", j)]] = float(value)

    def add_duty(self) -> None:
        """Add the speed of targets and the part of the motor in the load of gears: known, or one unknown each."""
        if self.command.law != "servo":
            return
        for kind, key, lower in (
            ("speed", "target_speed", SLOWEST),
            ("lapse", "target_lapse", 0.0),
            ("share", "load_share", 0.0),
            ("curve", "load_curve", 0.0),
            ("start", "startup_duty", 0.0),
            ("warm", "warming", -MOST_WARMED),
            ("sag", "supply_sag", 0.0),
            ("play", "backlash", 0.0),
        ):
            for j, value in enumerate(self.command.each(key, self.n)):
                if isinstance(value, str):
                    self.add(f"{kind.upper()}{j + 1}", {Atom(kind, j): 1.0}, lower)
                else:
                    self.constant[self.where[Atom(kind, j)]] = value or 0.0

    def add_springs(self, campaign: Campaign) -> None:
        """Add compliance and damping of elastic joints; with two encoders also the difference of their zeros.

        Behind a spring the rotor moves independently, so its inertia is identifiable even where that of a rigid joint
        is regrouped with that of its link.
        """
        self.begin, self.layout = elastic_joints(campaign.elastic, self.robot), layout_of(campaign)
        for j in self.layout.elastic:
            if self.command.each("backlash", self.n)[j]:
                name = self.robot.coordinate_names[j]
                raise CampaignError(f"joint {name} is elastic and has backlash; set backlash = 0 in [command] for it")
            for term in self.linear.choice.terms:
                if term.joint == j and "load" in term.effect.inputs:
                    raise CampaignError(
                        f"{term.effect.word} is not simulated at joint {self.robot.coordinate_names[j]}, which is "
                        "elastic; omit it from effects there"
                    )
            if f"IA{j + 1}" not in self.columns:
                self.add(f"IA{j + 1}", {Atom("IA", j): 1.0}, 0.0)
            self.add(f"CJ{j + 1}", {Atom("cj", j): 1.0}, 1 / STIFFNESS[1])
            self.add(f"DJ{j + 1}", {Atom("dj", j): 1.0}, 0.0)
            if self.layout.encoder == "both":
                self.add(f"RJ{j + 1}", {Atom("rj", j): 1.0})

    def add_floor(self, floor: Floor) -> None:
        """Add the ground contact: its known values, and an unknown for each of the others."""
        self.floor = floor
        if not floor.touches:
            return
        if self.command.integrator == "euler":
            raise CampaignError('ground contact is simulated with the midpoint rule only; remove integrator = "euler"')
        for k, what in enumerate(FLOOR):
            value = getattr(floor, what)
            if isinstance(value, str):
                self.add(floor_name(what), {Atom("floor", k): 1.0}, FLOORS[what][0])
            else:
                self.constant[self.where[Atom("floor", k)]] = float(value)

    def add_delay(self, when: str | None, period: float) -> None:
        """Add the delay: known, or an unknown that may be negative only if the sampling instant is unspecified."""
        atom, value = Atom("delay", 0), self.command.delay
        if value != UNKNOWN:
            self.constant[self.where[atom]] = float(value)
            return
        can_lead = when is None and self.command.delay_of == "command"
        self.add("delay", {atom: 1.0}, -period if can_lead else 0.0)

    def model(self) -> ServoModel:
        names = tuple(self.columns)
        G = np.stack([self.columns[name] for name in names], axis=1) if names else np.zeros((len(self.atoms), 0))
        if not names:
            raise MinertiaError(
                'every value of this campaign is known, so there is nothing to fit; set at least one to "?"'
            )
        groups = tuple(self._group(joints, G) for joints in self.tied)
        lower = np.array([self.lower[name] for name in names])
        return ServoModel(
            self.robot, self.command, self.linear, self.keeps, names, self.atoms, self.constant, G, self.links, lower,
            groups, self.constants, self.layout, tuple(self.gauges), self.begin, self.floor,
        )  # fmt: skip

    def _group(self, joints: tuple[int, ...], G: Array) -> JointGroup:
        """Group of joints simulated together, with the effects that act on them."""
        acting = [k for k, a in enumerate(self.atoms) if a.is_effect and (np.any(G[k]) or self.constant[k])]
        own = tuple(k for k in acting if self.atoms[k].place in joints)
        effects = [self._effect(joints, self.atoms[k]) for k in own]
        motors, floor = len(self.layout.inside(joints)), self._under(joints)
        kernel = LoopKernel(self.robot, joints, self.links, motors, floor, effects)
        return JointGroup(joints, kernel, self._atoms_of(joints, G), own)

    def _effect(self, joints: Sequence[int], atom: Atom) -> EffectAt:
        """An effect at its coordinate of a group."""
        at_link = BY_SYMBOL[atom.kind].is_at_link
        place = self.layout.place(joints, atom.place, at_link=at_link)
        return EffectAt(atom.kind, place, self.constants.get(atom, {}))

    def _under(self, joints: Sequence[int]) -> FloorUnder | None:
        """Ground contact of a group: the frames that the group moves; all groups share its values."""
        if not self.floor.touches:
            return None
        moved = [name for name in self.floor.touches if frame_named(self.robot, name).joint in joints]
        return FloorUnder(tuple(moved))

    def _atoms_of(self, joints: Sequence[int], G: Array) -> tuple[int, ...]:
        """Indices of the unknown simulation parameters that act in a group of joints."""
        shown: Any = shown_at(self.robot, self.links)[list(joints)].any(axis=0) if self.links else ()

        def acts(atom: Atom) -> bool:
            if atom.kind == "floor":
                under = self._under(joints)
                return under is not None and bool(under.touches)
            return bool(shown[atom.place]) if atom.kind == "link" else atom.kind == "delay" or atom.place in joints

        return tuple(k for k, atom in enumerate(self.atoms) if np.any(G[k]) and acts(atom))
