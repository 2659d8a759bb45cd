"""Meshes that are dropped have no folders: two of one name are never taken for one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from minertia.io.errors import InputError
from minertia.studio.project import Project

ROBOT = """<robot name="arm"><link name="a">
<visual><geometry><mesh filename="package://arm/visual/{first}"/></geometry></visual>
<collision><geometry><mesh filename="package://arm/collision/{second}"/></geometry></collision>
</link></robot>"""


def dropped(project: Project, kind: str, title: str, content: str, meshes: tuple[str, ...] = ()) -> str:
    upload = project.upload(kind, title, meshes)
    with upload.open() as file:
        file.write(content.encode())
    return upload.close().key


def test_two_meshes_of_one_name(tmp_path: Path) -> None:
    project = Project(tmp_path)
    first = dropped(project, "mesh", "link1.stl", "solid visual")
    second = dropped(project, "mesh", "Link1.STL", "solid collision")
    with pytest.raises(InputError, match=r"two meshes are called .*unique names"):
        dropped(project, "robot", "arm.urdf", ROBOT.format(first="link1.stl", second="link1.stl"), (first, second))
    assert not [file for file in project.files() if file.kind == "robot"]


def test_one_mesh_for_two_paths(tmp_path: Path) -> None:
    """It may be either of them."""
    project = Project(tmp_path)
    only = dropped(project, "mesh", "link1.stl", "solid visual")
    with pytest.raises(InputError, match=r"refers to both 'package://arm/visual/link1.stl' and .*collision/link1.stl'"):
        dropped(project, "robot", "arm.urdf", ROBOT.format(first="link1.stl", second="link1.stl"), (only,))
    assert not [file for file in project.files() if file.kind == "robot"]


def test_meshes_of_their_own_names_and_copies(tmp_path: Path) -> None:
    project = Project(tmp_path)
    keys = tuple(dropped(project, "mesh", name, f"solid {name}") for name in ("shown.stl", "hull.stl"))
    same = dropped(project, "mesh", "shown.stl", "solid shown.stl")
    key = dropped(project, "robot", "arm.urdf", ROBOT.format(first="shown.stl", second="hull.stl"), (*keys, same))
    text = project.file(key, "robot").path.read_text()
    names = [project.file(k, "mesh").path.name for k in (*keys, same)]
    assert names[1] in text and (names[0] in text or names[2] in text) and "package://" not in text
