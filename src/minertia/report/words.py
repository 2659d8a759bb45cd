"""Results in sentences: what a certificate says, what a class means."""

from __future__ import annotations

from minertia.algebra.show import text
from minertia.base.certificate import DIGITS
from minertia.base.grouping import BaseParameters

CLASS_WORDS = {
    "alone": "can be found by itself",
    "combination": "shows only in sums with others",
    "none": "never shows in any joint effort",
}


def certificate_sentences(base: BaseParameters) -> tuple[str, ...]:
    """What was checked and what came out, one sentence each."""
    c = base.certificate
    wide = f" {c.digits} digits decided it, where 16 left doubt." if c.digits != DIGITS else ""
    return (
        f"Rank: at {c.states} random states (seed {c.seed}) the regressor over all {len(base.columns)} standard "
        f"parameters has rank {c.rank} for {base.count} base parameters, so none is missing and none is superfluous.",
        f"Gap: the smallest singular value that counts is {c.gap:.1e} times the largest that does not, or its "
        f"rounding; the rank is beyond doubt.{wide}",
        "Reconstruction: efforts computed from the base parameters differ from those of all standard parameters "
        f"by at most {c.error:.1e} of the longest column of a kind, at these states and at others.",
        *_letters_sentence(base),
        _numeric_sentence(base),
        *_divisors_sentence(base),
    )


def _letters_sentence(base: BaseParameters) -> tuple[str, ...]:
    redrawn = base.certificate.redrawn
    if redrawn is None:
        return ()
    own = redrawn.count == base.count and not any(base.is_numeric)
    checked = "the relations" if own else f"the {redrawn.count} relations of the rules"
    sentence = (
        f"Letters: at a second draw of all {len(redrawn.values)} letters {checked} hold to {redrawn.error:.1e}, and "
        f"the rank there is {redrawn.rank}"
    )
    special = redrawn.rank != base.count
    return (sentence + ("; the robot's own numbers are special." if special else "."),)


def _divisors_sentence(base: BaseParameters) -> tuple[str, ...]:
    names = [text(divisor) for divisor in base.divisors]
    return (f"Divisors: the relations hold where {', '.join(names)} is not zero.",) if names else ()


def _numeric_sentence(base: BaseParameters) -> str:
    numeric = [name for name, flag in zip(base.names, base.is_numeric, strict=True) if flag]
    if not numeric:
        return "Relations: all of them follow from the rules; none had to be added numerically."
    names = ", ".join(numeric[:8]) + (f" and {len(numeric) - 8} more" if len(numeric) > 8 else "")
    drawn = ", ".join(f"{name} = {value:.6g}" for name, value in base.drawn.items())
    whose = f"for the values drawn for its letters only, {drawn}" if drawn else "for this robot's numbers only"
    return f"Relations: {len(numeric)} hold coefficients found numerically, {whose} ({names})."
