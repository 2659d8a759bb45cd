"""A USD stage as plain data: prims, values, world poses and layers.

This is the only module that loads `pxr` (extra `usd`).

Layers may be untrusted: every referenced layer is checked before the stage is composed, so that none is
fetched from another location, and a layer that cannot be opened is reported in one sentence.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.io.errors import DescriptionError
from minertia.io.extras import load
from minertia.io.files import reading
from minertia.robot.formats.usd.actuators import KIND as ACTUATOR
from minertia.robot.formats.usd.references import MAX_PRIMS, are_too_many

MAX_LAYERS = 500
MAX_LAYER_BYTES = 200_000_000  # meshes are in there, too
MAX_TEXT_BYTES = 20_000_000  # a layer of text is parsed as a whole
MAX_DEPTH = 500  # of brackets in a text; OpenUSD's parser ends the process at some thousands
POINTER = b"version https://git-lfs.github.com/spec/"
PACKAGE = b"PK\x03\x04"  # .usdz
COLLIDER = "PhysicsCollisionAPI"
BODY = "PhysicsRigidBodyAPI"
MAX_REASON = 150  # characters of a message of OpenUSD's parser
_NAMESPACES = ("physics:", "newton:", "physx", "drive:", "limit:", "mjc:", "urdf:", "minertia:")


@dataclass(frozen=True, slots=True)
class Prim:
    """One prim: authored attribute values by name, targets of relationships, pose in the world (4 x 4).

    label: display name.  changing: names of attributes that time samples change.  colliders: whether it is a body
    with collision shapes of its own.  weighed: whether one of these gives a mass or a density.  is_instance:
    whether it is inside an instance, where nothing can be overridden.
    """

    path: str
    kind: str
    schemas: tuple[str, ...]
    values: Mapping[str, Any]
    targets: Mapping[str, tuple[str, ...]]
    world: NDArray[np.float64]
    label: str = ""
    changing: tuple[str, ...] = ()
    colliders: bool = False
    weighed: bool = False
    is_instance: bool = False

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> str:
        """Path of the prim above, "" at the top."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class UsdStage:
    """Physics content of a stage.

    metres, kilograms: size of its units of length and mass; metres is None where the stage does not specify
    it.  up: its upward axis, "" where it is not specified.  unopened: layers that could not be opened, each
    with the reason.  dangling: references to prims that do not exist, as text.  undefined: number of bodies and
    joints that are only overridden and nowhere defined.  variants: selected variants, as text.  foreign: layers of
    bodies and joints whose units are not those of the stage, as text.  creators: programs that wrote these layers.
    tendons: names of the prims with tendons.
    """

    source: str
    prims: Mapping[str, Prim]
    default: str
    metres: float | None
    kilograms: float
    up: str
    unopened: tuple[str, ...] = ()
    dangling: tuple[str, ...] = ()
    undefined: int = 0
    variants: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    creators: tuple[str, ...] = ()
    tendons: tuple[str, ...] = ()
    paths: frozenset[str] = field(default_factory=frozenset)

    @property
    def lost(self) -> str:
        """End of a sentence on layers that did not open and references that found no prim; "" if there are none."""
        layers = f"; layers that did not open: {', '.join(self.unopened[:3])}" if self.unopened else ""
        return layers + (f"; {'; '.join(self.dangling[:3])}" if self.dangling else "")

    def is_of(self, creator: str) -> bool:
        """Whether a layer was written by this program, in whatever version."""
        return any(name.startswith(creator) for name in self.creators)

    def body_of(self, path: str) -> str:
        """Path of the body that carries a prim, which may be that prim; "" where there is none."""
        return next((above for above in _above(path) if is_body(self.prims.get(above))), "")

    def below(self, path: str) -> list[Prim]:
        """The prims at and below a path, in the order of the stage."""
        return [prim for prim in self.prims.values() if f"{prim.path}/".startswith(f"{path}/")]


def read_stage(source: str) -> UsdStage:
    """Open a stage and return its content; raises `DescriptionError` with the reason if it cannot be opened."""
    pxr = _pxr()
    unopened = tuple(_checked_layers(pxr, source))
    delegate = pxr.UsdUtils.CoalescingDiagnosticDelegate()  # its warnings would go to the terminal
    try:
        stage = pxr.Usd.Stage.Open(source)
        found = _data(pxr, stage, source, unopened)
    except (pxr.Tf.ErrorException, RuntimeError) as err:
        raise DescriptionError(f"OpenUSD cannot open the file: {_reason(err)}", file=source) from None
    finally:
        delegate.TakeUncoalescedDiagnostics()
    return found


def to_crate(text: str) -> bytes:
    """Binary form of a text layer."""
    pxr = _pxr()
    layer = pxr.Sdf.Layer.CreateAnonymous(".usda")
    layer.ImportFromString(text)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layer.usdc")
        layer.Export(path)
        return Path(path).read_bytes()


def _pxr() -> Any:
    names = ("Pcp", "Sdf", "Tf", "Usd", "UsdGeom", "UsdPhysics", "UsdUtils")
    return SimpleNamespace(**{name: load(f"pxr.{name}", "usd") for name in names})


def _reason(err: Exception) -> str:
    """Message of an OpenUSD error, without the location in OpenUSD's source code."""
    text = " ".join(str(err).split()).strip()
    text = text.split(" -- ", 1)[-1] if " -- " in text else text
    text = re.sub(r"^Error in '.*?' at line \d+ in file \S+ : ", "", text)
    return "".join(c for c in text if c.isprintable())[:300] or "no reason given"


# ------------------------------------------------------------------------------------------------------------- layers


def _checked_layers(pxr: Any, source: str) -> Iterator[str]:
    """Open and check all layers of which a stage is composed; yields each that cannot be opened, with the reason."""
    waiting, seen = [(Path(source), "")], {os.path.realpath(source)}
    opened: dict[str, Any] = {}
    while waiting:
        path, by = waiting.pop()
        _refuse_layer(path, by, source)
        why = _unreadable(path)
        layer, error = (None, "") if why else _layer(pxr, path)
        if layer is None:
            why = why or f"it is no USD layer{error}"
            if not by:
                raise DescriptionError(why, file=source)
            yield f"'{path.name}' ({why})"
            continue
        reading(path)
        opened[os.path.realpath(path)] = layer
        for name in filter(None, layer.GetCompositionAssetDependencies()):  # "": the layer itself
            _refuse_elsewhere(name, path, source)
            further = path.parent / name
            if os.path.realpath(further) not in seen:
                seen.add(os.path.realpath(further))
                waiting.append((further, path.name))
        if len(seen) > MAX_LAYERS:
            raise DescriptionError(
                f"the stage has more than {MAX_LAYERS} layers; give the robot's own file", file=source
            )
    if are_too_many(opened):
        raise DescriptionError(f"its references expand to more than {MAX_PRIMS} prims", file=source)


def _refuse_elsewhere(name: str, path: Path, source: str) -> None:
    where = "" if str(path) == source else f" (in '{path.name}')"
    if "://" in name or name.startswith(("http:", "https:")):
        text = f"it takes a layer from the network, '{name[:100]}'{where}; save that file and name it by its path"
        raise DescriptionError(text, file=source)
    if name.startswith("`") or ":SDF_FORMAT_ARGS:" in name or ".usdz[" in name.lower():
        text = f"it names a layer by an expression, with arguments or in a package, '{name[:100]}'{where}; save that "
        raise DescriptionError(f"{text}layer as a file and name it by its path", file=source)
    if os.path.isabs(name) or "\\" in name or name[1:2] == ":":
        text = f"it takes a layer by an absolute path, '{name[:100]}'{where}; name it by a path relative to the file"
        raise DescriptionError(text, file=source)


def _refuse_layer(path: Path, by: str, source: str) -> None:
    """Raise an error for a layer that OpenUSD must not open when it composes the stage."""
    try:
        size, head = path.stat().st_size, _head(path)
    except (OSError, ValueError):
        return
    is_text = not head.startswith((b"PXR-USDC", PACKAGE))
    most = MAX_TEXT_BYTES if is_text else MAX_LAYER_BYTES
    why = None
    if head.startswith(PACKAGE):
        why = "it is a .usdz package; unpack it, as it is a zip archive, and name the layer inside"
    elif size > most:
        why = f"it has {size / 1e6:.0f} MB; at most {most // 1_000_000} MB are read"
    elif is_text and _depth(path) > MAX_DEPTH:
        why = f"its prims are more than {MAX_DEPTH} deep"
    if why is not None:
        raise DescriptionError(f"layer '{path.name}': {why}" if by else why, file=source)


def _unreadable(path: Path) -> str | None:
    """Reason why a layer cannot be read, in a few words."""
    try:
        head = _head(path)
    except (OSError, ValueError):
        return "there is no such file"
    return "it is a Git LFS pointer, not the file itself; fetch it with git lfs pull" if head == POINTER else None


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(len(POINTER))


def _depth(path: Path) -> int:
    """Largest nesting depth of brackets in a text layer."""
    data = np.frombuffer(path.read_bytes()[: MAX_TEXT_BYTES + 1], np.uint8)
    opened, closed = (np.isin(data, np.frombuffer(marks, np.uint8)) for marks in (b"{[(", b"}])"))
    return int(np.cumsum(opened.astype(np.int32) - closed).max(initial=0))


def _layer(pxr: Any, path: Path) -> tuple[Any, str]:
    """Layer of a file; None, and the place of the first error as the end of a sentence, if it is no USD."""
    delegate = pxr.UsdUtils.CoalescingDiagnosticDelegate()
    try:
        known = pxr.Sdf.Layer.Find(str(path))
        if known is not None:
            known.Reload(True)
        return pxr.Sdf.Layer.FindOrOpen(str(path)), ""
    except (pxr.Tf.ErrorException, RuntimeError) as err:
        return None, _place(str(err))
    finally:
        delegate.TakeUncoalescedDiagnostics()


def _place(error: str) -> str:
    """Line of a text layer at which OpenUSD's parser fails, and its reason if that is no name of its own code."""
    match = re.search(r"\.usda?:(\d+):\d+: (.*?)(?: in <.*)?'?$", error, re.MULTILINE)
    if match is None:
        return ""
    reason = "".join(c for c in match[2] if c.isprintable())[:MAX_REASON]
    return f": line {match[1]}" + (f": {reason}" if "pxrInternal" not in reason else "")


# -------------------------------------------------------------------------------------------------------------- prims


def _data(pxr: Any, stage: Any, source: str, unopened: tuple[str, ...]) -> UsdStage:
    cache = pxr.UsdGeom.XformCache(pxr.Usd.TimeCode.EarliestTime())  # the only time, since samples are refused
    found: dict[str, Prim] = {}
    paths: set[str] = set()
    variants: list[str] = []
    colliders: dict[str, bool] = {}  # whether each gives a mass or a density
    layers: dict[Any, None] = {}
    tendons: list[str] = []
    for prim in pxr.Usd.PrimRange(stage.GetPseudoRoot(), pxr.Usd.TraverseInstanceProxies()):
        if prim.IsPseudoRoot():
            continue
        path = str(prim.GetPath())
        paths.add(path)
        if len(paths) > MAX_PRIMS:
            raise DescriptionError(f"the stage has more than {MAX_PRIMS} prims; give the robot's own file", file=source)
        if prim.HasAuthoredMetadata("clips"):  # which reading a value opens
            text = f"prim '{path[:200]}' has value clips, whose values change with time; give values that do not change"
            raise DescriptionError(text, file=source)
        sets = prim.GetVariantSets()
        variants += [f"{name} = {sets.GetVariantSelection(name)}" for name in sets.GetNames()]
        schemas = _schemas(prim)
        if COLLIDER in schemas and prim.GetAttribute("physics:collisionEnabled").Get() is not False:
            colliders[path] = any(prim.GetAttribute(f"physics:{name}").Get() for name in ("mass", "density"))
        if prim.GetTypeName() == "MjcTendon" or any(schema.startswith("PhysxTendon") for schema in schemas):
            tendons.append(str(prim.GetName()))
        if _counts(prim, schemas):
            found[path] = _prim(pxr, prim, schemas, cache)
        if BODY in schemas or str(prim.GetTypeName()).endswith("Joint"):
            layers |= dict.fromkeys(spec.layer for spec in prim.GetPrimStack())
    for path in _ends(found, paths):
        prim = stage.GetPrimAtPath(path)
        found[path] = _prim(pxr, prim, _schemas(prim), cache)
    owners = {path: next((a for a in _above(path) if is_body(found.get(a))), "") for path in colliders}
    weighed = {owners[path] for path, is_weighed in colliders.items() if is_weighed}
    owning = {*owners.values()}
    given = {path: replace(x, colliders=path in owning, weighed=path in weighed) for path, x in found.items()}
    has = stage.HasAuthoredMetadata
    root = stage.GetDefaultPrim()
    return UsdStage(
        source,
        given,
        str(root.GetPath()) if root else "",
        float(pxr.UsdGeom.GetStageMetersPerUnit(stage)) if has("metersPerUnit") else None,
        float(pxr.UsdPhysics.GetStageKilogramsPerUnit(stage)),
        str(pxr.UsdGeom.GetStageUpAxis(stage)) if has("upAxis") else "",
        unopened,
        tuple(_dangling(pxr, stage)),
        _undefined(pxr, stage),
        tuple(dict.fromkeys(variants)),
        tuple(_foreign(layers, stage.GetRootLayer())),
        tuple({str(layer.customLayerData.get("creator", "")): None for layer in layers}),
        tuple(tendons),
        frozenset(paths),
    )


def is_body(prim: Prim | None) -> bool:
    """Whether a prim is an enabled rigid body."""
    return prim is not None and BODY in prim.schemas and prim.values.get("physics:rigidBodyEnabled") is not False


def _ends(found: Mapping[str, Prim], paths: Collection[str]) -> list[str]:
    """Further prims that joints name as their bodies, such as shapes, whose poses are needed."""
    named = {
        path
        for prim in found.values()
        if prim.kind.endswith("Joint")
        for k in (0, 1)
        for path in prim.targets.get(f"physics:body{k}", ())
    }
    return sorted(path for path in named if path in paths and path not in found)


def _dangling(pxr: Any, stage: Any) -> Iterator[str]:
    """References that OpenUSD could not follow, other than to layers that did not open."""
    for error in stage.GetCompositionErrors():
        match = re.match(r"Unresolved \w+ prim path @(.*?)@<(.*?)>", str(error))
        place = str(error.rootSite.path)[:200]
        if match is not None:
            layer, target = os.path.basename(match[1]), match[2]
            what = "has no default prim" if target == "defaultPrim" else f"has no prim '{target[:200]}'"
            yield f"'{place}' refers to '{layer}', which {what}"
        elif isinstance(error, pxr.Pcp.ErrorArcCycle):
            yield f"'{place}' refers to itself in a circle"


def _foreign(layers: Iterable[Any], root: Any) -> Iterator[str]:
    """Layers whose units differ from those of the stage, which are those of its root layer."""
    for key, fallback in (("metersPerUnit", 0.01), ("kilogramsPerUnit", 1.0), ("upAxis", "Y")):
        usual = root.pseudoRoot.GetInfo(key) if root.pseudoRoot.HasInfo(key) else fallback
        for layer in layers:
            value = layer.pseudoRoot.GetInfo(key) if layer.pseudoRoot.HasInfo(key) else usual
            if value != usual:
                yield f"'{os.path.basename(str(layer.realPath))}' has {key} = {value}, not {usual}"


def _above(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _schemas(prim: Any) -> tuple[str, ...]:
    """Applied API schemas of a prim, unregistered ones included."""
    return tuple(str(name) for name in prim.GetPrimTypeInfo().GetAppliedAPISchemas())


def _counts(prim: Any, schemas: tuple[str, ...]) -> bool:
    kind = str(prim.GetTypeName())
    return kind in ("Xform", "PhysicsScene", ACTUATOR, "") or kind.endswith("Joint") or BODY in schemas


def _undefined(pxr: Any, stage: Any) -> int:
    """Number of bodies and joints that are overridden but nowhere defined."""
    found = 0
    for prim in pxr.Usd.PrimRange.AllPrims(stage.GetPseudoRoot()):
        if not prim.IsPseudoRoot() and not prim.IsDefined():
            found += BODY in _schemas(prim) or str(prim.GetTypeName()).endswith("Joint")
    return found


def _prim(pxr: Any, prim: Any, schemas: tuple[str, ...], cache: Any) -> Prim:
    values, changing = {}, []
    for attribute in prim.GetAuthoredAttributes():
        name = str(attribute.GetName())
        if not name.startswith(("xformOp:", *_NAMESPACES)):
            continue
        if _is_changing(pxr, attribute):
            changing.append(name)
        if name.startswith("xformOp:"):
            continue
        value = _plain(attribute.Get(pxr.Usd.TimeCode.EarliestTime()))
        if value is not None:
            values[name] = value
    targets = {
        str(rel.GetName()): tuple(str(path) for path in rel.GetTargets()) for rel in prim.GetAuthoredRelationships()
    }
    return Prim(
        str(prim.GetPath()),
        str(prim.GetTypeName()),
        schemas,
        values,
        targets,
        np.array(cache.GetLocalToWorldTransform(prim), float).T,
        " ".join(str(prim.GetDisplayName() or "").split()),
        tuple(changing),
        is_instance=bool(prim.IsInstanceProxy()),
    )


def _is_changing(pxr: Any, attribute: Any) -> bool:
    """Whether an attribute has several values: at several times, or at one time and as its default."""
    if attribute.GetNumTimeSamples() == 0:
        return False
    source = attribute.GetResolveInfo(pxr.Usd.TimeCode.Default()).GetSource()
    return bool(attribute.ValueMightBeTimeVarying() or source == pxr.Usd.ResolveInfoSourceDefault)


def _plain(value: Any) -> Any:
    """Value as a plain Python number, text, or tuple of these; a quaternion as (w, x, y, z)."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "GetReal"):
        return (float(value.GetReal()), *(float(v) for v in value.GetImaginary()))
    try:
        return tuple(_plain(v) for v in value)
    except TypeError:
        return None  # an asset, or what nobody here asks for
