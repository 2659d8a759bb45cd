"""The part of an MJCF document that rigid-body dynamics needs, safe to pass to MuJoCo.

Textures, sensors, contacts and sites (except flanges) are removed; includes are resolved here; MuJoCo opens
no file.  Elements that affect the motion but are not part of a rigid tree (tendons, loop closures) are
reported, never dropped silently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from minertia.io.files import reading
from minertia.robot.description import check_count
from minertia.robot.flange import is_flange_name
from minertia.robot.formats.reading import read_text, referenced
from minertia.robot.formats.xml import Element, number, parse_xml, shown
from minertia.robot.robot import Note

MAX_DEPTH = 256  # MJCF nests one level per body, so a long chain is deep
MAX_COPIES = 1000  # bodies that <replicate> may make
DRIVES = ("general", "motor", "position", "velocity", "intvelocity", "damper")
BODY_PARTS = ("body", "frame", "replicate", "geom", "joint", "freejoint", "inertial", "site")
KEPT = {  # element -> children that dynamics needs
    "mujoco": ("compiler", "option", "default", "asset", "worldbody", "equality", "actuator"),
    "option": ("flag",),
    "default": ("default", "joint", "geom", "mesh", "equality", "site", *DRIVES[:4]),
    "asset": ("mesh",),
    "equality": ("joint", "connect", "weld"),
    "actuator": DRIVES,
    "worldbody": BODY_PARTS,
    "body": BODY_PARTS,
    "frame": BODY_PARTS,
    "replicate": BODY_PARTS,
}
ONLY = {  # elements of which few attributes matter here
    "option": ("gravity", "density", "viscosity", "wind"),
    "flag": ("gravity",),
    "site": ("name", "class", "pos", "quat", "axisangle", "xyaxes", "zaxis", "euler"),
    **{
        drive: ("name", "class", "joint", "gear", "forcerange", "forcelimited", "armature", "damping")
        for drive in DRIVES
    },
}
DROPPED = frozenset({"user", "material", "hfield", "plugin"})
FILES = frozenset({"meshdir", "texturedir", "assetdir", "strippath", "discardvisual", "usethread"})
REFUSED = {
    "attach": "attaches another model; save the whole model to one file with MuJoCo first",
    "model": "refers to another model; save the whole model to one file with MuJoCo first",
    "composite": "defines a soft body, which is not part of a rigid robot; remove it",
    "flexcomp": "defines a soft body, which is not part of a rigid robot; remove it",
}
TEXTS = frozenset(
    ("name", "class", "childclass", "joint", "joint1", "joint2", "body1", "body2", "site1", "site2")
    + ("mesh", "file", "model", "prefix")
)
SITES = ("site1", "site2")
_NOT_FINITE = re.compile(r"[+-]?(nan(\(\w*\))?|inf|infinity)", re.IGNORECASE)


@dataclass(slots=True)
class Lean:
    """Trimmed document.

    bodies, joints: the user's elements by name (generated where the file has none).  numbers: <custom> numerics by
    name.  compiler: attributes of all <compiler> elements.  files: mesh name -> file.  sites: those of loop closures.
    """

    root: Element
    source: str | None
    name: str
    full: Element
    bodies: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, Element] = field(default_factory=dict)
    numbers: dict[str, Element] = field(default_factory=dict)
    compiler: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    sites: set[str] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)


def lean_document(text: str, source: str | None) -> Lean:
    """Parse, resolve includes, check, name unnamed elements, and trim."""
    full = parse_xml(text, source, MAX_DEPTH)
    if full.tag != "mujoco":
        raise full.error(f"the root element is <{shown(full.tag)}>, not <mujoco>")
    _include(full, source)
    name = full.attributes.get("model") or (Path(source).name.split(".")[0] if source else "") or "robot"
    lean = Lean(full, source, name, full)
    _name_all(lean)
    _look_around(lean)
    lean.root = _trimmed(full, lean)
    reading(*(path for path in (mesh_path(name, lean) for name in lean.files) if path is not None))
    return lean


def _include(root: Element, source: str | None) -> None:
    """Replace each <include> by the children of the file's root element, at every depth."""
    seen: set[Path] = set()
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        node.check_depth(depth, MAX_DEPTH)
        while any(child.tag == "include" for child in node.children):
            place = next(k for k, child in enumerate(node.children) if child.tag == "include")
            node.children[place : place + 1] = _included(node.children[place], source, seen)
        stack.extend((child, depth + 1) for child in node.children)


def _included(node: Element, source: str | None, seen: set[Path]) -> list[Element]:
    name = node.attributes.get("file", "")
    path = _beside(source, name)
    if path is None:
        raise node.error(f"the included file '{shown(name)}' cannot be found")
    if path in seen or path == Path(str(source)).resolve():
        raise node.error(f"the file '{shown(name)}' is included twice")
    seen.add(path)
    text = read_text(path)
    reading(*referenced(path, text))
    root = parse_xml(text, name, MAX_DEPTH)
    for element in root.walk():
        element.own = False
    return root.children


def _beside(source: str | None, name: str, folder: str = "") -> Path | None:
    """Path of a file relative to the document's own folder, None where it does not exist."""
    if source is None or not name or "\0" in name + folder or not Path(source).is_file():
        return None
    path = (Path(source).parent / folder / name).resolve()
    return path if path.is_file() else None


# ------------------------------------------------------------------ names, checks, notes


def _name_all(lean: Lean) -> None:
    """Fill `bodies` and `joints`, and name unnamed ones."""
    inside = [node for world in lean.full.all("worldbody") for node in world.walk()]
    for tags, table in ((("body",), lean.bodies), (("joint", "freejoint"), lean.joints)):
        nodes = [node for node in inside if node.tag in tags]
        check_count(len(nodes), "bodies" if tags[0] == "body" else "joints", lean.source)
        table |= {node.attributes["name"]: node for node in nodes if node.attributes.get("name")}
        for k, node in enumerate(nodes, 1):
            if not node.attributes.get("name"):
                name = f"{tags[0]}{k}"
                while name in table:
                    name += "_"
                node.attributes["name"] = name
                table[name] = node


def _look_around(lean: Lean) -> None:
    copies = 1
    for node in lean.full.walk():
        if node.tag in REFUSED:
            raise node.error(f"the element <{node.tag}> {REFUSED[node.tag]}")
        if node.tag == "compiler":
            lean.compiler |= node.attributes
        if node.tag == "replicate":
            copies *= max(1, int(number(node, "count", "the copies", 1.0)))
            if copies > MAX_COPIES:
                raise node.error(f"<replicate> makes more than {MAX_COPIES} copies")
        if node.tag == "numeric":
            lean.numbers[node.attributes.get("name", "")] = node
    ends = (node.attributes.get(key) for s in lean.full.all("equality") for node in s.children for key in SITES)
    lean.sites |= {name for name in ends if name}
    ties = {v for s in lean.full.all("equality") for n in s.all("tendon") if (v := n.attributes.get("tendon1"))}
    for section in lean.full.children:
        lean.notes += _left_out(section, ties)


def _left_out(section: Element, ties: set[str]) -> list[Note]:
    """Notes on elements outside a rigid robot; ties: tendons that only couple joints."""
    notes = []
    for node in section.children:
        label = f"{node.tag} '{node.attributes.get('name', '')}'".replace(" ''", "")
        if section.tag == "tendon" and node.attributes.get("name", "") in ties:
            continue
        if section.tag == "tendon":
            notes.append(
                _warning(node, f"tendon ({label})", "a tendon is not part of the rigid-body model and is ignored")
            )
        elif section.tag == "equality" and node.tag not in (*KEPT["equality"], "tendon"):
            ends = [v for k, v in node.attributes.items() if k[:-1] in ("body", "site", "tendon")]
            text = f"it connects {' and '.join(ends)}; such a constraint is not part of the tree and is ignored"
            notes.append(_warning(node, f"equality ({label})", text))
        elif section.tag == "deformable" and node.tag == "flex":
            notes.append(_warning(node, label, "a soft body is not part of the rigid-body model and is ignored"))
    return notes


def _warning(node: Element, where: str, text: str) -> Note:
    return Note("warning", where, text, node.line if node.own else None)


# ------------------------------------------------------------------ the trimmed copy


def _trimmed(node: Element, lean: Lean) -> Element:
    copy = Element(node.tag, _attributes(node, lean), node.source, node.line, own=node.own)
    allowed = KEPT.get(node.tag, ())
    for child in node.children:
        if child.tag in allowed and _matters(node, child, lean):
            copy.children.append(_trimmed(child, lean))
    if node.tag == "actuator":
        for child in copy.children:
            child.tag = "general"
    return copy


def _matters(node: Element, child: Element, lean: Lean) -> bool:
    """Whether an element is needed: an actuator of a joint, or a site of a loop closure or a flange."""
    if child.tag == "site":
        name = child.attributes.get("name", "")
        return node.tag == "default" or name in lean.sites or is_flange_name(name)
    return node.tag != "actuator" or "joint" in child.attributes


def _attributes(node: Element, lean: Lean) -> dict[str, str]:
    only = ONLY.get(node.tag)
    kept = {k: v for k, v in node.attributes.items() if k not in DROPPED and (only is None or k in only)}
    for key, value in kept.items():
        if key not in TEXTS and any(_NOT_FINITE.fullmatch(token) for token in value.split()):
            name = node.attributes.get("name")
            which = f"<{node.tag}>" + (f" '{name}'" if name else "")
            raise node.error(f"the attribute '{key}' of {which} is not a finite number ({shown(value)})")
    if node.tag == "compiler":
        kept = {k: v for k, v in kept.items() if k not in FILES}
        if float_or(kept.get("settotalmass"), -1.0) <= 0:
            kept.pop("fusestatic", None)  # fixed bodies stay, so that their frames keep their names
    if node.tag == "mesh":
        _mesh_file(node, kept, lean)
    return kept


def _mesh_file(node: Element, kept: dict[str, str], lean: Lean) -> None:
    """Give the mesh a unique name and a file name that MuJoCo cannot open."""
    kept.pop("builtin", None)  # a made-up mesh can be made arbitrarily large
    file = kept.pop("file", None)
    if file is not None:
        name = kept.setdefault("name", Path(file.replace("\\", "/")).stem)
        lean.files[name] = file
        kept["file"] = mesh_key(name, lean)


def mesh_key(name: str, lean: Lean) -> str:
    """File name under which the bytes of a mesh are passed to MuJoCo."""
    return f"mesh{list(lean.files).index(name)}{Path(lean.files[name]).suffix.lower()}"


def mesh_path(name: str, lean: Lean) -> Path | None:
    """The file of a mesh, None where it cannot be found."""
    file = lean.files[name].replace("\\", "/")
    if lean.compiler.get("strippath") == "true":
        file = Path(file).name
    folder = lean.compiler.get("meshdir") or lean.compiler.get("assetdir") or ""
    return _beside(lean.source, file, folder)


def float_or(text: str | None, default: float) -> float:
    """Number parsed from a text, or the default."""
    try:
        return default if text is None else float(text)
    except ValueError:
        return default
