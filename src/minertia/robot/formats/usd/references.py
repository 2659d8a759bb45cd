"""Upper bound on the number of prims that the references of layers expand to, before OpenUSD composes them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

MAX_PRIMS = 200_000
MAX_NESTED = 200  # references of references and prims below prims; each is a call here


def are_too_many(layers: Mapping[str, Any]) -> bool:
    """Whether references multiply beyond `MAX_PRIMS`: a few lines can make OpenUSD compose billions of prims.

    layers: all opened layers, by their path.
    """
    count = PrimCount(layers)
    return any(sum(count.of(file, str(prim.path)) for prim in x.rootPrims) > MAX_PRIMS for file, x in layers.items())


class PrimCount:
    """Upper bound on the number of prims that a prim of a layer composes."""

    def __init__(self, layers: Mapping[str, Any]) -> None:
        self.layers = layers
        self.stacks = {file: _stack(layers, file) for file in layers}
        self.counts: dict[tuple[str, str], int] = {}

    def of(self, file: str, path: str, depth: int = 0) -> int:
        """Number of the prims, at most `MAX_PRIMS` + 1."""
        spec = self.layers[file].GetPrimAtPath(path)
        if depth > MAX_NESTED:
            return MAX_PRIMS + 1
        if spec is None or (file, path) in self.counts:
            return self.counts.get((file, path), 0)
        self.counts[file, path] = 0  # a circle is OpenUSD's own business
        found = 1 + sum(self.of(file, str(child.path), depth + 1) for child in spec.nameChildren)
        for variants in spec.variantSets.values():  # one of each set is composed
            paths = [str(variant.primSpec.path) for variant in variants.variants.values()]
            found += max((self.of(file, path, depth + 1) for path in paths), default=0)
        for name, target in _arcs(spec):
            found += sum(self.of(*place, depth + 1) for place in self._targets(file, name, target))
            if found > MAX_PRIMS:
                break
        self.counts[file, path] = min(found, MAX_PRIMS + 1)
        return self.counts[file, path]

    def _targets(self, file: str, name: str, target: str) -> list[tuple[str, str]]:
        """Layers and paths of the prims that a reference composes.

        They may be in the sublayers, and where no layer has the prim, its nearest ancestor composes it.
        """
        other = _absolute(file, name) if name else file
        if other not in self.layers:
            return []
        stacks = [self.stacks[other]] if name else [stack for stack in self.stacks.values() if file in stack]
        files = dict.fromkeys(one for stack in stacks for one in stack)
        path = target or f"/{self.layers[other].defaultPrim}"
        while path.strip("/"):
            found = [(one, path) for one in files if self.layers[one].GetPrimAtPath(path) is not None]
            if found:
                return found
            path = path.rpartition("/")[0]
        return []


def _stack(layers: Mapping[str, Any], file: str) -> Collection[str]:
    """A layer and its sublayers, and theirs."""
    found = [file]
    for one in found:  # which grows
        names = (_absolute(one, name) for name in layers[one].subLayerPaths)
        found += [name for name in dict.fromkeys(names) if name in layers and name not in found]
    return found


def _absolute(file: str, name: str) -> str:
    return os.path.realpath(os.path.join(os.path.dirname(file), name))


def _arcs(spec: Any) -> Iterator[tuple[str, str]]:
    """File ("" for the same file) and path of each prim that a prim references, inherits or specialises."""
    for arcs in (spec.referenceList, spec.payloadList):
        for arc in arcs.GetAddedOrExplicitItems():
            yield str(arc.assetPath), str(arc.primPath or "")
    for paths in (spec.inheritPathList, spec.specializesList):
        for path in paths.GetAddedOrExplicitItems():
            yield "", str(path)
