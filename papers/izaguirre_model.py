"""The identified model of the PUMA 260 against what others measured, and the code that is generated from it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from minertia.codegen.generate import count_programs, generate
from minertia.codegen.options import CodeModel
from papers.page import Page, of_program, operations
from papers.puma260 import DRIVES, Campaign, campaign, puma

GRAVITY = 9.81
COEFFICIENTS = {  # section 7.1, N m: what each multiplies, Lloyd 1984, the paper
    "c12": ("cos(q2)", 5.509, 5.51792),
    "c13": ("sin(q2 + q3)", -1.1762, -1.176644),
    "c15": ("the hand about axis 5", -0.192, -0.13743),
}
PUBLISHED_COUNTS = {  # abstract and section 7.1: multiplications, additions
    ("coefficients", False): (98, 70),
    ("velocity_torque", False): (140, 110),
    ("coefficients", True): (190, 150),
    ("velocity_torque", True): (200, 170),
}
WORDS = {"coefficients": "D and g", "velocity_torque": "velocity torques"}
DIGITS = 6  # of the constants in the code that is shown
CONSTANT = re.compile(r"\b\d+\.\d{6,}\b")

# ------------------------------------------------------------------ gravity coefficients and frictions


def gravity_coefficients(c: Campaign, significant: bool) -> dict[str, float]:
    """The three coefficients [N m] from the identified first moments."""
    value = dict(zip(c.result.linear.names, c.beta(significant), strict=True))
    return {"c12": GRAVITY * value["MXR2"], "c13": -GRAVITY * value["MYR3"], "c15": -GRAVITY * value["MYR5"]}


def add_measured_before(page: Page) -> None:
    """The section on what others had measured."""
    page.heading("Gravity coefficients and frictions measured by others")
    c = campaign()
    found = [gravity_coefficients(c, significant) for significant in (False, True)]
    rows = [
        (name, what, f"{lloyd:g}", f"{paper:g}", *(f"{f[name]:.4f}" for f in found), _percent(found[1][name], lloyd))
        for name, (what, lloyd, paper) in COEFFICIENTS.items()
    ]
    head = ("coefficient [N m]", "of", "Lloyd 1984", "the paper", "ours, all", "ours, significant", "ours to Lloyd")
    page.table(head, rows)
    page.text(
        "The bundled arm was given Lloyd's coefficients, so the last column is the error of our identification; the "
        f"paper's own differ from Lloyd's by {_percent(5.51792, 5.509)}, {_percent(-1.176644, -1.1762)} and "
        f"{_percent(-0.13743, -0.192)}. **Table 3** set the frictions of the "
        "paper beside those that Lloyd had measured on the same robot. Both columns are lost, and the text gives none "
        "of their numbers, only that they almost agree; so nobody can write it anew. In its place the frictions that "
        "we estimate with the significant parameters beside the true ones, which must agree in the same sense:"
    )
    value = dict(zip(c.result.linear.names, c.beta(True), strict=True))
    rows = [
        (f"joint {j + 1}", *(f"{x:.4g}" for s in ("FC", "FV") for x in (value[f"{s}{j + 1}"], DRIVES[s][j])))
        for j in range(6)
    ]
    page.table(("", "Coulomb [N m]", "true", "viscous [N m s/rad]", "true"), rows)


def _percent(value: float, reference: float) -> str:
    return f"{100 * (value / reference - 1):+.2f} %"


# ------------------------------------------------------------------ generated code


@cache
def counts(names: tuple[str, ...], payload: bool) -> dict[str, tuple[int, int, int]]:
    """Operations of the background programs with some parameters, with an arbitrary load or not."""
    programs = ("coefficients", "velocity_torque")
    found = count_programs(
        puma(), programs, model=CodeModel("base", rotors=True, payload=payload, essential=names, friction=False)
    )
    return {name: of_program(n) for name, n in found.counts.items()}


def inertial(names: Sequence[str]) -> tuple[str, ...]:
    """Without the frictions, which belong to the synchronous task."""
    return tuple(n for n in names if n[:2] not in ("FV", "FC"))


def add_code(page: Page) -> None:
    """The section on the code and its operations."""
    page.heading("Generated C and its operations")
    c = campaign()
    few, every = inertial(c.significance.essential), inertial(c.observation.names)
    rows = []
    for (program, payload), (m, a) in PUBLISHED_COUNTS.items():
        ours, full = counts(few, payload)[program], counts(every, payload)[program]
        title = f"{WORDS[program]}{', with an arbitrary load' if payload else ''}"
        rows.append((title, *map(operations, ((m, a), ours, full))))
    head = ("background task", "published (abstract)", f"ours, {len(few)} parameters", f"ours, all {len(every)}")
    page.table(head, rows)
    task = count_programs(puma(), ("synchronous",), model=CodeModel("base", rotors=True, friction=True)).counts[
        "synchronous"
    ]
    plain = count_programs(puma(), ("synchronous",)).counts["synchronous"]
    page.text(
        "Counted in the emitted C (S are sines and cosines, which the paper leaves out; sign changes are free). Rotor "
        "inertias are included; the sets of parameters are not the same, as the paper's are lost. The synchronous task "
        f"takes {plain['multiplications'] / 6:g} multiplications and {plain['additions'] / 6:g} additions per joint "
        f"(published: six and six), {task['multiplications'] / 6:g} and {task['additions'] / 6:g} with friction. "
        "Appendix A is lost, and nobody can write it anew: its numbers are the values of table 2, which are lost, too. "
        f"In its place the gravity torques as generated from our campaign, their constants to {DIGITS} digits:"
    )
    page.code(_gravity_code(c), "c")


def _gravity_code(c: Campaign) -> str:
    with tempfile.TemporaryDirectory() as folder:
        generate(c.robot(True), folder, programs=("gravity",))
        text = next(Path(folder).glob("PUMA*.c"), next(Path(folder).glob("puma*.c"), None)).read_text(encoding="utf-8")
    start = text.index("void ")
    return CONSTANT.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text[start : text.index("\n}", start) + 2])
