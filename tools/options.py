"""Write what is made of the declarations of options: tables of the documentation, and types and forms of the studio.

python -m tools.options            writes them
python -m tools.options --check    ends with 1 and names the files that are not as they would be written
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from minertia.identification.campaigns.campaign import Log
from minertia.identification.campaigns.read import file_options
from minertia.identification.estimators import ESTIMATORS, estimator_class, estimator_options
from minertia.identification.loads.load import Load
from minertia.schema import REQUIRED, Option, options

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("campaign.md", "output-error.md", "elastic.md")
PLACE = re.compile(r"(<!-- options: (\S+) -->\n)(.*?)(<!-- end of options -->)", re.DOTALL)


def table_of(name: str) -> str:
    """The table of a page: of a table of campaign files, "top", "entry", "load" or "estimators"."""
    if name == "estimators":
        return estimator_table()
    own = {"entry": Log, "load": Load}
    found = options(own[name]) if name in own else file_options()["" if name == "top" else name].values()
    rows = [(f"`{one.key}`", one.help.removesuffix("."), values(one), default(one)) for one in found]
    return rows_of(("key", "meaning", "values", "default"), rows)


def estimator_table() -> str:
    """Every estimator with its options."""
    rows = []
    for name in ESTIMATORS:
        about = (estimator_class(name).__doc__ or "").split("\n\n")[0]
        own = [
            f"`{one.key}`: {one.help.removesuffix('.')} ({values(one)}; default {default(one)})"
            for one in estimator_options(name)
        ]
        rows.append((f"`{name}`", " ".join(about.split()).removesuffix("."), "; ".join(own)))
    return rows_of(("name", "what it does", "options"), rows)


def rows_of(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def values(one: Option) -> str:
    """The values of an option, for a table."""
    if one.kind.is_free or one.kind.is_mapping or one.kind.record is not None:
        return ""
    return one.must if one.choices or one.kind.scalars != {"text"} else ""


def default(one: Option) -> str:
    """The default of an option, for a table."""
    if one.otherwise:
        return one.otherwise
    if one.default is REQUIRED:
        return "required"
    return "none" if one.default in (None, (), "") else f"`{literal(one.default)}`"


def literal(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def page(text: str) -> str:
    """A page with its tables anew."""
    return PLACE.sub(lambda found: f"{found[1]}{table_of(found[2])}{found[4]}", text)


def written() -> dict[Path, str]:
    """Every file with declarations in it, as it should be."""
    pages = {ROOT / "docs" / name: page((ROOT / "docs" / name).read_text(encoding="utf-8")) for name in PAGES}
    return pages


def main(check: bool) -> int:
    """Write the files, or name those that differ."""
    different = [path for path, text in written().items() if path.read_text(encoding="utf-8") != text]
    for path in different:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
        if not check:
            path.write_text(written()[path], encoding="utf-8")
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
