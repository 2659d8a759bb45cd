"""Options of `minertia servo`."""

from __future__ import annotations

from dataclasses import dataclass

from minertia.io.schema import Declared, option

USUAL = ("m1", "m3", "m4")
NAMES = ("m1", "m2", "m3", "m4", "m5", "m6", "m4b")


@dataclass(frozen=True, slots=True, repr=False)
class ServoOptions(Declared):
    """Friction models that are compared, and what the firmware of the servo is known to do."""

    models: tuple[str, ...] = option(
        USUAL,
        "Friction models that are compared on runs left out: Coulomb (m1), with Stribeck friction (m2), with the load "
        "(m3), both (m4), with each side of the gear (m5), and with the square of the load (m6); m4 with backlash "
        "(m4b).",
        choices=NAMES,
        command="models",
        otherwise=",".join(USUAL),
    )
    error_gain: float = option(
        0.16489,
        "Duty cycle of a position error of 1 rad for a register of 1; that of a Feetech STS3215 unless given.",
        unit="1/rad",
        above=0,
        range=(0, 1e9),
        command="error-gain",
    )
    duty_limit: float = option(0.97, "Largest duty cycle.", above=0, range=(0, 1), command="duty-limit")
