"""What a job is given to work with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from minertia.studio.project import Project

Progress = Callable[..., None]  # called with a step, a part of the whole from 0 to 1 or None, and numbers to show


@dataclass(frozen=True)
class JobWork:
    """One job: the project, the folder for what it writes, what was asked, and whom to tell.

    made_of: robot and campaign that it was asked for, whatever is chosen meanwhile.
    """

    project: Project
    out: Path
    settings: Mapping[str, Any]
    tell: Progress
    made_of: Mapping[str, Any] = field(default_factory=dict)

    @property
    def robot_name(self) -> str:
        """How the robot of the job is read: a bundled name, or a path."""
        name = self.made_of.get("robot", {}).get("name")
        return self.project.robot_name() if name is None else self.project.robot_place(name)

    @property
    def titles(self) -> dict[str, str]:
        """Titles of logs by the names of their files."""
        return {file.path.name: file.title for file in self.project.files() if file.kind == "log"}

    def robot(self, model: object = None) -> Robot:
        """The robot of an identified model by its key, else the one that was chosen, in numbers."""
        path = self.project.file(str(model), "model").path if model else self.robot_name
        return read_robot(path, letters=False)

    def robot_title(self, model: object = None) -> str:
        """What people call it."""
        return self.project.file(str(model), "model").title if model else "the robot's file"
