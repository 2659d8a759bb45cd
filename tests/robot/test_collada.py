"""Meshes in COLLADA files: points where the scene puts them, and odd files that do no harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.robot.formats.mesh import collada_points, mesh_points
from minertia.robot.shapes import UNREAD, file_pieces

CORNERS = np.array([(x, y, z) for x in (0, 10) for y in (0, 20) for z in (0, 30)], float)
FILE = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="cube"><mesh>
<source id="p"><float_array id="pa" count="24">{numbers}</float_array><technique_common>
<accessor source="#pa" count="8" stride="3"><param name="X" type="float"/></accessor></technique_common></source>
<source id="n"><float_array id="na" count="3">7 7 7</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
<p>0 0 1 0 2 0</p></triangles></mesh></geometry></library_geometries>
{scene}</COLLADA>"""
SCENE = """<library_nodes><node id="part"><instance_geometry url="#cube"/></node></library_nodes>
<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene>"""


def file(nodes: str | None, numbers: str | None = None) -> bytes:
    text = " ".join(f"{v:g}" for v in CORNERS.ravel()) if numbers is None else numbers
    scene = "" if nodes is None else SCENE.format(nodes=nodes)
    return FILE.format(numbers=text, scene=scene).encode()


def test_points_stand_where_the_scene_puts_them() -> None:
    """Moved, then turned, then scaled, as they are written; twice, once through a node that is named; centimetres."""
    nodes = """<node><translate>100 0 0</translate><rotate>0 0 1 90</rotate><scale>2 1 1</scale>
    <node><instance_geometry url="#cube"/></node></node>
    <node><matrix>1 0 0 0 0 1 0 0 0 0 1 -50 0 0 0 1</matrix><instance_node url="#part"/></node>"""
    found = collada_points(file(nodes))
    x, y, z = (CORNERS * (2, 1, 1)).T
    first, second = np.column_stack([100 - y, x, z]), CORNERS - (0, 0, 50)
    assert found is not None
    np.testing.assert_allclose(found, 0.01 * np.vstack([first, second]), atol=1e-12)


def test_without_a_scene_meshes_stand_as_they_are() -> None:
    found = collada_points(file(None))
    assert found is not None
    np.testing.assert_allclose(found, 0.01 * CORNERS)
    empty = collada_points(file("<node/>"))
    assert empty is None


TWICE = "<node id='n{0}'><instance_node url='#n{1}'/><instance_node url='#n{1}'/></node>"
LAUGHS = "".join(TWICE.format(k, k + 1) for k in range(60))


@pytest.mark.parametrize(
    "data",
    [
        b"no XML at all",
        b"<robot/>",
        b"<COLLADA><asset>",
        b'<!DOCTYPE a [<!ENTITY b "c">]><COLLADA>&b;</COLLADA>',
        file('<node><matrix>1 2</matrix><instance_geometry url="#cube"/></node>'),
        file('<node id="a"><instance_node url="#a"/></node>'),  # shows itself
        file(LAUGHS),
        file(None, "1 2 3 four"),
        file(None, "1 2 3 4"),
        file(None, "1 2 nan"),
    ],
)
def test_odd_files_are_no_meshes(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.dae").write_bytes(data)
    assert mesh_points(tmp_path / "a.dae") is None


def test_a_robot_with_such_meshes_is_drawn_by_them(tmp_path: Path) -> None:
    text = "<robot name='a'><link name='g'/><link name='hand'><visual><origin xyz='0 0 1'/><geometry>"
    text += "<mesh filename='package://a/hand.DAE' scale='2 2 2'/></geometry></visual></link>"
    text += (
        "<joint name='j' type='continuous'><parent link='g'/><child link='hand'/><axis xyz='0 0 1'/></joint></robot>"
    )
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "robot.urdf").write_text(text)
    robot = read_robot(tmp_path / "a" / "robot.urdf")
    (piece,) = file_pieces(robot)
    assert piece.kind == UNREAD
    (tmp_path / "a" / "hand.DAE").write_bytes(file('<node><instance_geometry url="#cube"/></node>'))
    (piece,) = file_pieces(robot)
    assert piece.points is not None
    np.testing.assert_allclose(piece.points, 0.02 * CORNERS + (0, 0, 1))
