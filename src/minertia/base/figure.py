"""The picture of base parameters: the gap in the singular values, and what can be seen of each standard parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from minertia.base.certificate import Certificate
from minertia.io.arrays import Array
from minertia.io.notebook import LIMIT, PREDICTED, REST, SMALL, panels
from minertia.robot.parameters import split_name

COLOURS = {"alone": "#9ed0f5", "combination": "#ffd58a", "none": "#eceff2"}
WORDS = {"alone": "identifiable alone", "combination": "in combination only", "none": "no effect on torques"}
FLOOR = 1e-18  # of the largest singular value: what is exactly 0 is drawn here


def base_figure(title: str, singular_values: Array, certificate: Certificate, classes: Mapping[str, str]) -> Any:
    """Singular values on the left, the class of each standard parameter on the right."""
    links = sorted({split_name(name)[1] for name in classes})
    rows = max(2, (len(links) + 1) // 2)
    figure, axes = panels(1, 2, title=title, width_ratios=(2, 3))
    figure.set_figheight(1.2 + 1.1 * rows)
    _singular_values(axes[0, 0], singular_values, certificate)
    _classes(axes[0, 1], classes, links)
    return figure


def _singular_values(ax: Any, s: Array, certificate: Certificate) -> None:
    rank = certificate.rank
    s = np.maximum(s, FLOOR * s.max(initial=1.0))
    number = np.arange(1, len(s) + 1)
    ax.semilogy(number[:rank], s[:rank], "o", markersize=3.5, color=PREDICTED, label=f"rank {rank}")
    ax.semilogy(number[rank:], s[rank:], "o", markersize=3.5, color=REST, label="rounding")
    ax.axvline(rank + 0.5, color=LIMIT, linewidth=0.9, linestyle="--", label=f"gap {certificate.gap:.1e}")
    ax.set_title("singular values of the regressor", fontsize=9)
    ax.set_xlabel("number", **SMALL)
    ax.legend(fontsize=7, loc="lower left")


def _classes(ax: Any, classes: Mapping[str, str], links: list[int]) -> None:
    symbols = list(dict.fromkeys(split_name(name)[0] for name in classes))
    ax.grid(False)
    ax.spines[:].set_visible(False)
    for name, kind in classes.items():
        symbol, link = split_name(name)
        x, y = symbols.index(symbol), links.index(link)
        ax.bar(x, 0.92, 0.92, bottom=y - 0.46, color=COLOURS[kind], label=WORDS[kind])
    ax.set_xticks(range(len(symbols)), symbols)
    ax.set_yticks(range(len(links)), [f"link {link}" if link else "base" for link in links])
    ax.set_xlim(-0.6, len(symbols) - 0.4)
    ax.set_ylim(len(links) - 0.4, -0.6)
    ax.tick_params(length=0, labelsize=8)
    ax.xaxis.tick_top()
    known = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ordered = [word for word in WORDS.values() if word in known]
    ax.legend([known[w] for w in ordered], ordered, fontsize=7, ncols=3, loc="upper center",
              bbox_to_anchor=(0.5, -0.01), frameon=False)  # fmt: skip
