"""Models of commands in another simulator: MuJoCo follows the same commands to the same positions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minertia
from minertia.errors import MinertiaError
from minertia.identification.actuators import isaac_lab_text, position_mjcf
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.command import Command
from minertia.identification.campaigns.elastic import ElasticJoints
from minertia.identification.commanded import LoopIdentification
from minertia.identification.model import IdentifiedModel
from minertia.validation.commanded_plant import validate_in_mujoco
from tests.identification.sprung import one_side, sprung_log
from tests.identification.test_commands import ARM, BODIES, GAINS, TRUE, recorded

pytest.importorskip("mujoco")
PLANTED = Campaign(ARM.with_parameters(BODIES), command=Command(**GAINS, delay=0.0075, limit=200.0))
SPRUNG = Campaign(ARM.with_parameters(BODIES))
WOUND = {name: value for name, value in TRUE.items() if name != "delay"} | {"CJ2": 1 / 600, "DJ2": 1.0, "RJ2": 0.05}


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


LAWS = {
    "voltage": {"law": "voltage", "limit": 25.0},
    "velocity reference": {"velocity_reference": True, "limit": 60.0},
}


@pytest.mark.parametrize("law", LAWS)
def test_mujoco_has_the_law_of_the_loop(law: str) -> None:
    """Back-EMF outside the limit, damping on the difference of velocities inside it: both limits are reached."""
    campaign = replace(PLANTED, command=Command(**GAINS, delay=0.0075, step=2.5e-4, **LAWS[law]))
    log = recorded(campaign, seconds=3.0, seed=1)
    found = minertia.identify(replace(campaign, train=(log,)))
    assert validate_in_mujoco(found.model(), log, step=2.5e-4)[0].relative < 0.01
    loose = replace(campaign, command=replace(campaign.command, limit=None))
    assert np.abs(recorded(loose, seconds=3.0, seed=1).q - log.q).max() > 5e-3


@pytest.mark.parametrize("encoder", ["both", "motor"])
def test_mujoco_has_the_springs_of_elastic_joints(encoder: str, tmp_path: Path) -> None:
    """One joint is elastic, one rigid; the zeros of two encoders differ."""
    springs = ElasticJoints(joints=(2,), stiffness=600.0, damping=1.0, encoder=encoder)
    campaign = replace(SPRUNG, elastic=springs, command=Command(**GAINS, delay=0.0, step=5e-4))
    logs = [sprung_log(campaign, WOUND, seconds=3.0, seed=seed) for seed in (0, 1)]
    logs = logs if encoder == "both" else [one_side(log, encoder) for log in logs]
    minertia.identify(replace(campaign, train=(logs[0],))).model().save(tmp_path / "model.toml")
    model = minertia.read_model(tmp_path / "model.toml")
    assert minertia.validate(model, logs[1])[0].relative < 0.01
    found = validate_in_mujoco(model, logs[1], step=2.5e-4)[0]
    assert found.relative < 0.01 and len(found.joints) == (3 if encoder == "both" else 2)
    made = minertia.generate(minertia.read_robot(tmp_path / "model.toml"), None, programs=("gravity",))
    assert any("j2: elastic, taken as rigid in gravity" in note for note in made.notes)
    linkside = {**model.evidence["loop"]["elastic"], "feedback": "link"}
    with pytest.raises(MinertiaError, match="loops of j2 read the links"):
        position_mjcf(_with_loop(model, elastic=linkside))


def test_what_mujoco_does_not_simulate_is_said(found: LoopIdentification) -> None:
    model, log = found.model(), recorded(PLANTED, seconds=1.0)
    assert validate_in_mujoco(model, log)[0].remarks == ()
    changes = {"ki": [1.0, 1.0], "delay_of": "effort", "floor": {"touches": ["j2"], "height": -0.9}}
    odd = _with_loop(model, **changes)
    told = " ".join(validate_in_mujoco(odd, log)[0].remarks)
    assert "integral part" in told and "delay of the effort, 7.5 ms" in told and "floor at -0.9 m" in told
    for text in (position_mjcf(odd), isaac_lab_text(odd)):
        assert "the integral part" in text and "floor at -0.9 m" in text
    compile(isaac_lab_text(odd), "isaac_lab.py", "exec")
    assert "velocity targets" in isaac_lab_text(_with_loop(model, velocity_reference=True))


def test_efforts_of_the_robot_say_what_they_do_not_hold(found: LoopIdentification, tmp_path: Path) -> None:
    model = found.model()
    assert not any(note.where == "position loops" for note in model.robot.notes)
    changes = {"damping_is_one": [True, False], "zeros": [0.1, 0.0], "floor": {"touches": ["j2"], "height": -0.9}}
    _with_loop(model, gauges=["j1"], **changes).save(tmp_path / "model.toml")
    notes = [note.text for note in minertia.read_robot(tmp_path / "model.toml").notes if note.where == "position loops"]
    said = ("in units of kp of j1", "viscous friction of j1 was not told from", "plus 0.1, 0", "floor at -0.9 m is no")
    assert len(notes) == 4 and all(part in note for part, note in zip(said, notes, strict=True))


def _with_loop(model: IdentifiedModel, **changes: object) -> IdentifiedModel:
    return replace(model, evidence={**model.evidence, "loop": {**model.evidence["loop"], **changes}})


def test_a_model_without_loops_or_scale_is_refused(found: LoopIdentification) -> None:
    model = found.model()
    plain = replace(model, evidence={k: v for k, v in model.evidence.items() if k != "loop"})
    with pytest.raises(MinertiaError, match="no position loops"):
        position_mjcf(plain)
    loose: IdentifiedModel = replace(model, evidence={**model.evidence, "loop": {**found.loop, "gauges": ["j1"]}})
    with pytest.raises(MinertiaError, match="nothing fixed the scale"):
        isaac_lab_text(loose)
