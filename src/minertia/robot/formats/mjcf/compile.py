"""Compilation of a trimmed MJCF document by MuJoCo, so that all options have MuJoCo's meaning."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.io.errors import DescriptionError
from minertia.io.extras import load
from minertia.io.files import reading
from minertia.robot.formats.mjcf.lean import Lean, mesh_key, mesh_path
from minertia.robot.formats.xml import Element, start_tag
from minertia.robot.robot import Note

MAX_MESH_BYTES = 200_000_000
MESHES = (".stl", ".obj", ".msh")


@dataclass(slots=True)
class Compiled:
    """Model compiled by MuJoCo; full_inertia: inertia matrices as written, by body name, before diagonalisation."""

    mujoco: Any
    model: Any
    lean: Lean
    full_inertia: dict[str, NDArray[np.float64]]


def compile_mjcf(lean: Lean, floating: bool = False) -> Compiled:
    """Compile the trimmed document; MuJoCo's errors are reported as one sentence.

    floating: whether a base that the file fixes will float, so that its inertia is needed as well.
    """
    mujoco: Any = load("mujoco", "sim")
    failures = (ValueError, TypeError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError)
    with _as_notes(mujoco, lean):
        try:
            spec = mujoco.MjSpec.from_string(to_text(lean.root))
            meshes = _only_inertial_geoms(mujoco, spec, lean, floating)
            full = {body.name: _matrix(body.fullinertia) for body in spec.bodies if not math.isnan(body.fullinertia[0])}
            if meshes:
                spec.assets = meshes
            model = spec.compile()
        except failures as err:
            raise _refusal(str(err), lean) from None
    return Compiled(mujoco, model, lean, full)


@contextmanager
def _as_notes(mujoco: Any, lean: Lean) -> Iterator[None]:
    """Context that records MuJoCo's warnings as notes instead of printing or logging them."""

    def note(text: str) -> None:
        lean.notes.append(Note("info", "MuJoCo", _one_line(text)))

    old = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(note)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            note(str(warning.message))
    finally:
        mujoco.set_mju_user_warning(old)


def to_text(root: Element) -> str:
    """XML text of a tree in which elements of the user's file, without includes, keep their line numbers."""
    parts: list[str] = []
    line = 1
    stack: list[Element | str] = [root]
    while stack:
        element = stack.pop()
        if isinstance(element, str):
            parts.append(element)
            continue
        if element.own and element.line > line:
            parts.append("\n" * (element.line - line))
            line = element.line
        parts.append(start_tag(element.tag, element.attributes, empty=not element.children))
        if element.children:
            stack.append(f"</{element.tag}>")
            stack.extend(reversed(element.children))
    return "".join(parts)


def _matrix(six: Any) -> NDArray[np.float64]:
    xx, yy, zz, xy, xz, yz = (float(v) for v in six)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# ------------------------------------------------------------------ geoms


def _only_inertial_geoms(mujoco: Any, spec: Any, lean: Lean, floating: bool) -> dict[str, bytes]:
    """Delete every geom that defines no inertia; returns the mesh files of the others, by MuJoCo's name."""
    needed: dict[str, bytes] = {}
    for geom in list(spec.geoms):
        if not _gives_inertia(mujoco, spec, geom, floating):
            spec.delete(geom)
        elif geom.meshname:
            _read_mesh(geom, lean, needed)
    names = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in names:
            spec.delete(mesh)
    return needed


def _gives_inertia(mujoco: Any, spec: Any, geom: Any, floating: bool) -> bool:
    body, compiler = geom.parent, spec.compiler
    mode = mujoco.mjtInertiaFromGeom
    if body.name == "world" or compiler.inertiafromgeom == mode.mjINERTIAFROMGEOM_FALSE:
        return False
    if compiler.inertiafromgeom == mode.mjINERTIAFROMGEOM_AUTO and body.explicitinertial:
        return False
    if _is_ground(body) and not floating and compiler.settotalmass <= 0:
        return False
    low, high = compiler.inertiagrouprange
    massless = geom.mass == 0 or (math.isnan(geom.mass) and geom.density == 0)
    return low <= geom.group <= high and not massless


def _is_ground(body: Any) -> bool:
    while body is not None and body.name != "world":
        if len(body.joints):
            return False
        body = body.parent
    return True


def _read_mesh(geom: Any, lean: Lean, needed: dict[str, bytes]) -> None:
    name, body = geom.meshname, geom.parent.name
    path = mesh_path(name, lean) if name in lean.files else None
    if name in lean.files and (path is None or path.suffix.lower() not in MESHES):
        node = lean.bodies.get(body)
        text = (
            f"body '{body}' has no <inertial>, so its inertia would be computed from the mesh "
            f"'{lean.files[name]}', which cannot be found; give the body an <inertial>"
        )
        raise DescriptionError(text, file=lean.source) if node is None else node.error(text)
    if path is not None:
        if path.stat().st_size > MAX_MESH_BYTES:
            raise DescriptionError(f"the mesh '{path.name}' of body '{body}' is too large", file=lean.source)
        reading(path)
        needed[mesh_key(name, lean)] = path.read_bytes()


# ------------------------------------------------------------------ refusals

_ELEMENT = re.compile(r"Element (?:name )?'([^']*)'")
_LINE = re.compile(r"\bline (\d+)")
_PREFIX = re.compile(r"^((XML )?Error:\s*)+")


def _refusal(text: str, lean: Lean) -> DescriptionError:
    """One-sentence error from MuJoCo's message, with the line in the user's file where known."""
    name, number = _ELEMENT.search(text), _LINE.search(text)
    reason = _PREFIX.sub("", _one_line(text.split("\n")[0])) or "no reason given"
    element = name[1] if name else ""
    whole = all(node.own for node in lean.root.walk())
    line = int(number[1]) if number and whole else None
    if "larger than mjMINVAL" in text:
        reason = (
            f"body '{element}' moves, so its mass and its principal moments of inertia must be positive; give it "
            "an <inertial> with positive values"
        )
    elif "A + B >= C" in text:
        reason = (
            f"the principal moments of inertia of body '{element}' violate the triangle inequality, so MuJoCo "
            "rejects the file; correct them or set balanceinertia in <compiler>"
        )
    else:
        reason = f"MuJoCo rejects the file: {reason}" + (f" (element '{element}')" if element else "")
    return DescriptionError(reason, file=lean.source, line=line)


def _one_line(text: str) -> str:
    return " ".join(text.split())
