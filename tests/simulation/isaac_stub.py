"""Isaac Lab and PyTorch as far as an event of samples uses them, on NumPy arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np


class Tensor(np.ndarray):
    """Array with the methods of a tensor."""

    def clone(self):
        return self.copy()

    def cpu(self):
        return self

    def to(self, device):
        return self

    def numpy(self):
        return np.asarray(self)


def tensor(values: Any, dtype: Any = None, device: Any = None) -> Tensor:
    return np.array(values, dtype).view(Tensor)


class Actuator:
    """Explicit actuator: it computes its efforts itself."""

    def __init__(self, joint_names: Sequence[str], environments: int) -> None:
        self.joint_names = list(joint_names)
        self.stiffness, self.damping = (tensor(np.zeros((environments, len(joint_names)))) for _ in range(2))


class ImplicitActuator(Actuator):
    """Actuator whose efforts the simulator computes."""


class Asset:
    """Articulation with the values that were written to its simulation, (environments, joints)."""

    device = "cpu"

    def __init__(self, body_names: Sequence[str], joint_names: Sequence[str], environments: int) -> None:
        self.body_names, self.joint_names = list(body_names), list(joint_names)
        self.environments, self.actuators = environments, dict[str, Actuator]()
        keys = ("armature", "friction", "dynamic", "viscous", "stiffness", "damping")
        self.sim = {key: np.zeros((environments, len(joint_names))) for key in keys}
        bodies = (environments, len(body_names))
        self.masses, self.inertias, self.coms = (tensor(np.zeros((*bodies, *own))) for own in ((), (9,), (7,)))
        self.root_physx_view = SimpleNamespace(
            **{f"get_{key}": lambda key=key: getattr(self, key) for key in ("masses", "inertias", "coms")},
            **{f"set_{key}": lambda v, ids, key=key: setattr(self, key, v) for key in ("masses", "inertias", "coms")},
        )

    def _write(self, key: str, values: Any, joint_ids: Any, env_ids: Any) -> None:
        self.sim[key][np.ix_(env_ids, joint_ids)] = values

    def write_joint_armature_to_sim(self, values, **where):
        self._write("armature", values, **where)

    def write_joint_stiffness_to_sim(self, values, **where):
        self._write("stiffness", values, **where)

    def write_joint_damping_to_sim(self, values, **where):
        self._write("damping", values, **where)

    def write_joint_friction_coefficient_to_sim(
        self, values, joint_dynamic_friction_coeff, joint_viscous_friction_coeff, **where
    ):
        self._write("friction", values, **where)
        self._write("dynamic", joint_dynamic_friction_coeff, **where)
        self._write("viscous", joint_viscous_friction_coeff, **where)


def event_of(folder: Path) -> Callable[[Asset], None]:
    """The event in a folder of samples, as a function of an asset."""
    modules = {name: ModuleType(name) for name in ("torch", "isaaclab", "isaaclab.actuators", "isaaclab.managers")}
    torch = modules["torch"]
    torch.as_tensor, torch.float32, torch.arange = tensor, float, lambda n: tensor(np.arange(n))  # type: ignore[attr-defined]
    torch.stack = lambda parts, dim: np.stack(parts, axis=dim)  # type: ignore[attr-defined]
    modules["isaaclab.actuators"].ImplicitActuator = ImplicitActuator  # type: ignore[attr-defined]
    managers = modules["isaaclab.managers"]
    managers.EventTermCfg = managers.SceneEntityCfg = lambda *a, **k: None  # type: ignore[attr-defined]
    file = folder / "events.py"
    space: dict[str, Any] = {"__file__": str(file)}
    with patch.dict(sys.modules, modules):
        exec(compile(file.read_text(), str(file), "exec"), space)

    def apply(asset: Asset) -> None:
        class Scene(dict):
            num_envs = asset.environments

        space["set_robots"](SimpleNamespace(scene=Scene(robot=asset)), None, SimpleNamespace(name="robot"))

    return apply
