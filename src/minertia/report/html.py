"""Self-contained HTML pages: at most one script of their own, no request to anywhere, printable, everything escaped."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence

from minertia.report.tables import Table
from minertia.version import __version__

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_TOKEN = re.compile(
    r"(?P<number>\d+\.?\d*(?:e[+-]?\d+)?)|(?P<function>cos|sin|tan)(?=\()|(?P<name>[A-Za-z]\w*)|\*\*(?P<power>\d+)|(?P<other>.)",
    re.DOTALL,
)
_PLAIN: Mapping[int, str] = {}
_SIGNS = {"*": "\u2009\u00d7\u2009", "-": "\u2212"}


def escape(text: object) -> str:
    """Text as it may stand anywhere in a page; control characters become visible."""
    return html.escape("".join(c if c.isprintable() or c == "\n" else f"\\x{ord(c):02x}" for c in str(text)))


def page(title: str, body: str, *, kind: str, format_version: int, style: str = "", script: str = "") -> str:
    """A whole page; `kind` and `format_version` say in the head what it holds.

    script: the only one the page allows itself; text from files must never be part of it.
    """
    policy = _POLICY + (f"; script-src 'sha256-{_digest(script)}'" if script else "")
    tail = f"<script>{script}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="minertia {escape(__version__)}">\n'
        f'<meta name="minertia-page" content="{escape(kind)}">\n'
        f'<meta name="minertia-format" content="{format_version}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}</main>\n{tail}</body>\n</html>\n"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def section(title: str, *parts: str) -> str:
    """A heading and what stands under it."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(parts)}</section>\n"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>\n"


def bullets(sentences: Sequence[str]) -> str:
    """A list of plain sentences; what stands before a colon is set bold."""
    items = []
    for sentence in sentences:
        head, colon, rest = sentence.partition(": ")
        items.append(f"<li><b>{escape(head)}:</b> {escape(rest)}</li>\n" if colon else f"<li>{escape(sentence)}</li>\n")
    return f"<ul>\n{''.join(items)}</ul>\n"


def facts(pairs: Mapping[str, object]) -> str:
    """A short list of named values."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>\n" for name, value in pairs.items())
    return f"<dl>\n{rows}</dl>\n"


def text_table(table: Table) -> str:
    """A table of plain text."""
    return markup_table(table.headers, [[escape(cell) for cell in row] for row in table.rows], table.right)


def markup_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = (), styles: Mapping[int, str] = _PLAIN
) -> str:
    """A table whose cells are already markup; it scrolls on its own where the screen is narrow."""

    def classes(c: int) -> str:
        style = "number" if c in right else styles.get(c)
        return f' class="{style}"' if style else ""

    head = "".join(f'<th scope="col"{classes(c)}>{units(escape(name))}</th>' for c, name in enumerate(headers))
    lines = ("".join(f"<td{classes(c)}>{cell}</td>" for c, cell in enumerate(row)) for row in rows)
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return scrolling(f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n")


def scrolling(rows: str) -> str:
    """A table in a box of its own, reachable by keyboard, that scrolls where the screen is narrow."""
    return f'<div class="scroll" tabindex="0"><table>\n{rows}</table></div>\n'


def units(text: str) -> str:
    """Powers in a unit set high: kg m2 as kg m²."""
    return text.replace("m2", "m\u00b2").replace("s2", "s\u00b2")


def parameter_name(name: str) -> str:
    """XXR3 as XX with a low R3; the minimal combination U33_2 as U33 with a low 2."""
    if "_" in name:
        stem, _, low = name.rpartition("_")
        stem = re.sub(r"(?<=U11)m(?=U22)", "\u2212", stem)
        return f"<i>{escape(stem)}</i><sub>{escape(low)}</sub>"
    match = re.fullmatch(r"([A-Za-z]+?)(R?\d+)", name)
    return f"<i>{escape(match[1])}</i><sub>{match[2]}</sub>" if match else f"<i>{escape(name)}</i>"


def relation(text: str) -> str:
    """A relation such as XX3 - D4**2*M4 typeset with low and high numbers and multiplication signs."""
    return "".join(_token(match) for match in _TOKEN.finditer(text))


def _token(match: re.Match[str]) -> str:
    kind, token = match.lastgroup, match[match.lastgroup or 0]
    if kind == "name":
        return parameter_name(token)
    if kind == "power":
        return f"<sup>{token}</sup>"
    if kind == "number":
        return number(float(token), 7)
    return _SIGNS.get(token, escape(token))


def number(value: float, digits: int = 5) -> str:
    """A number to some digits, a power of ten set high."""
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    mantissa = mantissa.replace("-", "\u2212")
    return f"{mantissa}\u00d710<sup>{str(int(power)).replace('-', chr(0x2212))}</sup>" if power else mantissa


_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--paper:#fff;--band:#f3f5f7;--line:#d0d7de;--mark:#0b5cad;
--alone:#9ed0f5;--combination:#ffd58a;--none:#eceff2;--warn:#8a3c00}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#a3adb8;--paper:#12161b;--band:#1b2129;--line:#343d48;
--mark:#79b8ff;--alone:#135a94;--combination:#7d5200;--none:#232a33;--warn:#ffb168}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
h1{font-size:1.7rem;line-height:1.25;margin:.2rem 0 .4rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.2rem 0 .5rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}
p,ul{max-width:60rem}
.lead{color:var(--soft);margin:.1rem 0 1rem}
.scroll{overflow-x:auto;max-width:100%}.scroll+p{margin-top:.6rem}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;text-align:left;vertical-align:top}
th{font-weight:600;color:var(--soft);border-bottom:2px solid var(--line);white-space:nowrap}
tbody tr:nth-child(even){background:var(--band)}
td{border-bottom:1px solid var(--line)}
.number{text-align:right;white-space:nowrap}
.unit{white-space:nowrap;color:var(--soft)}.relation{min-width:15rem}
td i{font-style:italic}
sub,sup{font-size:.72em;line-height:0}
dl{display:flex;flex-wrap:wrap;gap:.5rem;margin:.8rem 0}
dl div{background:var(--band);border:1px solid var(--line);border-radius:.4rem;padding:.35rem .8rem;max-width:100%}
dt{font-size:.78rem;color:var(--soft)}
dd{margin:0;font-weight:600;overflow-wrap:anywhere}
footer{margin-top:2.5rem;color:var(--soft);font-size:.88rem}
@media (max-width:40rem){main{padding:1rem .8rem 3rem}h1{font-size:1.35rem}th,td{padding:.25rem .4rem}}
@media print{:root{--ink:#000;--soft:#333;--paper:#fff;--band:#f6f6f6;--line:#999;--mark:#000;--alone:#9ed0f5;
--combination:#ffd58a;--none:#eceff2;--warn:#000}body{font-size:10.5pt}main{max-width:none;padding:0}
.scroll{overflow:visible}tr,dl div{break-inside:avoid}h2{break-after:avoid}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""
