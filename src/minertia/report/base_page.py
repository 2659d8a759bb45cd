"""The page of a robot's base parameters."""

from __future__ import annotations

from minertia.base.grouping import FORMAT, BaseParameters
from minertia.report.html import (
    bullets,
    escape,
    facts,
    markup_table,
    number,
    page,
    paragraph,
    parameter_name,
    relation,
    scrolling,
    section,
    text_table,
    units,
)
from minertia.report.tables import class_counts, joint_table, kinds_text, moving_mass, symbol_table, unit_of
from minertia.report.words import CLASS_WORDS, certificate_sentences
from minertia.robot.effects import ROTOR_SYMBOLS, STANDARD_SYMBOLS
from minertia.robot.parameters import split_name
from minertia.version import __version__

ROUNDING = 1e-15
MARKS = {"alone": "\u25cf", "combination": "+", "none": "\u2013"}


def base_page(base: BaseParameters, frames: str = "joint") -> str:
    """One self-contained HTML page; frames: "joint" or "file", in which the classes are given."""
    title = f"Base parameters of {base.robot.name}"
    body = "".join(
        (
            _head(base, title, frames),
            section("What can be seen of each standard parameter", _classes(base, frames)),
            section("Base parameters", _reading(base), _parameters(base)),
            section("Certificate", bullets(certificate_sentences(base))),
            section("Robot", text_table(joint_table(base.robot)), _frames_note()) if base.robot.n_joints else "",
            _letters(base),
            section("How this page was made", _made(base, frames)),
        )
    )
    return page(title, body, kind="base", format_version=FORMAT, style=_STYLE)


def _head(base: BaseParameters, title: str, frames: str) -> str:
    robot, counts = base.robot, class_counts(base, frames)
    mass = moving_mass(robot)
    pairs: dict[str, object] = {
        "base parameters": base.count,
        "standard parameters": len(base.columns),
        "alone / combined / unseen": " / ".join(str(n) for n in counts.values()),
        "joints": f"{robot.n_joints} ({kinds_text(robot)})" if robot.n_joints else "none",
        "base": robot.base,
    }
    if mass is not None:
        pairs["moving mass"] = f"{mass:.4g} kg"
    lead = "The smallest set of combinations that determines every joint effort; rank confirmed numerically."
    return f'<header>\n<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>\n{facts(pairs)}</header>\n'


def _reading(base: BaseParameters) -> str:
    missing = base.robot.missing_links
    if not base.robot.has_parameters:
        return paragraph("The robot's file gives no masses, so there are no nominal values.")
    if missing:
        return paragraph(f"Nominal values count links without parameters as massless: {', '.join(missing)}.")
    return ""


def _parameters(base: BaseParameters) -> str:
    values = _nominal(base) if base.robot.has_parameters else None
    flagged = any(base.is_numeric)
    headers = ["parameter", "relation", "unit", *(["nominal"] if values is not None else [])]
    rows = []
    for k, (name, written) in enumerate(base.relation_texts().items()):
        mark = ' <span class="flag">numeric</span>' if base.is_numeric[k] else ""
        row = [parameter_name(name), relation(written) + mark, units(escape(unit_of(base.robot, name)))]
        rows.append(row if values is None else [*row, number(values[k])])
    whose = "the values drawn for its letters" if base.drawn else "this robot's numbers"
    note = paragraph(f"Relations marked numeric hold for {whose} only.") if flagged else ""
    return note + markup_table(headers, rows, right=(3,), styles={1: "relation", 2: "unit"})


def _nominal(base: BaseParameters) -> list[float]:
    """Values, with 0 for what is only the rounding of a sum."""
    values = base.values()
    chi = [abs(v) for v in base.robot.parameter_vector(rotors=True, friction=True)]
    noise = ROUNDING * max(chi, default=0.0)
    return [0.0 if abs(v) < noise else float(v) for v in values]


def _classes(base: BaseParameters, frames: str) -> str:
    classes = base.classes(frames)
    symbols = list(dict.fromkeys(split_name(name)[0] for name in base.columns))
    links = sorted({split_name(name)[1] for name in base.columns})
    rows = [[_link_label(base, link), *(_cell(classes, symbol, link) for symbol in symbols)] for link in links]
    counts = class_counts(base, frames)
    legend = "".join(
        f'<span class="key {kind}"><b aria-hidden="true">{MARKS[kind]}</b> {kind}: {words} ({counts[kind]})</span>\n'
        for kind, words in CLASS_WORDS.items()
    )
    where = "the joint frames" if frames == "joint" else "the description file's own link frames"
    intro = f"<p>Standard parameters in {where}, link by link.</p>\n"
    return f'{intro}<p class="legend">{legend}</p>\n' + '<div class="grid">' + _grid(symbols, rows) + "</div>\n"


def _grid(symbols: list[str], rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(symbol)}</th>' for symbol in symbols)
    lines = "".join(f'<tr><th scope="row">{row[0]}</th>{"".join(row[1:])}</tr>\n' for row in rows)
    top = f'<thead><tr><th scope="col">link</th>{head}</tr></thead>'
    return scrolling(f"{top}\n<tbody>\n{lines}</tbody>\n")


def _cell(classes: dict[str, str], symbol: str, link: int) -> str:
    kind = classes.get(f"{symbol}{link}")
    if kind is None:
        return "<td></td>"
    hidden = f'<span class="hidden">{symbol}{link} {kind}</span>'
    mark = f'<span aria-hidden="true">{MARKS[kind]}</span>'
    return f'<td class="{kind}" title="{symbol}{link}: {kind}">{mark}{hidden}</td>'


def _link_label(base: BaseParameters, link: int) -> str:
    if link == 0:
        return "0 <small>base</small>"
    joint = base.robot.joints[link - 1]
    return f"{link} <small>{escape(joint.link or joint.name)}</small>"


def _frames_note() -> str:
    text = (
        "Position and axes of each joint's frame are given in the frame of what carries it, at joint position 0; "
        "the joint turns about or slides along z."
    )
    return f'<p class="lead">{escape(text)}</p>\n'


def _letters(base: BaseParameters) -> str:
    return section("Letters", text_table(symbol_table(base.robot))) if base.robot.symbols else ""


def _made(base: BaseParameters, frames: str) -> str:
    return facts(base_facts(base, frames))


def base_facts(base: BaseParameters, frames: str) -> dict[str, object]:
    """How base parameters were found."""
    symbols = {split_name(name)[0] for name in base.columns}
    pairs: dict[str, object] = {
        "minertia": __version__,
        "page format": FORMAT,
        "method": base.method,
        "rotor inertias": "yes" if "IA" in symbols else "no",
        "friction and offsets": "yes" if symbols & set(STANDARD_SYMBOLS) - set(ROTOR_SYMBOLS) else "no",
        "gravity [m/s\u00b2]": "(" + ", ".join(f"{g:g}" for g in base.robot.gravity) + ")",
        "classes in": f"{frames} frames",
        "random states": f"{base.certificate.states}, seed {base.certificate.seed}",
    }
    if base.robot.source:
        pairs["robot file"] = base.robot.source
    return pairs


_STYLE = """
.flag{font-size:.75rem;border:1px solid var(--warn);color:var(--warn);border-radius:.3rem;padding:0 .35rem}
.legend{display:flex;flex-wrap:wrap;gap:.5rem}
.key{border:1px solid var(--line);border-radius:.4rem;padding:.15rem .6rem;color:var(--ink)}
.alone{background:var(--alone)}.combination{background:var(--combination)}
.none{background:var(--none);color:var(--soft)}
.grid table{border-collapse:separate;border-spacing:3px}
.grid tbody tr:nth-child(even){background:none}
.grid th{border:0;padding:.2rem .5rem;white-space:nowrap}
.grid td{border:0;border-radius:.25rem;text-align:center;min-width:2.4rem;padding:.25rem}
.grid small{font-weight:400}
@media (max-width:40rem){.grid td{min-width:1.7rem}.grid th{padding:.2rem}.grid table{border-spacing:2px}}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
"""
