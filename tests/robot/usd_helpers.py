"""Small USD stages as text, and a reader of them with plain `pxr` and Pinocchio: 32 bits, nothing of ours."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

HEAD = '#usda 1.0\n(\n    metersPerUnit = 1\n    upAxis = "Z"\n    defaultPrim = "arm"\n)\n'
MASS = """float physics:mass = 2
point3f physics:centerOfMass = (0.1, 0, 0)
float3 physics:diagonalInertia = (0.1, 0.2, 0.2)"""


def body(name: str, inside: str = MASS, schemas: str = "") -> str:
    more = f', "{schemas}"' if schemas else ""
    return (
        f'def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"{more}])\n{{\n{inside}\n}}\n'
    )


def joint(name: str, first: str, second: str, inside: str = "", kind: str = "PhysicsRevoluteJoint") -> str:
    ends = [f"rel physics:body{k} = </arm/{end}>\n" for k, end in enumerate((first, second)) if end]
    return f'def {kind} "{name}"\n{{\nuniform token physics:axis = "Y"\n{"".join(ends)}{inside}\n}}\n'


def stage(*parts: str, head: str = HEAD, scene: str = "") -> str:
    return f'{head}\ndef Xform "arm"\n{{\n{"".join(parts)}}}\n{scene}'


FIXED = joint("fixed", "", "base", kind="PhysicsFixedJoint").replace('uniform token physics:axis = "Y"\n', "")
PLACE = "point3f physics:localPos0 = (0, 0, 0.5)"
ARM = (body("base"), body("upper"), body("lower"), FIXED, joint("j1", "base", "upper"))
TWO = (*ARM, joint("j2", "upper", "lower", PLACE))


class PlainReader:
    """A tree of single joints, its bodies and frictions, as any program reads them: 32-bit attributes of UsdPhysics.

    Body frames are those of the joints' second sides.
    """

    def __init__(self, path: Path) -> None:
        import pinocchio as pin
        from pxr import Usd, UsdPhysics

        self.pin, self.stage = pin, Usd.Stage.Open(str(path))
        prims = [*self.stage.Traverse()]
        bodies = {str(p.GetPath()): p for p in prims if p.HasAPI(UsdPhysics.RigidBodyAPI)}
        joints = [p for p in prims if p.IsA(UsdPhysics.Joint)]
        ground = [p for p in joints if p.IsA(UsdPhysics.FixedJoint)]
        ends = {p.GetPath(): [self._end(p, k) for k in (0, 1)] for p in joints}
        self.model = pin.Model()
        self.at: dict[str, int] = {}
        self.moving = [p for p in joints if p not in ground]
        if ground:
            self.at[ends[ground[0].GetPath()][1]] = 0
        else:
            seconds = {second for _, second in ends.values()}
            (root,) = [path for path in bodies if path not in seconds]
            self.at[root] = self._add(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
            self._body(bodies[root], self.at[root])
        self.is_floating = not ground
        waiting = list(self.moving)
        while waiting:
            prim = next(p for p in waiting if ends[p.GetPath()][0] in self.at)
            waiting.remove(prim)
            parent, child = ends[prim.GetPath()]
            turns = prim.IsA(UsdPhysics.RevoluteJoint)
            axis = "XYZ".index(prim.GetAttribute("physics:axis").Get())
            kind = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ) if turns else None
            kind = kind or (pin.JointModelPX, pin.JointModelPY, pin.JointModelPZ)
            place, back = self._frame(prim, 0), self._frame(prim, 1)
            assert back.isIdentity(1e-12)
            self.at[child] = self._add(self.at[parent], kind[axis](), place, prim.GetName())
            self._body(bodies[child], self.at[child])
        scene = next(p for p in prims if p.GetTypeName() == "PhysicsScene")
        down = np.array(scene.GetAttribute("physics:gravityDirection").Get(), float)
        self.model.gravity.linear = down * scene.GetAttribute("physics:gravityMagnitude").Get()

    def _end(self, prim, k: int) -> str:
        targets = prim.GetRelationship(f"physics:body{k}").GetTargets()
        return str(targets[0]) if targets else ""

    def _add(self, parent, kind, place, name) -> int:
        return self.model.addJoint(parent, kind, place, name)

    def _quaternion(self, value):
        x, y, z = value.GetImaginary()
        found = self.pin.Quaternion(float(value.GetReal()), float(x), float(y), float(z))
        found.normalize()
        return found.matrix()

    def _frame(self, prim, k: int):
        place = np.array(prim.GetAttribute(f"physics:localPos{k}").Get(), float)
        return self.pin.SE3(self._quaternion(prim.GetAttribute(f"physics:localRot{k}").Get()), place)

    def _body(self, prim, joint: int) -> None:
        mass, centre, moments, axes = (
            prim.GetAttribute(f"physics:{n}").Get()
            for n in ("mass", "centerOfMass", "diagonalInertia", "principalAxes")
        )
        R = self._quaternion(axes)
        inertia = R @ np.diag(np.array(moments, float)) @ R.T
        own = self.pin.Inertia(float(mass), np.array(centre, float), inertia)
        self.model.appendBodyToJoint(joint, own, self.pin.SE3.Identity())

    def _value(self, prim, name: str) -> float:
        attribute = prim.GetAttribute(name)
        return float(attribute.Get()) if attribute and attribute.HasAuthoredValue() else 0.0

    def efforts(self, names: dict[str, str], q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Efforts of the coordinates; names: of the prims of the robot's coordinates."""
        from pxr import UsdPhysics

        base = 6 if self.is_floating else 0
        turns = np.zeros((len(self.moving), len(names)))
        rows, offset = {p.GetName(): k for k, p in enumerate(self.moving)}, np.zeros(len(self.moving))
        for c, name in enumerate(names):
            turns[rows[name], c] = 1
        for prim in self.moving:
            leaders = prim.GetRelationship("newton:mimicJoint").GetTargets()
            if leaders:
                degrees = self._value(prim, "newton:mimicCoef0")
                unit = math.pi / 180 if prim.IsA(UsdPhysics.RevoluteJoint) else 1.0
                turns[rows[prim.GetName()]] = self._value(prim, "newton:mimicCoef1") * turns[rows[leaders[0].name]]
                offset[rows[prim.GetName()]] = degrees * unit
        model, data, found = self.model, self.model.createData(), []
        place = [(model.getJointId(p.GetName())) for p in self.moving]
        iq, iv = [model.idx_qs[k] for k in place], [model.idx_vs[k] for k in place]
        for x, v, a in zip(q, qd, qdd, strict=True):
            full_q, full_v, full_a = self.pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
            if base:
                full_q[:7], full_v[:6], full_a[:6] = x[:7], v[:6], a[:6]
            full_q[iq] = turns @ x[7 if base else 0 :] + offset
            full_v[iv], full_a[iv] = turns @ v[base:], turns @ a[base:]
            tau = self.pin.rnea(model, data, full_q, full_v, full_a)
            for prim, k in zip(self.moving, iv, strict=True):
                unit = 180 / math.pi if prim.IsA(UsdPhysics.RevoluteJoint) else 1.0
                tau[k] += self._value(prim, "newton:armature") * full_a[k]
                tau[k] += self._value(prim, "newton:damping") * unit * full_v[k]
                tau[k] += self._value(prim, "newton:friction") * np.sign(full_v[k])
            found.append(np.concatenate([tau[:base], turns.T @ tau[iv]]))
        return np.array(found)
