"""A page of docs/papers/ put together piece by piece; figures that agree as far as they are shown give the same bytes.

So `make papers` changes nothing where only the processor, the compiler or the linear algebra is another one: what hangs
on the last bits of a number is not shown (`stable_svg`, `shown`), and no run or search may amplify them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from minertia.io.files import edit_file

matplotlib.use("svg")
matplotlib.rcParams.update(
    {"svg.hashsalt": "minertia", "svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}
)

import matplotlib.pyplot as plt  # noqa: E402  after the choice of the backend

FOLDER = Path(__file__).parents[1] / "docs" / "papers"
HASHED = re.compile(r"\b[a-z][0-9a-f]{10}\b")  # matplotlib names markers and clips by the bytes of their corners
LONG = re.compile(r"-?\d+\.\d{3,}")


def stable_svg(text: str) -> str:
    """A figure with coordinates to a hundredth of a point, its hashed names replaced by numbers."""
    hashed = dict.fromkeys(re.findall(rf'id="({HASHED.pattern})"', text))
    names = {name: f"{name[0]}{k}" for k, name in enumerate(hashed)}
    text = HASHED.sub(lambda found: names.get(found[0], found[0]), text)
    return LONG.sub(lambda found: f"{round(float(found[0]), 2) + 0.0:g}", text)


def shown(value: float, digits: int = 5, places: int = 6) -> str:
    """A number to so many digits, and to so many places behind the point at most."""
    size = int(np.floor(np.log10(abs(value)))) if value else 0
    return f"{value:.{min(max(digits - 1 - size, 0), places)}f}"


def below_limit(value: float, limit: float) -> str:
    """A number that should be nothing but rounding: that it is, or its size."""
    return f"below {limit:g}" if value < limit else f"{value:.1e}"


def operations(counts: Sequence[int]) -> str:
    """Multiplications, additions and, where they are counted, sines and cosines: 231M 219A 10S."""
    return " ".join(f"{number}{letter}" for number, letter in zip(counts, "MAS", strict=False))


def of_graph(found: Mapping[str, int]) -> tuple[int, int, int]:
    """Multiplications, additions, sines and cosines among the operations of a graph."""
    return found["*"], found["+"] + found["-"], found["sin"] + found["cos"]


def of_program(found: Mapping[str, int]) -> tuple[int, int, int]:
    """The same of a program whose C was counted."""
    return found["multiplications"], found["additions"], found["trigonometric"]


class Page:
    """One page: `name` is the file's stem, `source` the full reference of the paper."""

    def __init__(self, name: str, title: str, source: str) -> None:
        self.name = name
        self.parts = [
            f"# {title}",
            source,
            "This page is written by `make papers`; every figure of ours is computed anew.",
        ]
        self.figures: dict[str, Callable[[Path], None]] = {}

    def heading(self, text: str) -> None:
        """A section."""
        self.parts.append(f"## {text}")

    def text(self, text: str) -> None:
        """A paragraph in Markdown."""
        self.parts.append(text.strip())

    def code(self, text: str, language: str = "text") -> None:
        """A block, such as relations in letters."""
        self.parts.append(f"```{language}\n{text.rstrip()}\n```")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """A table; cells are shown with `str`."""
        lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
        self.parts.append("\n".join(lines))

    def figure(self, name: str, caption: str, draw: Callable[[Any], None], size: tuple[float, float] = (7, 3)) -> None:
        """A plot: `draw` gets a matplotlib figure; saved beside the page as SVG without a date."""
        stem = f"{self.name}-{name}.svg"

        def save(path: Path) -> None:
            figure = plt.figure(figsize=size, layout="constrained")
            draw(figure)
            text = io.StringIO()
            figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
            plt.close(figure)
            edit_file(path, stable_svg(text.getvalue()))

        self.figures[stem] = save
        self.parts.append(f"![{caption}](images/{stem})\n\n*{caption}*")

    def save(self, folder: Path) -> None:
        """The page and its figures; files of figures the page no longer has are removed."""
        images = folder / "images"
        images.mkdir(parents=True, exist_ok=True)
        for old in images.glob(f"{self.name}-*.svg"):
            if old.name not in self.figures:
                old.unlink()
        for stem, save in self.figures.items():
            save(images / stem)
        edit_file(folder / f"{self.name}.md", "\n\n".join(self.parts) + "\n")
