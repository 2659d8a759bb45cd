"""Identify to each export to its own engine: a model predicts unseen motion in Pinocchio, MuJoCo, C and an FMU.

The truth is none of ours: rigid-body efforts are Pinocchio's, drives and friction are written out here.  Each engine is
held against the truth, against the model where its format holds all of that, and against the best robot that it holds.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import re
import sys
import types
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.report.folders import write_identification
from minertia.robot.parameters import LINK_SYMBOLS
from tests.arm import ARM
from tests.codegen.compiled import COMPILERS, library
from tests.codegen.test_fmu import Instance
from tests.shared import SHARED, needs_shared

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

ROOT = Path(__file__).resolve().parents[2]
RATE, NOISE = 100.0, 0.005  # Hz; of the effort of each joint
ACCURATE = 0.003  # of the effort of unseen motion, which a whole model leaves after a fit of such logs
EXACT = 1e-9  # an engine against our own prediction with what the engine's file holds
EFFECTS = ("--effects", "rotor,viscous,coulomb,offset")


@dataclass(frozen=True)
class Truth:
    """A URDF with drives: effects at the joints, and of motors that turn with several joints (rows of turns)."""

    urdf: Path
    rotor: np.ndarray
    viscous: np.ndarray
    coulomb: np.ndarray
    offset: np.ndarray
    turns: np.ndarray
    motor: tuple[float, float, float] = (0.0, 0.0, 0.0)  # inertia, viscous and Coulomb friction at each such motor

    def efforts(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        model = pin.buildModelFromUrdf(str(self.urdf))
        data = model.createData()
        tau = np.array([pin.rnea(model, data, *row) for row in zip(q, qd, qdd, strict=True)])
        tau += self.rotor * qdd + self.viscous * qd + self.coulomb * np.sign(qd) + self.offset
        inertia, viscous, coulomb = self.motor
        speed = qd @ self.turns.T
        return tau + (inertia * qdd @ self.turns.T + viscous * speed + coulomb * np.sign(speed)) @ self.turns


def motion(n: int, seed: int, seconds: float = 12.0, size: float = 0.5) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    t = np.arange(round(seconds * RATE)) / RATE
    q, qd, qdd = np.zeros((3, len(t), n))
    for w in (0.9, 1.9, 3.1, 4.3):
        angle = w * t[:, None] + rng.uniform(0, 6, n)
        q, qd, qdd = q + size / w * np.sin(angle), qd + size * np.cos(angle), qdd - size * w * np.sin(angle)
    return t, q, qd, qdd


def record(file: Path, truth: Truth, seed: int) -> None:
    t, q, qd, qdd = motion(len(truth.rotor), seed)
    tau, rng = truth.efforts(q, qd, qdd), np.random.default_rng(100 + seed)
    tau += NOISE * tau.std(axis=0) * rng.normal(size=tau.shape)
    names = ["t", *(f"{word}{j + 1}" for word in ("q", "tau") for j in range(q.shape[1]))]
    np.savetxt(file, np.column_stack([t, q, tau]), delimiter=",", header=",".join(names), comments="")


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


# ---------------------------------------------------------------------- the engines


def in_pinocchio(file: Path, q, qd, qdd) -> np.ndarray:
    arm = pin.buildModelFromUrdf(str(file))
    data = arm.createData()
    rigid = np.array([pin.rnea(arm, data, *row) for row in zip(q, qd, qdd, strict=True)])
    return rigid + arm.damping * qd + arm.friction * np.sign(qd)


def in_mujoco(file: Path, q, qd, qdd) -> np.ndarray:
    """The recipe of the how-to, as it is printed there."""
    page = (ROOT / "docs" / "howto" / "other-programs.md").read_text(encoding="utf-8")
    found = re.search(r"def mj_inverse\(arm\):.*?return np\.array\(found\)\n", page, re.DOTALL)
    assert found is not None
    names: dict = {"np": np, "mujoco": mujoco, "q": q, "qd": qd, "qdd": qdd}
    exec(found[0], names)
    return names["mj_inverse"](mujoco.MjModel.from_xml_path(str(file)))


def in_c(folder: Path, q, qd, qdd) -> np.ndarray:
    (header,) = folder.glob("*.h")
    function = getattr(library(folder, header.stem, COMPILERS[0]), f"{header.stem}_inverse_dynamics")
    found = np.empty_like(q)
    for k, row in enumerate(zip(q, qd, qdd, strict=True)):
        arrays = [np.ascontiguousarray(x) for x in row]
        function(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, found[k])))
    return found


def in_fmu(folder: Path, q, qd, qdd) -> np.ndarray | None:
    """None where FMPy is not installed."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            import fmpy
        except ImportError:
            return None
    (path,) = folder.glob("*.fmu")
    instance, found = Instance(fmpy, path, "ModelExchange"), np.empty_like(q)
    for k, row in enumerate(zip(q, qd, qdd, strict=True)):
        for name, values in zip(("q", "qd", "qdd"), row, strict=True):
            instance.set(name, values)
        found[k] = instance.get("tau", q.shape[1])
    instance.close()
    return found


# ---------------------------------------------------------------------- planted robots


def journey(run, folder: Path, robot: Path, truth: Truth) -> tuple[mi.IdentifiedModel, str]:
    """The model of a log, with all exports in `folder / "result"`; and what was warned of."""
    record(folder / "run1.csv", truth, 1)
    more = ("--export", "newton,isaac-lab,usd,c,fmu", "--out", folder / "result")
    code, _, warned = run("identify", robot, folder / "run1.csv", *EFFECTS, *more)
    assert code == 0, warned
    return mi.read_model(folder / "result" / "model.toml"), warned


def unseen(n: int) -> tuple[np.ndarray, ...]:
    return motion(n, 7, seconds=3.0)[1:]


def check_whole(folder: Path, model: mi.IdentifiedModel, truth: Truth, mjcf: str) -> None:
    """Engines whose files hold everything: as good as the model, which is as good as its log."""
    states = unseen(len(truth.rotor))
    wanted, ours = truth.efforts(*states), mi.inverse_dynamics(model.robot, *states)
    assert relative(ours, wanted) < ACCURATE
    found = {
        "MuJoCo": (in_mujoco(folder / "result" / mjcf, *states), mi.inverse_dynamics(model.to_robot("mjcf"), *states)),
        "C": (in_c(folder / "result" / "code", *states) if COMPILERS else None, ours),
        "FMU": (in_fmu(folder / "result" / "fmu", *states) if COMPILERS else None, ours),
    }
    for engine, (efforts, written) in found.items():
        assert efforts is None or relative(efforts, written) < EXACT, engine
        assert efforts is None or relative(efforts, wanted) < ACCURATE, engine


def check_said(folder: Path, warned: str) -> None:
    """Every file, what it leaves of the log beside the model, and the program that read it, or that is missing."""
    found = exports_of(folder / "result")
    assert set(found) == {"mjcf", "newton", "usd", "isaac-lab", "urdf", "c", "fmu"}
    for name, export in found.items():
        (left,) = export["left"]
        each = f"{100 * left['file']['relative']:.3g} % of run1.csv (the model {100 * left['model']['relative']:.3g} %)"
        assert f"{export['file']}: read by {export['read_by']} it leaves {each}" in warned, name
        assert export["read_by"] != "minertia" or f"{export['not_read_by']} is not installed" in warned, name
    assert found["isaac-lab"]["not_read_by"] == "Isaac Lab"
    for name in ("c", "fmu"):
        if COMPILERS and found[name]["read_by"] != "minertia":
            (left,) = found[name]["left"]
            assert left["file"]["rmse"] == pytest.approx(left["model"]["rmse"], rel=1e-6), name
    # Newton's file has the offsets, as constant efforts of actuators
    assert found["newton"]["left"][0]["file"]["relative"] < 1.1 * found["mjcf"]["left"][0]["file"]["relative"]
    assert "newton:constEffort" in (folder / "result" / "newton.usda").read_text()


def check_urdf(folder: Path, model: mi.IdentifiedModel, truth: Truth, warned: str, most: float = 1.0) -> None:
    """Pinocchio reads a URDF, which has no place for rotors and offsets: what is written was fitted without them.

    It leaves at most `most` times what the model's own values without these leave of another motion; what it leaves
    of the log is said as Pinocchio finds it.
    """
    states = unseen(len(truth.rotor))
    found, held = in_pinocchio(folder / "result" / "robot.urdf", *states), model.to_robot("urdf")
    assert {name.rstrip("0123456789") for name in held.effect_values} <= {"FV", "FC"}
    assert relative(found, mi.inverse_dynamics(held, *states)) < EXACT
    lost = [name for name in model.robot.effect_values if name.startswith(("IA", "OFF")) or name[:-1].endswith("M")]
    without = model.robot.without_effects(lost)
    wanted, naive = truth.efforts(*states), mi.inverse_dynamics(without, *states)
    assert lost and relative(found, wanted) < most * relative(naive, wanted)
    stated = re.search(r"robot\.urdf: read by Pinocchio it leaves ([\d.]+) % of run1.csv", warned)
    assert stated is not None
    _, *fitted = motion(len(truth.rotor), 1)
    left = relative(in_pinocchio(folder / "result" / "robot.urdf", *fitted), truth.efforts(*fitted))
    assert 0.01 * float(stated[1]) == pytest.approx(left, rel=0.1)  # the log's noise, and its filter


def test_a_small_arm(run, tmp_path):
    (tmp_path / "arm.urdf").write_text(ARM.format(name="arm"))
    truth = Truth(
        tmp_path / "arm.urdf", *np.array([[0.15, 0.05], [0.6, 0.3], [0.4, 0.2], [0.5, -0.2]]), np.zeros((0, 2))
    )
    model, warned = journey(run, tmp_path, truth.urdf, truth)
    check_whole(tmp_path, model, truth, "robot.mjcf")
    check_urdf(tmp_path, model, truth, warned)
    check_said(tmp_path, warned)
    check_isaac_lab(tmp_path / "result" / "isaac_lab.py", model)
    for name in ("left", "right"):  # two robots, or two versions of one, in a folder
        code, _, said = run("convert", tmp_path / "result", tmp_path / f"{name}.usda", "--export", "isaac-lab")
        assert code == 0 and f"{name}.py has its actuators" in said
        check_isaac_lab(tmp_path / f"{name}.py", model)
    assert not (tmp_path / "isaac_lab.py").exists()


def check_isaac_lab(file: Path, model: mi.IdentifiedModel) -> None:
    """The text runs with Isaac Lab's classes, and its check finds a value that an importer dropped."""
    there = {name: types.ModuleType(name) for name in ("isaaclab", "isaaclab.actuators")}
    there["isaaclab.actuators"].ImplicitActuatorCfg = lambda **given: types.SimpleNamespace(**given)
    text: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        for name, module in there.items():
            patch.setitem(sys.modules, name, module)
        exec(file.read_text(), text)
    own, robot = text["ACTUATORS"]["joints"], model.to_robot("isaac-lab")
    names = [joint.name for joint in robot.joints]
    columns = {
        "joint_armature": "IA",
        "joint_friction_coeff": "FC",
        "joint_dynamic_friction_coeff": "FC",
        "joint_viscous_friction_coeff": "FV",
    }
    data = {key: np.array([[e.get(symbol, 0.0) for e in robot.effects]], "f") for key, symbol in columns.items()}
    asset = types.SimpleNamespace(joint_names=names, data=types.SimpleNamespace(**data))
    assert list(own.joint_names_expr) == names
    text["check"](asset)
    asset.data.joint_viscous_friction_coeff = np.zeros((1, len(names)))
    with pytest.raises(ValueError, match="viscous_friction of"):
        text["check"](asset)


def test_a_motor_that_turns_with_two_joints(run, tmp_path):
    """Its armature, damping and dry friction are those of a tendon in MuJoCo, and part of the code."""
    (tmp_path / "arm.urdf").write_text(ARM.format(name="coupled"))
    robot = mi.read_robot(tmp_path / "arm.urdf")
    turns = np.array([[40.0, 40.0]])
    truth = Truth(
        tmp_path / "arm.urdf", *np.array([[0.15, 0.0], [0.6, 0.0], [0.4, 0.0], [0.0, 0.0]]), turns, (4e-5, 3e-4, 0.01)
    )
    mi.write_robot(replace(robot, coupling=((50.0, 0.0), (40.0, 40.0))), tmp_path / "arm.toml")
    model, _ = journey(run, tmp_path, tmp_path / "arm.toml", truth)
    assert model.robot.motor_effects[1]["FCM"] == pytest.approx(0.01, rel=0.1)
    mi.write_robot(model, tmp_path / "result" / "new.mjcf")
    check_whole(tmp_path, model, truth, "new.mjcf")
    states = unseen(2)
    without = mi.inverse_dynamics(model.robot.without_effects(["FCM2"]), *states)
    assert relative(without, truth.efforts(*states)) > 10 * ACCURATE  # what a recipe loses that leaves it out


@pytest.mark.slow
def test_an_arm_of_six_joints(run, tmp_path):
    robot = mi.read_robot("puma560_physical")
    effects = [name for name in robot.effect_values]
    mi.write_robot(robot.without_effects(effects), tmp_path / "arm.urdf")
    values = np.array([[0.9, 2.0, 0.8, 0.2, 0.2, 0.2], [4.0, 3.0, 2.0, 0.3, 0.3, 0.2], [6, 5, 4, 1, 0.8, 0.6]])
    truth = Truth(tmp_path / "arm.urdf", *values, np.array([0.5, -0.4, 0.3, 0.1, -0.1, 0.05]), np.zeros((0, 6)))
    model, warned = journey(run, tmp_path, truth.urdf, truth)
    check_whole(tmp_path, model, truth, "robot.mjcf")
    check_urdf(tmp_path, model, truth, warned, most=1.25)  # weights that replace offsets are wrong in other postures
    friction = [f"{s}{j}" for s in ("FV", "FC") for j in range(1, 7)]
    best = mi.identify(mi.Campaign(truth.urdf, [tmp_path / "run1.csv"], effects=friction, estimator="wls"))
    states = unseen(6)
    wanted, free = truth.efforts(*states), mi.inverse_dynamics(best.model(physical=False).robot, *states)
    found = in_pinocchio(tmp_path / "result" / "robot.urdf", *states)
    assert relative(found, wanted) < WITHIN * relative(free, wanted)


@needs_shared
@pytest.mark.slow
def test_the_log_of_a_tx40_in_mujoco(run, tmp_path):
    """A real log of an arm with a coupled wrist: MuJoCo predicts it as the model does, friction of motor 6 included."""
    campaign = ROOT / "examples" / "logs" / "tx40_gautier.toml"
    data = ("--data", SHARED / "data" / "tx40_gautier")
    code, _, err = run("identify", "--campaign", campaign, *data, "--out", tmp_path / "tx40")
    assert code == 0, err
    model = mi.read_model(tmp_path / "tx40" / "model.toml")
    log = mi.read_recording(SHARED / "data" / "tx40_gautier" / "tx40_0_4p8s.csv.gz", model.nominal, campaign)
    every = slice(0, len(log), 25)
    q, t = log.q[every], log.t[every]
    qd = np.gradient(q, t, axis=0)
    states = (q, qd, np.gradient(qd, t, axis=0))
    ours = mi.inverse_dynamics(model.robot, *states)
    written = mi.inverse_dynamics(model.to_robot("mjcf"), *states)
    assert relative(in_mujoco(tmp_path / "tx40" / "robot.mjcf", *states), written) < EXACT
    assert relative(written, ours) < 0.05
    dry = mi.inverse_dynamics(model.robot.without_effects(["FCM6"]), *states)
    assert relative(dry[:, 4:], ours[:, 4:]) > 0.05


# ---------------------------------------------------------------------- exports that hold


def exports_of(folder: Path) -> dict[str, dict]:
    return {e["target"]: e for e in json.loads((folder / "result.json").read_text())["exports"]}


def heaviest(export: dict) -> float:
    return max(m["mass"] / m["robot_file"] for m in export["masses"])


def planted(folder: Path, robot: mi.Robot, factors: np.ndarray, friction: str) -> np.ndarray:
    """Two logs of a robot whose links are so many times as heavy as its file says; its masses [kg]."""
    rng, n = np.random.default_rng(5), robot.n_joints
    links = {f"{s}{j + 1}": v * factors[j] for j in range(n) for s, v in zip(LINK_SYMBOLS, robot.links[j], strict=True)}
    drives = {f"{s}{j + 1}": value for j in range(n) for s, value in (("IA", 0.2), ("FV", 1.5), (friction, 1.2))}
    truth = robot.with_parameters(links | drives)
    for seed in (1, 2):
        t, q, qd, qdd = motion(n, seed, size=0.9)
        tau = mi.inverse_dynamics(truth, q, qd, qdd)
        tau += 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape)
        names = ["t", *(f"{word}{j + 1}" for word in ("q", "tau") for j in range(n))]
        rows = np.column_stack([t, q, tau])
        np.savetxt(folder / f"run{seed}.csv", rows, delimiter=",", header=",".join(names), comments="")
    return np.array([links[f"M{j + 1}"] for j in range(n)])


def test_friction_that_no_file_holds_has_a_stand_in(run, tmp_path):
    """Smooth Coulomb friction has a place in neither file: both get dry friction that was fitted in its stead."""
    (tmp_path / "arm.urdf").write_text(ARM.format(name="arm"))
    robot = mi.read_robot(tmp_path / "arm.urdf").numeric
    planted(tmp_path, robot, np.ones(2), "FCT")
    logs = (tmp_path / "run1.csv", "--validate", tmp_path / "run2.csv")
    words = ("rotor,viscous,smooth_coulomb", "--out", tmp_path / "result", "--json")
    code, text, err = run("identify", tmp_path / "arm.urdf", *logs, "--effects", *words)
    assert code == 0, err
    found = exports_of(tmp_path / "result")
    assert json.loads(text)["exports"] == list(found.values())
    assert {t: e["read_by"] for t, e in found.items()} == {
        "mjcf": "MuJoCo",
        "newton": "minertia",
        "usd": "minertia",
        "isaac-lab": "minertia",
        "urdf": "Pinocchio",
    }
    code, _, err = run("convert", tmp_path / "result" / "model.toml", tmp_path / "result" / "robot.usd")
    assert code == 0 or "pip install 'minertia[usd]'" in err
    for target, export in found.items():
        if target in ("newton", "isaac-lab") or (target == "usd" and code):
            continue
        dry = [e["FC"] for e in mi.read_robot(tmp_path / "result" / f"robot.{target}").effects]
        assert dry == pytest.approx([1.2, 1.2], rel=0.2), target
        (left,) = export["left"]
        assert left["log"] == "run2.csv" and left["model"]["relative"] < left["file"]["relative"], target
        assert heaviest(export) < 1.31, target
    code, _, err = run("convert", tmp_path / "result" / "model.toml", tmp_path / "again.urdf")
    assert code == 0 and "again.urdf: read by Pinocchio it leaves" in err
    twice = [in_pinocchio(f, *unseen(2)) for f in (tmp_path / "again.urdf", tmp_path / "result" / "robot.urdf")]
    assert relative(*twice) < EXACT


@pytest.mark.slow
@pytest.mark.parametrize("factors", [(1.25,) * 6, (0.75,) * 6, (1.0, 1.25, 1.0, 0.75, 1.25, 1.0)])
def test_planted_masses_are_kept_where_the_logs_show_them(run, tmp_path, factors):
    """Links 2 and 3 of an arm whose file is wrong by a quarter; nothing shows the first, noise hides the wrist."""
    robot = mi.read_robot("puma560_physical")
    mi.write_robot(robot.without_effects(list(robot.effect_values)), tmp_path / "arm.urdf")
    robot = mi.read_robot(tmp_path / "arm.urdf").numeric
    masses = planted(tmp_path, robot, np.array(factors), "FC")
    logs = (tmp_path / "run1.csv", "--validate", tmp_path / "run2.csv", "--effects", "rotor,viscous,coulomb")
    code, _, err = run("identify", tmp_path / "arm.urdf", *logs, "--out", tmp_path / "result")
    assert code == 0, err
    files = exports_of(tmp_path / "result")
    for target, export in files.items():  # those without rotors, too
        found = np.array([m["mass"] for m in export["masses"]])
        assert found[1:3] == pytest.approx(masses[1:3], rel=0.08), target
        assert heaviest(export) < 1.31, target
    (left,) = files["mjcf"]["left"]
    assert left["file"]["relative"] < 1.02 * left["model"]["relative"]
    friction = [f"{s}{j}" for s in ("FV", "FC") for j in range(1, 7)]
    one = mi.Campaign(tmp_path / "arm.urdf", [logs[0]], [logs[2]], effects=friction, estimator="physical")
    assert files["urdf"]["left"][0]["file"]["relative"] < WITHIN * mi.identify(one).validation[0].relative


WITHIN = 1.15  # of what the best physically consistent fit with a target's effects leaves of unseen logs


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("name", ["xmate7_nku", "ur10e_innopolis"])
@pytest.mark.parametrize("chosen", [False, True])
def test_exports_of_real_logs_hold(tmp_path, name, chosen):
    """As good as the best fit with what the file holds, and no link beyond 1.3 times its mass in the robot's file."""
    campaign = mi.read_campaign(ROOT / "examples" / "logs" / f"{name}.toml", data=SHARED / "data" / name)
    result = mi.identify(replace(campaign, effects=None) if chosen else campaign)
    write_identification(tmp_path / "out", result)
    joints = range(1, result.robot.n_joints + 1)
    whole, stage = ("rotor", "viscous", "coulomb", "offset"), ("rotor", "viscous", "coulomb")
    effects = {
        "mjcf": whole,
        "newton": whole,
        "usd": stage,
        "isaac-lab": stage,
        "urdf": tuple(f"{s}{j}" for s in ("FV", "FC") for j in joints),
    }
    for target, export in exports_of(tmp_path / "out").items():
        best = mi.identify(replace(campaign, effects=effects[target], estimator="physical", options={}))
        for left, own in zip(export["left"], best.validation, strict=True):
            assert left["log"] == own.log and left["file"]["relative"] < WITHIN * own.relative, target
        assert heaviest(export) < 1.31, target
        assert export["read_by"] in ("MuJoCo", "Pinocchio", "minertia")
