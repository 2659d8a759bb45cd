"""Models of commands in another simulator: MuJoCo follows the same commands to the same positions."""

from __future__ import annotations

import ast
import contextlib
import io
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minertia
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command, ElasticJoints
from minertia.identification.closed_loop.actuators import (
    motor_name,
    newton_actuators,
    newton_notes,
    to_isaac_lab,
    to_position_mjcf,
)
from minertia.identification.closed_loop.problem import CommandProblem
from minertia.identification.model import IdentifiedModel
from minertia.identification.result import Identification
from minertia.identification.validate import predict_logs
from minertia.io.errors import MinertiaError
from minertia.report.fit_views import validation_view
from minertia.report.folders import write_identification
from minertia.robot.joint import Follows
from minertia.simulation.commanded_plant import validate_in_mujoco
from tests.identification.sprung import one_side, sprung_log
from tests.identification.test_commands import ARM, BODIES, GAINS, TRUE, recorded

pytest.importorskip("mujoco")
PLANTED = Campaign(ARM.with_parameters(BODIES), command=Command(**GAINS, delay=0.0075, limit=200.0))
SPRUNG = Campaign(ARM.with_parameters(BODIES))
WOUND = {name: value for name, value in TRUE.items() if name != "delay"} | {"CJ2": 1 / 600, "DJ2": 1.0, "RJ2": 0.05}


@pytest.fixture(scope="module")
def found() -> Identification:
    result = minertia.identify(replace(PLANTED, train=(recorded(PLANTED, seconds=4.0),)))
    assert isinstance(result.problem, CommandProblem)
    return result


def test_mujoco_moves_as_the_fit_does_and_better_with_shorter_steps(found: Identification) -> None:
    model, log = found.model(), recorded(PLANTED, seed=3, noise=0.0)
    own = minertia.validate(model, log)[0].relative
    coarse, fine = (validate_in_mujoco(model, log, step=step)[0].relative for step in (1e-3, 2.5e-4))
    assert own < 0.01 and fine < 0.01 and fine < 0.6 * coarse < 0.03


def test_actuators_hold_what_was_identified(found: Identification) -> None:
    import mujoco

    model = found.model()
    plant = mujoco.MjModel.from_xml_string(to_position_mjcf(model))
    values = dict(model.robot.effect_values)
    assert plant.dof_armature == pytest.approx([values["IA1"], values["IA2"]])
    assert plant.dof_damping == pytest.approx([values["FV1"], values["FV2"]])
    assert plant.dof_frictionloss == pytest.approx([values["FC1"], values["FC2"]])
    assert plant.actuator_gainprm[:, 0] == pytest.approx(GAINS["kp"])
    assert -plant.actuator_biasprm[:, 2] == pytest.approx(GAINS["kd"])
    assert plant.actuator_forcerange == pytest.approx(np.array([[-200.0, 200.0]] * 2))
    text = to_isaac_lab(model)
    compile(text, "isaac_lab.py", "exec")
    bent = _with_effects(model, {"FVC1": 0.4, "KS2": 1.0})
    assert all(
        f"# joint '{joint}'" in to_isaac_lab(bent) and f"# joint '{joint}'" not in text for joint in ("j1", "j2")
    )
    assert "DelayedPDActuatorCfg" in text and "min_delay=2" in text and '"j1": 150' in text
    assert (
        " effort_limit={" in text and "effort_limit_sim" not in text
    )  # of the actuator, which the solver does not clip
    assert " effort_limit_sim={" in to_isaac_lab(_with_loop(model, delay=0.0))


def test_servos_with_much_damping_are_stable_at_usual_steps(found: Identification) -> None:
    """MuJoCo's default integrator takes the damping of actuators explicitly, and diverged with small inertias."""
    import mujoco

    model = _with_effects(found.model(), {"IA1": 1e-3, "IA2": 1e-3})
    plants = [
        mujoco.MjModel.from_xml_string(to_position_mjcf(_with_loop(model, kd=[1000.0, 1000.0]))) for _ in range(2)
    ]
    plants[1].opt.timestep /= 50
    ends = []
    for plant, steps in zip(plants, (100, 5000), strict=True):
        data = mujoco.MjData(plant)
        data.ctrl[:] = 0.5
        mujoco.mj_step(plant, data, steps)
        ends.append(data.qpos.copy())
    assert plants[0].opt.timestep == 0.002 and ends[0] == pytest.approx(ends[1], abs=1e-3)


def test_values_fitted_for_the_default_integrator_keep_it() -> None:
    import mujoco

    command = Command(**GAINS, delay=0.0, integrator="euler", step=1e-3)
    campaign = Campaign(ARM.with_parameters(BODIES), command=command)
    result = minertia.identify(replace(campaign, train=(recorded(campaign, seconds=1.5),)))
    plant = mujoco.MjModel.from_xml_string(to_position_mjcf(result.model()))
    assert plant.opt.timestep == 1e-3 and plant.opt.integrator == mujoco.mjtIntegrator.mjINT_EULER


def test_a_negative_delay_is_told_and_reaches_no_simulator(found: Identification) -> None:
    early = _with_loop(found.model(), delay=-0.02)
    for text in (to_isaac_lab(early), to_position_mjcf(early)):
        assert "the fitted delay is -20 ms and was left out" in text and "command_when in [columns]" in text
    assert "min_delay" not in to_isaac_lab(early)
    assert [one.delay for one in newton_actuators(early, early.robot)] == [0.0, 0.0] and newton_notes(early)


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


@pytest.mark.parametrize("encoder", ["both", pytest.param("motor", marks=pytest.mark.slow)])
def test_mujoco_has_the_springs_of_elastic_joints(encoder: str, tmp_path: Path) -> None:
    """One joint is elastic, one rigid; the zeros of two encoders differ."""
    springs = ElasticJoints(joints=(2,), stiffness=600.0, damping=1.0, encoder=encoder)
    campaign = replace(SPRUNG, elastic=springs, command=Command(**GAINS, delay=0.0, step=5e-4))
    logs = [sprung_log(campaign, WOUND, seconds=3.0, seed=seed) for seed in (0, 1)]
    logs = logs if encoder == "both" else [one_side(log, encoder) for log in logs]
    minertia.identify(replace(campaign, train=(logs[0],))).model().save(tmp_path / "model.toml")
    model = minertia.read_model(tmp_path / "model.toml")
    own = predict_logs(model, logs[1])
    assert own[0].residuals.relative < 0.01
    assert ("motor of j2" in validation_view(model, own)["joints"]) == (encoder == "both")
    found = validate_in_mujoco(model, logs[1], step=2.5e-4)[0]
    assert found.relative < 0.01 and len(found.joints) == (3 if encoder == "both" else 2)
    robot = minertia.read_robot(tmp_path / "model.toml")
    _same_accelerations(model, robot, tmp_path / "code")
    cubic = {"FVC2": 0.4}  # acts at the motor, too
    bent = _with_effects(model, cubic)
    _same_accelerations(bent, robot.with_parameters(cubic), tmp_path / "cubic")
    made = minertia.generate(minertia.read_robot(tmp_path / "model.toml"), None, programs=("gravity",))
    assert any("j2: elastic, taken as rigid in gravity" in note for note in made.notes)
    linkside = {**model.evidence["loop"]["elastic"], "feedback": "link"}
    with pytest.raises(MinertiaError, match="servos of j2 measure the links"):
        to_position_mjcf(_with_loop(model, elastic=linkside))


def test_a_loop_that_reads_links_behind_springs_is_not_written_for_mujoco(tmp_path: Path) -> None:
    springs = ElasticJoints(joints=(2,), stiffness=600.0, damping=1.0, encoder="both", feedback="link")
    campaign = replace(SPRUNG, elastic=springs, command=Command(**GAINS, delay=0.0, step=1e-3))
    found = minertia.identify(replace(campaign, train=(sprung_log(campaign, WOUND, seconds=2.0),)))
    notes = write_identification(tmp_path / "out", found)
    assert [note.where for note in notes] == ["actuators.mjcf"] and "measure the links" in notes[0].text
    assert not (tmp_path / "out" / "actuators.mjcf").exists() and (tmp_path / "out" / "isaac_lab.py").exists()
    assert "motor of j2" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")  # both encoders are drawn


def _with_effects(model: IdentifiedModel, values: dict[str, float]) -> IdentifiedModel:
    """The model with more effects than were fitted."""
    found = replace(model)
    found.__dict__["robot"] = model.robot.with_parameters(values)
    return found


def _same_accelerations(model: IdentifiedModel, robot: minertia.Robot, folder: Path) -> None:
    """Generated code of a saved fit accelerates links and motors as MuJoCo does; without what MuJoCo makes soft."""
    import mujoco

    bare = robot.without_effects(["FC1", "FC2"])
    names, rotors = ("elastic_forward_dynamics",), minertia.options.CodeModel("baked", rotors=False)
    minertia.generate(bare, folder, programs=names, target="numpy", model=rotors)
    code: dict[str, Any] = {}
    exec((folder / "planar_2r.py").read_text(encoding="utf-8"), code)
    plant = mujoco.MjModel.from_xml_string(to_position_mjcf(model))
    plant.dof_frictionloss[:] = 0.0
    data, (spring,) = mujoco.MjData(plant), robot.elastic.values()
    order = [plant.joint(name).id for name in ("j1", "j2", motor_name("j2"))]
    data.qpos[order], data.qvel[order] = (0.3, -0.4, -0.37), (0.5, -0.8, 0.6)
    data.ctrl[:] = 0.1
    mujoco.mj_forward(plant, data)
    q, qd, tau, qdd = (np.array(x)[order] for x in (data.qpos, data.qvel, data.qfrc_actuator, data.qacc))
    springs = [0.0, spring.stiffness], [0.0, spring.damping], [robot.effect_values[name] for name in ("IA1", "IA2")]
    at_motors = [0, 2]
    state = q[:2], qd[:2], q[at_motors], qd[at_motors]
    links, motors = code["elastic_forward_dynamics"](*state, tau[at_motors], *springs)
    assert links == pytest.approx(qdd[:2], rel=1e-5, abs=1e-5) and motors[1] == pytest.approx(qdd[2], rel=1e-5)


def test_what_mujoco_does_not_simulate_is_said(found: Identification) -> None:
    model, log = found.model(), recorded(PLANTED, seconds=1.0)
    assert validate_in_mujoco(model, log)[0].remarks == ()
    changes = {"ki": [1.0, 1.0], "delay_of": "effort", "floor": {"touches": ["j2"], "height": -0.9}}
    odd = _with_loop(model, **changes)
    told = " ".join(validate_in_mujoco(odd, log)[0].remarks)
    assert "integral action" in told and "delay of the effort, 7.5 ms" in told and "ground contact at -0.9 m" in told
    for text in (to_position_mjcf(odd), to_isaac_lab(odd)):
        assert "the integral action" in text and "ground contact at -0.9 m" in text
    compile(to_isaac_lab(odd), "isaac_lab.py", "exec")
    assert "velocity targets" in to_isaac_lab(_with_loop(model, velocity_reference=True))


def test_efforts_of_the_robot_say_what_they_do_not_hold(found: Identification, tmp_path: Path) -> None:
    model = found.model()
    assert not any(note.where == "position loops" for note in model.robot.notes)
    changes = {"damping_is_one": [True, False], "zeros": [0.1, 0.0], "floor": {"touches": ["j2"], "height": -0.9}}
    _with_loop(model, gauges=["j1"], **changes).save(tmp_path / "model.toml")
    notes = [note.text for note in minertia.read_robot(tmp_path / "model.toml").notes if note.where == "position loops"]
    said = (
        "in units of kp of j1",
        "viscous friction of j1 was not distinguishable from",
        "plus 0.1, 0",
        "ground contact at -0.9 m is not",
    )
    assert len(notes) == 4 and all(part in note for part, note in zip(said, notes, strict=True))


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_an_fmu_has_the_efforts_that_were_identified(found: Identification, tmp_path: Path) -> None:
    """Links, rotor inertias, friction and offsets, without the loop: its inputs are positions and their rates."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        fmpy = pytest.importorskip("fmpy")
    found.model().save(tmp_path / "model.toml")
    robot = minertia.read_robot(tmp_path / "model.toml")
    path = minertia.generate(robot, tmp_path / "unit", target="fmu").files[0]
    state = {"q": [0.3, -0.7], "qd": [0.5, -1.5], "qdd": [2.0, 4.0]}
    rows = np.zeros(2, [("time", float), *((f"{name}[{j}]", float) for name in state for j in (1, 2))])
    rows["time"] = [0.0, 1.0]
    for name, values in state.items():
        rows[f"{name}[1]"], rows[f"{name}[2]"] = values
    moved = fmpy.simulate_fmu(str(path), input=rows, stop_time=1.0, step_size=0.5, output=["tau[1]", "tau[2]"])
    wanted = minertia.inverse_dynamics(robot, *state.values())
    bodies = minertia.inverse_dynamics(ARM.with_parameters(BODIES), *state.values())
    assert np.allclose([moved["tau[1]"][-1], moved["tau[2]"][-1]], wanted, rtol=1e-12)
    assert np.abs(wanted - bodies).min() > 0.5  # friction and rotor inertia are in it


def _with_loop(model: IdentifiedModel, **changes: object) -> IdentifiedModel:
    return replace(model, evidence={**model.evidence, "loop": {**model.evidence["loop"], **changes}})


def test_hostile_names_stay_names(found: Identification) -> None:
    import mujoco

    model, names = found.model(), ['a"<b>--->', 'b"]}; import os #']
    joints = tuple(replace(j, name=name) for j, name in zip(model.linear.robot.joints, names, strict=True))
    linear = replace(model.linear, robot=replace(model.linear.robot, joints=joints, name="arm\nimport os"))
    odd = _with_loop(replace(model, linear=linear), joints=names)
    plant = mujoco.MjModel.from_xml_string(to_position_mjcf(odd))
    assert [plant.actuator(name).trnid[0] for name in names] == [plant.joint(name).id for name in names]
    tree = ast.parse(to_isaac_lab(odd))
    assert [type(line) for line in tree.body] == [ast.ImportFrom, ast.Assign, ast.FunctionDef]
    assert set(names) <= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


def test_numbers_of_joints_are_not_those_of_coordinates(found: Identification, monkeypatch: pytest.MonkeyPatch) -> None:
    """A joint that follows another stands before the last one: what was identified stays at its own joint."""
    model = found.model()
    first, second = model.robot.joints
    follower = replace(second, name="follower", link="follower", follows=Follows((0,), (0.5,)))
    effects = ({}, {}, {"IA": 0.5, "FC": 2.0})
    robot = minertia.Robot("arm", (first, follower, second), effects=effects)
    monkeypatch.setattr(IdentifiedModel, "robot", property(lambda model: robot))
    text = to_isaac_lab(model)
    assert 'armature={"j1": 0, "j2": 0.5}' in text and 'friction={"j1": 0, "j2": 2}' in text


def test_a_model_without_loops_or_scale_is_refused(found: Identification) -> None:
    model = found.model()
    plain = replace(model, evidence={k: v for k, v in model.evidence.items() if k != "loop"})
    with pytest.raises(MinertiaError, match="no servo model"):
        to_position_mjcf(plain)
    loose: IdentifiedModel = replace(model, evidence={**model.evidence, "loop": {**found.loop, "gauges": ["j1"]}})
    with pytest.raises(MinertiaError, match="the scale of this model is not identifiable"):
        to_isaac_lab(loose)
