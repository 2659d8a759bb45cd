"""Context of a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minertia.robot.files import read_robot
from minertia.robot.robot import Robot
from minertia.studio.project import RUNS, Project

Progress = Callable[..., None]  # called with a step, a part of the whole from 0 to 1 or None, and numbers to show


@dataclass(frozen=True)
class JobWork:
    """One job: the project, its output folder, its settings, and the progress callback.

    made_of: robot and campaign at the time of the request, whatever is chosen meanwhile.
    """

    project: Project
    out: Path
    settings: Mapping[str, Any]
    tell: Progress
    made_of: Mapping[str, Any] = field(default_factory=dict)

    @property
    def robot_name(self) -> str:
        """Bundled name or path of the job's robot."""
        name = self.made_of.get("robot", {}).get("name")
        return self.project.robot_name() if name is None else self.project.robot_place(name)

    @property
    def titles(self) -> dict[str, str]:
        """Titles of logs by the names of their files."""
        return {file.path.name: file.title for file in self.project.files() if file.kind == "log"}

    def robot(self, model: object = None) -> Robot:
        """Robot of an identified model by its key, else the chosen robot, without symbols."""
        path = self.project.file(str(model), "model").path if model else self.robot_name
        return read_robot(path, letters=False)

    def robot_title(self, model: object = None) -> str:
        """Title of an identified model by its key; without a model, a generic name of the robot file."""
        if not model:
            return "the robot file"
        title = self.project.file(str(model), "model").title
        parts = title.split("/")
        return f"model of {parts[1]}" if parts[0] == RUNS and len(parts) > 2 else title
