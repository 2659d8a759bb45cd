"""Options of the code to be generated: its target and its programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from minertia.io.errors import InputError
from minertia.io.schema import Declared, check, option


def _targets() -> Iterable[str]:
    from minertia.codegen.generate import TARGETS

    return TARGETS


def _titles() -> Mapping[str, str]:
    from minertia.codegen.generate import TARGETS

    return {name: target.title for name, target in TARGETS.items()}


def _programs() -> Iterable[str]:
    from minertia.codegen.programs import BUILDERS

    return BUILDERS


def _program_titles() -> Mapping[str, str]:
    """Programs in words: names of people keep their capitals."""
    words = {name: name.replace("_", " ") for name in _programs()}
    people = (("slotine li", "Slotine-Li"), ("jacobian", "Jacobian"), ("coriolis", "Coriolis"))
    for small, written in people:
        words = {name: text.replace(small, written) for name, text in words.items()}
    return words


@dataclass(frozen=True, repr=False)
class CodePrograms(Declared):
    """Programs to generate or count for a robot."""

    programs: tuple[str, ...] | None = option(
        None,
        "Programs to generate (docs/programs.md).",
        choices=_programs,
        titles=_program_titles,
        command="programs",
        otherwise="those of the target",
        kw_only=True,
    )

    def __post_init__(self) -> None:
        check(self)
        if self.programs is not None and not self.programs:
            raise InputError("--programs names no program; name at least one, or omit the option")


@dataclass(frozen=True, repr=False)
class CodeFiles(CodePrograms):
    """Target and programs of the code to be generated."""

    target: str = option("c", "Target of the code.", choices=_targets, titles=_titles, command="target")
