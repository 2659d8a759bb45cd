"""`show`: a result or a robot as a page, in a notebook or in a file."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minertia.base.grouping import BaseParameters
from minertia.excitation.result import Excitation
from minertia.identification.comparison import ModelComparison
from minertia.identification.identify import Identification
from minertia.identification.loads.payload import Payload
from minertia.identification.significance import SignificantParameters
from minertia.io.errors import InputError
from minertia.io.files import write_file
from minertia.io.notebook import clipped
from minertia.report import pages
from minertia.robot.files import as_robot
from minertia.robot.robot import Robot

HEIGHT, LOW = 720, 410  # pixels of a page in a notebook, and of the view of a robot


@dataclass(frozen=True)
class ResultPage:
    """Self-contained page; a notebook shows it in an isolated frame."""

    title: str
    text: str = field(repr=False)
    height: int = HEIGHT

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page as a file; force: replace a file that minertia did not write, or that was edited since."""
        write_file(path, self.text, force=force)

    def _repr_html_(self) -> str:
        inside = html.escape(self.text, quote=True)
        return (
            f'<iframe sandbox="allow-scripts" title="{html.escape(self.title, quote=True)}" srcdoc="{inside}" '
            f'style="width:100%;height:{self.height}px;border:1px solid #8886;border-radius:6px"></iframe>'
        )


def show(result: Any) -> ResultPage:
    """Page of a robot in 3-D, or of a result with interactive plots.

    result: a robot, its path or bundled name, base parameters, an identification, an excitation trajectory, a
    payload, significant parameters, or a model comparison.  A notebook displays the page if the call is the
    last line of a cell.  A page is self-contained, a third of a megabyte or more: the tables that results
    display by themselves are smaller.
    """
    result = as_robot(result) if isinstance(result, str | Path) else result
    for kind, (word, made) in _KINDS.items():
        if isinstance(result, kind):
            height = LOW if isinstance(result, Robot) else HEIGHT
            return ResultPage(f"{word} {clipped(_name(result), 60)}".strip(), made(result), height)
    known = ", ".join(kind.__name__ for kind in _KINDS)
    raise InputError(f"there is no page for '{type(result).__name__}'; there are pages for {known}")


def _name(result: Any) -> str:
    robot = getattr(result, "robot", result)
    return str(getattr(robot, "name", robot if isinstance(robot, str) else ""))


_KINDS: dict[type, tuple[str, Callable[[Any], str]]] = {
    Robot: ("", pages.robot_page),
    BaseParameters: ("Base parameters of", pages.base_page),
    Identification: ("Identification of", lambda result: pages.fit_page(result, result.model())),
    Excitation: ("Exciting motion of", pages.motion_page),
    Payload: ("Load", pages.payload_page),
    SignificantParameters: ("Significant parameters of", pages.significance_page),
    ModelComparison: ("Two models", pages.comparison_page),
}
