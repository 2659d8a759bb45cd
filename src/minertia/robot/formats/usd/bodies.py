"""Masses, centres and inertias of the bodies of a stage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minertia.io.errors import DescriptionError
from minertia.robot.formats.snap import quaternion_to_matrix
from minertia.robot.formats.usd.attributes import (
    AXES,
    CENTRE,
    FULL,
    INERTIAL,
    MASS,
    MOMENTS,
    Units,
    agrees,
    inertial_attributes,
    shortest,
)
from minertia.robot.formats.usd.stage import Prim
from minertia.robot.inertia import Ten, from_com
from minertia.robot.robot import Note

MASS_SCHEMAS = ("PhysicsMassAPI", "NewtonMassAPI")  # the second one includes the first
WEIGHTLESS = ("physxRigidBody:disableGravity", "mjc:gravcomp", "mjc:body:gravcomp")
STILL = "it has a mass without inertia or centre of mass, and is read without: it does not move, so no effort changes"
APART = 1e-4  # part of the largest moment by which the two forms of an inertia may differ
Array = NDArray[np.float64]


class MissingInertia(DescriptionError):
    """Link with a mass whose inertia or centre of mass is not given."""


def read_inertial(
    prim: Prim, name: str, units: Units, own: bool, source: str, *, is_urdf: bool = False
) -> tuple[Ten | None, list[Note]]:
    """Ten parameters of a body in its frame, None where it gives no mass; and notes.

    own: whether minertia's doubles, where they agree with the standard attributes, and Newton's inertia are
    used; else only the 32-bit standard attributes.  is_urdf: whether the file is of the converter of URDF, which
    writes no centre of mass at the origin of a link.
    """
    given = prim.values.get(INERTIAL) if own else None
    if given is not None and len(given) in (0, 10) and np.all(np.isfinite(given)):
        ten = tuple(float(v) for v in given) or None
        if agrees(inertial_attributes(ten, units), prim.values):
            return ten, []
    edited = [] if given is None else [Note("warning", f"link '{name}'", EDITED)]
    return _standard(prim, name, units, own, source, is_urdf), edited


def body_notes(prim: Prim, name: str, *, is_urdf: bool = False) -> list[Note]:
    """Notes on attributes of a body that simulators take differently; is_urdf: as in `read_inertial`."""
    texts = []
    if prim.values.get(MASS) and is_urdf and prim.colliders and _numbers(prim, CENTRE, 3) is None:
        texts.append(f"it has no {CENTRE} and is read with (0, 0, 0), as in its URDF; simulators use its colliders")
    if prim.values.get(MASS) and FULL in prim.values and not any((*prim.values[FULL], *prim.values.get(MOMENTS, ()))):
        texts.append("its inertia is 0, which is read here; simulators replace it by an inertia of their own")
    if any(prim.values.get(f"physxRigidBody:{kind}Damping") for kind in ("linear", "angular")):
        texts.append("PhysX damps its motion in space (linearDamping or angularDamping), which is not read")
    if MASS in prim.values and not {*MASS_SCHEMAS} & {*prim.schemas}:
        texts.append(f"it has {MASS} without {MASS_SCHEMAS[0]}, so that simulators ignore its mass, which is read here")
    if any(prim.values.get(key) for key in WEIGHTLESS):
        texts.append("its simulator leaves out its weight (disableGravity or gravcomp), which is read here")
    return [Note("warning", f"link '{name}'", text) for text in texts]


EDITED = "its attributes were changed since minertia wrote them: these count, with the 32 bits that they have"


def _standard(prim: Prim, name: str, units: Units, own: bool, source: str, is_urdf: bool) -> Ten | None:
    mass = _number(prim.values, MASS, name, source)
    if mass < 0 or not math.isfinite(mass):
        raise DescriptionError(f"link '{name}': its mass is {mass:g}; it must be finite and not negative", file=source)
    if mass == 0:
        return None  # "not given", whatever else is said
    centre, inertia = _centre(prim, name, source, is_urdf), _inertia(prim, name, own, source)
    if own:  # the decimal numbers that are meant
        mass, centre = shortest(mass), np.array([shortest(v) for v in centre.tolist()])
    square = units.kilograms * units.metres**2
    return from_com(mass * units.kilograms, (units.metres * centre).tolist(), square * inertia)


def _number(values: Mapping[str, Any], key: str, name: str, source: str) -> float:
    value = values.get(key, 0.0)
    if not isinstance(value, int | float):
        raise DescriptionError(f"link '{name}': {key} is not a number; correct it", file=source)
    return float(value)


def _numbers(prim: Prim, key: str, count: int) -> Array | None:
    """Finite numbers of an attribute; None where it is missing, not finite or not of this count."""
    value = prim.values.get(key)
    if not isinstance(value, tuple) or len(value) != count:
        return None
    found = np.array(value, float)
    return found if np.all(np.isfinite(found)) else None


def _centre(prim: Prim, name: str, source: str, is_urdf: bool) -> Array:
    found = _numbers(prim, CENTRE, 3)
    if found is not None:
        return found
    if prim.colliders and not is_urdf:
        raise MissingInertia(
            f"link '{name}' has a mass but no {CENTRE}, which simulators then take from colliders; specify it",
            file=source,
        )
    return np.zeros(3)


def _inertia(prim: Prim, name: str, own: bool, source: str) -> Array:
    """Inertia matrix about the centre of mass, in the axes of the body and the units of the stage."""
    moments, six = _numbers(prim, MOMENTS, 3), _numbers(prim, FULL, 6) if own else None
    axes = _numbers(prim, AXES, 4)
    if moments is not None and not np.any(moments):
        moments = None
    if moments is None and six is None:
        raise MissingInertia(
            f"link '{name}' has a mass but no {MOMENTS}, which simulators then take from colliders; specify it",
            file=source,
        )
    if moments is not None:
        R = np.eye(3) if axes is None or not np.any(axes) else quaternion_to_matrix(*axes.tolist())
        turned: Array = R @ np.diag(moments) @ R.T
    if six is None:
        return turned
    full = np.array([[six[0], six[3], six[4]], [six[3], six[1], six[5]], [six[4], six[5], six[2]]])
    if moments is not None:
        apart = float(np.abs(full - turned).max() / np.abs(turned).max())
        if apart > APART:
            raise DescriptionError(
                f"link '{name}': {FULL} and {MOMENTS} with {AXES} differ by {100 * apart:.2g} %, by an "
                "edit or an error of a converter, as of URDF USD Converter before 0.3.2; convert again, or delete the "
                "wrong one",
                file=source,
            )
    return full
