"""Models of commands in another simulator: MuJoCo follows the same commands to the same positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia
from minertia.errors import MinertiaError
from minertia.identification.actuators import isaac_lab_text, position_mjcf
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.command import Command
from minertia.identification.commanded import LoopIdentification
from minertia.identification.model import IdentifiedModel
from minertia.validation.commanded_plant import validate_in_mujoco
from tests.identification.test_commands import ARM, BODIES, GAINS, recorded

pytest.importorskip("mujoco")
PLANTED = Campaign(ARM.with_parameters(BODIES), command=Command(**GAINS, delay=0.0075, limit=200.0))


@pytest.fixture(scope="module")
def found() -> LoopIdentification:
    result = minertia.identify(replace(PLANTED, train=(recorded(PLANTED, seconds=4.0),)))
    assert isinstance(result, LoopIdentification)
    return result


def test_mujoco_moves_as_the_fit_does_and_better_with_shorter_steps(found: LoopIdentification) -> None:
    model, log = found.model(), recorded(PLANTED, seed=3, noise=0.0)
    own = minertia.validate(model, log)[0].relative
    coarse, fine = (validate_in_mujoco(model, log, step=step)[0].relative for step in (1e-3, 2.5e-4))
    assert own < 0.01 and fine < 0.01 and fine < 0.6 * coarse < 0.03


def test_actuators_hold_what_was_identified(found: LoopIdentification) -> None:
    import mujoco

    model = found.model()
    plant = mujoco.MjModel.from_xml_string(position_mjcf(model))
    values = dict(model.robot.effect_values)
    assert plant.dof_armature == pytest.approx([values["IA1"], values["IA2"]])
    assert plant.dof_damping == pytest.approx([values["FV1"], values["FV2"]])
    assert plant.dof_frictionloss == pytest.approx([values["FC1"], values["FC2"]])
    assert plant.actuator_gainprm[:, 0] == pytest.approx(GAINS["kp"])
    assert -plant.actuator_biasprm[:, 2] == pytest.approx(GAINS["kd"])
    assert plant.actuator_forcerange == pytest.approx(np.array([[-200.0, 200.0]] * 2))
    text = isaac_lab_text(model)
    compile(text, "isaac_lab.py", "exec")
    assert "DelayedPDActuatorCfg" in text and "min_delay=2" in text and '"j1": 150' in text


def test_a_model_without_loops_or_scale_is_refused(found: LoopIdentification) -> None:
    model = found.model()
    plain = replace(model, evidence={k: v for k, v in model.evidence.items() if k != "loop"})
    with pytest.raises(MinertiaError, match="no position loops"):
        position_mjcf(plain)
    loose: IdentifiedModel = replace(model, evidence={**model.evidence, "loop": {**found.loop, "gauges": ["j1"]}})
    with pytest.raises(MinertiaError, match="nothing fixed the scale"):
        isaac_lab_text(loose)
