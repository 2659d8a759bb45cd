"""`Command`: how the joints' own position loops make efforts of commands (table [command], docs/output-error.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from minertia.errors import CampaignError, MinertiaError, UnknownName, expect_kinds
from minertia.identification.logs.campaign_table import CampaignTable
from minertia.notebook import stated

UNKNOWN = "?"  # a value of its own for each joint, fitted
SAME = "same"  # one value for all joints, fitted
LAWS = ("p", "pd", "pid", "voltage")
HOLDS = ("zero", "linear")
DELAYED = ("command", "effort")
REFERENCES = ("gains", "links", "load", "none")
INTEGRATORS = ("midpoint", "euler")
METHODS = ("output-error", "didim", "law")
LINKS = ("robot", "physical")
LARGEST = 1e12
LONGEST_DELAY = 1.0  # s
Gain: TypeAlias = "float | str"
Gains: TypeAlias = "Gain | tuple[Gain, ...]"


@dataclass(frozen=True, slots=True)
class Command:
    """The law of the joints' position loops, tau = kp (u - q) + ki int(u - q) + kd (ud - qd), within limits.

    law: "p", "pd", "pid", or "voltage" (a servo driven by its duty cycle: kd is back-EMF and outside the limit).  kp,
    ki, kd [N m/rad, N m/(rad s), N m s/rad; N and m]: a number for all joints or one each; "?" an unknown each, "same"
    one unknown for all.  velocity_reference: damping acts on the commanded less the measured velocity.  hold: how the
    command lasts between rows, "zero" or "linear".  delay [s], or "?" to fit it; delay_of: of the "command", or of the
    whole "effort" (a host closes the loop).  limit [N m, N] of the effort.  reference: what fixes the scale, "gains",
    "links" (masses of the robot's file), "load" (one that is known in some logs) or "none" (ratios to kp are told); by
    default the gains where they are known.
    method: "output-error" (simulated positions), "didim" or "law" (efforts of the law; quick).  integrator, step [s]:
    motion is simulated by the "midpoint" rule, its step halved as needed, or by MuJoCo's "euler" at MuJoCo's step, for
    values that are meant for it.  zeros [rad, m]: of the robot's file less those of the log (links are at q + zeros),
    "?" where encoders were not calibrated; they show in gravity alone.  leave_out_contact: stretches that nothing in
    the loop explains, as where the robot touches something, take no part in the fit.
    """

    law: str = "pd"
    kp: Gains = UNKNOWN
    kd: Gains = UNKNOWN
    ki: Gains = 0.0
    velocity_reference: bool = False
    hold: str = "zero"
    delay: Gain = UNKNOWN
    delay_of: str = "command"
    limit: float | tuple[float, ...] | None = None
    reference: str | None = None
    method: str = "output-error"
    integrator: str = "midpoint"
    step: float | None = None
    zeros: Gains = 0.0
    leave_out_contact: bool = True

    def __repr__(self) -> str:
        return stated(self)

    def __post_init__(self) -> None:
        expect_kinds(self)
        for what, value, known in (
            ("law of a position loop", self.law, LAWS),
            ("hold of a command", self.hold, HOLDS),
            ("thing that is delayed", self.delay_of, DELAYED),
            ("reference of the scale", self.reference or "gains", REFERENCES),
            ("method without efforts", self.method, METHODS),
            ("integrator", self.integrator, INTEGRATORS),
        ):
            if value not in known:
                raise UnknownName(what, value, known)
        for name in ("kp", "kd", "ki", "limit", "zeros"):
            value = getattr(self, name)
            if isinstance(value, Sequence) and not isinstance(value, str):
                object.__setattr__(self, name, tuple(value))
        _check_gains("kp", self.kp, positive=True)
        _check_gains("kd", self.kd)
        _check_gains("ki", self.ki)
        if self.limit is not None:
            _check_gains("limit", self.limit, positive=True, words=())
        _check_gains("zeros", self.zeros, signed=True, words=(UNKNOWN,))
        self._check_law()
        self._check_step()
        if self.delay != UNKNOWN and not (_is_number(self.delay) and abs(float(self.delay)) <= LONGEST_DELAY):
            raise MinertiaError(f'delay is a time of at most {LONGEST_DELAY:g} s, or "?" to fit it, not {self.delay!r}')
        if self.delay_of == "effort" and self.delay != UNKNOWN and float(self.delay) < 0:
            raise MinertiaError("an effort cannot act before it is asked for: its delay is at least 0")

    def _check_step(self) -> None:
        if self.step is not None and not (_is_number(self.step) and 1e-5 <= self.step <= 0.02):
            raise MinertiaError(f"step is a time between 1e-5 and 0.02 s, not {self.step!r}")
        if self.integrator == "euler" and self.step is None:
            raise MinertiaError("the integrator euler needs the simulator's own step, such as step = 0.001")

    def _check_law(self) -> None:
        """Gains that the law does not have must not be stated."""
        if self.law == "p" and self.kd == UNKNOWN:
            object.__setattr__(self, "kd", 0.0)
        if self.law == "p" and self.kd != 0:
            raise MinertiaError('the law "p" has no kd; state law = "pd"')
        if self.law != "pid" and self.ki != 0:
            raise MinertiaError(f'the law "{self.law}" has no ki; state law = "pid"')

    def each(self, name: str, n: int) -> tuple[Gain, ...]:
        """A gain or limit for each of n joints."""
        value = getattr(self, name)
        if not isinstance(value, tuple):
            return (value,) * n
        if len(value) != n:
            raise CampaignError(f"command.{name} has {len(value)} values where the robot has {n} coordinates")
        return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _check_gains(
    name: str, given: Any, *, positive: bool = False, signed: bool = False, words: Iterable[str] = (UNKNOWN, SAME)
) -> None:
    for value in given if isinstance(given, tuple) else (given,):
        if isinstance(value, str) and value in words:
            continue
        if (
            not _is_number(value)
            or not (0 <= (abs(value) if signed else value) <= LARGEST)
            or (positive and value == 0)
        ):
            allowed = "".join(f', or "{word}"' for word in words)
            raise MinertiaError(
                f"{name} is {'a positive' if positive else 'a non-negative'} number{allowed}, not {value!r}"
            )


COMMAND_KEYS = tuple(Command.__dataclass_fields__)


def parse_command(table: CampaignTable) -> Command:
    """The command of a table [command], in which a question mark stands for what is fitted."""
    table.only(COMMAND_KEYS)
    given: dict[str, Any] = {}
    for key in table:
        if key in ("velocity_reference", "leave_out_contact"):
            given[key] = table.flag(key, key == "leave_out_contact")
        elif key in ("law", "hold", "delay_of", "reference", "method", "integrator"):
            given[key] = table.text(key)
        else:
            value = table.entries[key]
            given[key] = tuple(value) if isinstance(value, list) else value
    try:
        return Command(**given)
    except MinertiaError as err:
        raise table.fail(str(err)) from None
