"""Isaac Lab 2.2 and 3.0, PhysX and PyTorch as far as an event of samples uses them, on NumPy arrays.

Names, argument names, shapes, number formats and devices are those of the real interfaces, which refuse others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

GPU = "cuda:0"


class Tensor(np.ndarray):
    """Array with the methods of a tensor, on a device."""

    device = "cpu"

    def __array_finalize__(self, source):
        self.device = getattr(source, "device", "cpu")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        device = one_device(*inputs)
        plain = [np.asarray(own) if isinstance(own, Tensor) else own for own in inputs]
        return tensor(getattr(ufunc, method)(*plain, **kwargs), device=device)

    def __getitem__(self, at):
        check_index(self, at)
        return super().__getitem__(at)

    def __setitem__(self, at, values):
        check_index(self, at)
        one_device(self, values)
        assert np.broadcast_shapes(np.shape(self[at]), np.shape(values)) == np.shape(self[at])
        super().__setitem__(at, values)

    def clone(self):
        return self.copy()

    def cpu(self):
        return self.to("cpu")

    def to(self, device):
        return tensor(np.asarray(self), device=device)

    def numpy(self):
        assert self.device == "cpu", "can't convert a CUDA tensor to numpy"
        return np.asarray(self)


def one_device(*values: Any) -> str:
    """The device of all tensors among values; numbers are on any."""
    devices = {own.device for own in values if isinstance(own, Tensor)}
    assert len(devices) < 2, f"expected all tensors to be on the same device, but found {sorted(devices)}"
    return next(iter(devices), "cpu")


def check_index(own: Tensor, at: Any) -> None:
    """Refuse what PyTorch does not index with: indices on another device than the CPU and the tensor's own."""
    for part in at if isinstance(at, tuple) else (at,):
        if isinstance(part, Tensor):
            assert part.device in ("cpu", own.device), "indices should be either on cpu or on the same device"
            assert part.dtype == np.int64, "tensors used as indices must be long"


def tensor(values: Any, dtype: Any = None, device: Any = "cpu") -> Tensor:
    own = np.array(values, dtype).view(Tensor)
    own.device = device
    return own


def check(values: Tensor, shape: tuple[int, ...], device: str, dtype: type = np.float32) -> None:
    """Refuse values of another kind, as PhysX and Isaac Lab do."""
    assert isinstance(values, Tensor) and values.device == device and values.dtype == dtype
    assert values.shape == shape, f"{values.shape} is not {shape}"


class View:
    """Articulation view of PhysX: tensors on the processor, with the values of all environments."""

    def __init__(self, environments: int, bodies: int, joints: int) -> None:
        self.count, self.shape = environments, (environments, bodies)
        rng = np.random.default_rng(0)
        self.mass = rng.uniform(1.0, 2.0, self.shape)
        self.position = rng.normal(size=(*self.shape, 3))
        self.axes = np.linalg.qr(rng.normal(size=(*self.shape, 3, 3)))[0]
        self.moments = rng.uniform(0.1, 0.2, (*self.shape, 3))
        self.friction = np.full((environments, joints, 3), 0.7)  # of the asset: static, dynamic, viscous

    def get_masses(self):
        return tensor(self.mass, np.float32)

    def get_coms(self):
        """Position, and the quaternion (x y z w) of the principal axes, for which their matrix stands here."""
        first = self.axes.reshape(*self.shape, 9)[..., :4]
        return tensor(np.concatenate([self.position, first], axis=-1), np.float32)

    def get_inertias(self):
        """About the centre of mass, in link axes."""
        own = np.einsum("ebik,ebk,ebjk->ebij", self.axes, self.moments, self.axes)
        return tensor(own.reshape(*self.shape, 9), np.float32)

    def set_masses(self, data, indices):
        check(data, self.shape, "cpu")
        rows = self._rows(indices)
        assert np.all(data > 0)
        self.mass[rows] = data[rows]

    def set_coms(self, data, indices):
        """The quaternion turns the principal axes back, where it is not theirs."""
        check(data, (*self.shape, 7), "cpu")
        rows = self._rows(indices)
        self.position[rows] = data[rows][..., :3]
        self.axes[rows] = np.where(
            np.isclose(data[rows][..., 3:], self.axes.reshape(*self.shape, 9)[rows][..., :4], atol=1e-6).all(
                axis=-1, keepdims=True
            )[..., None],
            self.axes[rows],
            np.eye(3),
        )

    def set_inertias(self, data, indices):
        check(data, (*self.shape, 9), "cpu")
        rows = self._rows(indices)
        full = np.asarray(data[rows], float).reshape(len(rows), -1, 3, 3)
        assert np.allclose(full, np.swapaxes(full, -1, -2))
        self.moments[rows], self.axes[rows] = np.linalg.eigh(full)

    def get_dof_friction_properties(self):
        return tensor(self.friction, np.float32)

    def set_dof_friction_properties(self, data, indices):
        check(data, self.friction.shape, "cpu")
        rows = self._rows(indices)
        assert np.all(data[rows][..., 0] >= data[rows][..., 1]), "static friction is below the dynamic one"
        self.friction[rows] = data[rows]

    def _rows(self, indices) -> np.ndarray:
        check(indices, (len(indices),), "cpu", np.int64)
        assert np.all((indices >= 0) & (indices < self.count))
        return np.asarray(indices)


class Actuator:
    """Explicit actuator: it computes its efforts itself."""

    def __init__(self, joint_names: Sequence[str], environments: int) -> None:
        self.joint_names = list(joint_names)
        zeros = np.zeros((environments, len(joint_names)))
        self.stiffness, self.damping = (tensor(zeros, np.float32, GPU) for _ in range(2))


class ImplicitActuator(Actuator):
    """Actuator whose efforts the simulator computes."""


class Articulation:
    """Articulation of Isaac Lab 2.2 with the values that were written to its simulation, (environments, joints)."""

    device = GPU

    def __init__(self, body_names: Sequence[str], joint_names: Sequence[str], environments: int) -> None:
        self.body_names, self.joint_names = list(body_names), list(joint_names)
        self.environments, self.actuators = environments, dict[str, Actuator]()
        self.view = View(environments, len(body_names), len(joint_names))
        keys = ("armature", "stiffness", "damping")
        self.sim = {key: np.zeros((environments, len(joint_names))) for key in keys}

    @property
    def friction(self) -> np.ndarray:
        """Static, dynamic and viscous friction (environments, joints, 3)."""
        return self.view.friction

    def _check(self, values: Any, joint_ids: Any, env_ids: Any) -> tuple[np.ndarray, np.ndarray]:
        check(env_ids, (len(env_ids),), self.device, np.int64)
        check(values, (len(env_ids), len(joint_ids)), self.device)
        return np.ix_(np.asarray(env_ids), np.asarray(joint_ids))

    def _write(self, key: str, values: Any, joint_ids: Any, env_ids: Any) -> None:
        self.sim[key][self._check(values, joint_ids, env_ids)] = values

    def _write_friction(self, parts: dict[int, Any], joint_ids: Any, env_ids: Any) -> None:
        data = self.view.get_dof_friction_properties()
        for part, values in parts.items():
            np.asarray(data)[(*self._check(values, joint_ids, env_ids), part)] = values
        self.view.set_dof_friction_properties(data, indices=env_ids.cpu())


class Lab2(Articulation):
    """Articulation of Isaac Lab 2.2."""

    @property
    def root_physx_view(self) -> View:
        return self.view

    def write_joint_armature_to_sim(self, armature, joint_ids=None, env_ids=None):
        self._write("armature", armature, joint_ids, env_ids)

    def write_joint_stiffness_to_sim(self, stiffness, joint_ids=None, env_ids=None):
        self._write("stiffness", stiffness, joint_ids, env_ids)

    def write_joint_damping_to_sim(self, damping, joint_ids=None, env_ids=None):
        self._write("damping", damping, joint_ids, env_ids)

    def write_joint_friction_coefficient_to_sim(self, joint_friction_coeff, joint_ids=None, env_ids=None):
        self._write_friction({0: joint_friction_coeff}, joint_ids, env_ids)

    def write_joint_dynamic_friction_coefficient_to_sim(
        self, joint_dynamic_friction_coeff, joint_ids=None, env_ids=None
    ):
        self._write_friction({1: joint_dynamic_friction_coeff}, joint_ids, env_ids)

    def write_joint_viscous_friction_coefficient_to_sim(
        self, joint_viscous_friction_coeff, joint_ids=None, env_ids=None
    ):
        self._write_friction({2: joint_viscous_friction_coeff}, joint_ids, env_ids)


class Collection(dict):
    """Actuators of Isaac Lab 3.0, whose own arrays are those of the groups."""

    asset: Lab3

    def write_actuator_stiffness_to_sim(self, *, stiffness, env_ids, joint_ids):
        self._write("stiffness", stiffness, env_ids, joint_ids)

    def write_actuator_damping_to_sim(self, *, damping, env_ids, joint_ids):
        self._write("damping", damping, env_ids, joint_ids)

    def _write(self, key, values, env_ids, joint_ids):
        check(joint_ids, (len(joint_ids),), GPU, np.int64)
        self.asset._check(values, joint_ids, env_ids)
        for column, joint in enumerate(np.asarray(joint_ids)):
            name = self.asset.joint_names[joint]
            for group in self.values():
                if name in group.joint_names:
                    np.asarray(getattr(group, key))[np.asarray(env_ids), group.joint_names.index(name)] = values[
                        :, column
                    ]


class Lab3(Articulation):
    """Articulation of Isaac Lab 3.0 on PhysX: arguments have names, and its view has arrays of Warp."""

    __backend_name__ = "physx"

    def __init__(self, body_names: Sequence[str], joint_names: Sequence[str], environments: int) -> None:
        super().__init__(body_names, joint_names, environments)
        self.actuators = Collection()
        self.actuators.asset = self

    @property
    def data(self) -> SimpleNamespace:
        view = self.view
        own = {"body_mass": view.get_masses(), "body_com_pose_b": view.get_coms(), "body_inertia": view.get_inertias()}
        return SimpleNamespace(**{key: SimpleNamespace(torch=value.to(GPU)) for key, value in own.items()})

    def _set(self, name: str, values: Tensor, body_ids: Any, env_ids: Any) -> None:
        check(env_ids, (len(env_ids),), self.device, np.int64)
        data = getattr(self.view, f"get_{name}")()
        check(values, (len(env_ids), len(body_ids), *data.shape[2:]), self.device)
        np.asarray(data)[np.ix_(np.asarray(env_ids), body_ids)] = values
        getattr(self.view, f"set_{name}")(data, env_ids.cpu())

    def set_masses_index(self, *, masses, body_ids=None, env_ids=None):
        self._set("masses", masses, body_ids, env_ids)

    def set_coms_index(self, *, coms, body_ids=None, env_ids=None):
        self._set("coms", coms, body_ids, env_ids)

    def set_inertias_index(self, *, inertias, body_ids=None, env_ids=None):
        self._set("inertias", inertias, body_ids, env_ids)

    def write_joint_armature_to_sim_index(self, *, armature, joint_ids=None, env_ids=None):
        self._write("armature", armature, joint_ids, env_ids)

    def write_joint_stiffness_to_sim_index(self, *, stiffness, joint_ids=None, env_ids=None):
        self._write("stiffness", stiffness, joint_ids, env_ids)

    def write_joint_damping_to_sim_index(self, *, damping, joint_ids=None, env_ids=None):
        self._write("damping", damping, joint_ids, env_ids)

    def write_joint_friction_coefficient_to_sim_index(
        self,
        *,
        joint_friction_coeff,
        joint_dynamic_friction_coeff=None,
        joint_viscous_friction_coeff=None,
        joint_ids=None,
        env_ids=None,
    ):
        given = (joint_friction_coeff, joint_dynamic_friction_coeff, joint_viscous_friction_coeff)
        self._write_friction({k: own for k, own in enumerate(given) if own is not None}, joint_ids, env_ids)


def _torch() -> ModuleType:
    torch: Any = ModuleType("torch")
    torch.as_tensor, torch.float32 = tensor, np.float32
    torch.arange = lambda n: tensor(np.arange(n))
    torch.zeros_like = lambda own: tensor(np.zeros_like(own), device=own.device)
    return torch


def event_of(folder: Path) -> Callable[..., None]:
    """The event in a folder of samples, as a function of an asset and environments (None: all)."""
    modules: dict[str, Any] = {name: ModuleType(name) for name in ("isaaclab.actuators", "isaaclab.managers")}
    modules |= {"torch": _torch(), "isaaclab": ModuleType("isaaclab")}
    modules["isaaclab.actuators"].ImplicitActuator = ImplicitActuator
    terms: list[dict[str, Any]] = []

    def term(*, func, mode, params):
        assert mode == "startup" and params == {"asset_cfg": "robot"}
        terms.append({"func": func})

    managers = modules["isaaclab.managers"]
    managers.EventTermCfg, managers.SceneEntityCfg = term, lambda name: name
    file = folder / "events.py"
    space: dict[str, Any] = {"__file__": str(file)}
    with patch.dict(sys.modules, modules):
        exec(compile(file.read_text(), str(file), "exec"), space)

    def apply(asset: Articulation, env_ids: Sequence[int] | None = None) -> None:
        class Scene(dict):
            num_envs = asset.environments

        ids = None if env_ids is None else tensor(env_ids, np.int64, GPU)
        terms[0]["func"](SimpleNamespace(scene=Scene(robot=asset)), ids, SimpleNamespace(name="robot"))

    return apply
