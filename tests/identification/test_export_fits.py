"""Fits for the files of other programs: their masses, robots without masses, and effects that are not fitted."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import minertia as mi
from minertia.identification.efforts.exports import exported, target_effects
from minertia.report.export_tables import export_sentences
from minertia.robot.targets import BY_NAME
from tests.arm import ARM
from tests.identification.logs import table, write_csv

DRIVES = {"IA1": 0.3, "IA2": 0.1, "FV1": 0.6, "FC1": 0.4, "FV2": 0.3, "FC2": 0.2}
STANDARD = ("rotor", "viscous", "coulomb")
SLIDE = ARM.format(name="slide").replace('name="elbow" type="revolute"', 'name="elbow" type="prismatic"')
BARE = re.sub(r"<inertial>.*?</inertial>", "", ARM.format(name="bare"), flags=re.DOTALL)


def problem_of(folder, text=ARM, fitted=None, drives=DRIVES, factor=1.25, noise=0.01, effects=STANDARD):
    """Problem of a log of a URDF's robot whose links are so many times as heavy; fitted: another URDF of it."""
    (folder / "arm.urdf").write_text(text)
    robot = mi.read_robot(folder / "arm.urdf")
    links = {name: factor * v for name, v in zip(robot.columns(), robot.parameter_vector(), strict=True)}
    t = np.arange(0.0, 6.0, 0.01)
    angles = np.array([1.7, 3.1, 5.3])[:, None] * t + np.arange(3)[:, None]
    q = np.column_stack([0.5 * np.sin(angles).sum(axis=0), 0.4 * np.sin(angles + 1.3).sum(axis=0)])
    qd = np.gradient(q, t, axis=0)
    tau = mi.inverse_dynamics(robot.with_parameters(links | drives), q, qd, np.gradient(qd, t, axis=0))
    tau += noise * np.random.default_rng(3).normal(size=tau.shape)
    write_csv(folder / "run.csv", table({"t": t, "q": q, "tau": tau}, q="q", tau="tau"))
    (folder / "arm.urdf").write_text(fitted or text)
    return mi.build_problem(mi.Campaign(folder / "arm.urdf", [folder / "run.csv"], effects=effects))


def test_every_file_has_the_masses_of_the_richest(tmp_path):
    """A URDF has no place for rotors: inertias take them up, not masses."""
    problem = problem_of(tmp_path)
    found = exported(problem, mi.solve(problem))
    urdf, mjcf = found["urdf"]["standard"], found["mjcf"]["standard"]
    assert "IA1" in mjcf and "IA1" not in urdf
    assert [urdf["M1"], urdf["M2"]] == pytest.approx([mjcf["M1"], mjcf["M2"]], rel=1e-6)
    gained = sum(urdf[f"ZZ{link}"] - mjcf[f"ZZ{link}"] for link in (1, 2))
    assert gained > 0.5 * (DRIVES["IA1"] + DRIVES["IA2"])


def test_the_mass_of_a_slide_takes_up_its_rotor(tmp_path):
    """The effort of a slide shows mass and rotor as one: a file without rotors has both as mass."""
    problem = problem_of(tmp_path, SLIDE, drives=DRIVES | {"IA2": 4.0})
    found = exported(problem, mi.solve(problem))
    urdf, mjcf = found["urdf"]["standard"], found["mjcf"]["standard"]
    assert urdf["M1"] == pytest.approx(mjcf["M1"], rel=1e-6)
    assert urdf["M2"] > 2 * mjcf["M2"]


def test_usual_bodies_do_not_count_where_the_file_has_no_masses(tmp_path):
    """Links of 16 and 8 kg, not near the usual 1 kg: the files are as good as the model.

    As near to usual bodies as to those of a file, they would leave 1.2 times as much.
    """
    problem = problem_of(tmp_path, fitted=BARE, factor=8.0, noise=1.0)
    found = exported(problem, mi.solve(problem))
    (left,) = found["mjcf"]["left"]
    assert left["file"]["relative"] < 1.08 * left["model"]["relative"]
    assert found["urdf"]["standard"]["M2"] == pytest.approx(found["mjcf"]["standard"]["M2"], rel=1e-6)


def test_lighter_links_and_what_the_prior_of_links_costs_are_told(tmp_path):
    """Links of 0.4 times the mass in the file; the residual without regularisation is told where it is smaller."""
    problem = problem_of(tmp_path, factor=0.4)
    model = mi.judge(problem, mi.solve(problem)).model(exports=True)
    cost = model.exports["urdf"]["regularised"]
    assert cost["with"] == pytest.approx(cost["without"], rel=0.01)
    assert cost["with"] == pytest.approx(model.exports["urdf"]["left"][0]["file"]["relative"], rel=1e-9)
    told = next(text for text in export_sentences(model) if text.startswith("as URDF"))
    assert re.search(r"in brackets those of the robot's file: upper [\d.]+ kg \(2 kg\), lower [\d.]+ kg \(1 kg\)", told)
    assert "regularised" not in told
    worse = {**model.exports["urdf"], "regularised": {"with": 0.128, "without": 0.085}}
    (told,) = export_sentences(replace(model, exports={"urdf": worse}))
    assert "links are regularised towards the robot's file: 8.5 % without that" in told
    worse["left"] = 2 * worse["left"]
    (told,) = export_sentences(replace(model, exports={"urdf": worse}))
    assert "links are regularised towards the robot's file: 12.8 % of these logs, 8.5 % without that" in told


def test_effects_of_coupled_motors_and_possible_values_are_told_as_such(tmp_path):
    problem = problem_of(tmp_path)
    model = mi.judge(problem, mi.solve(problem)).model(exports=True)
    (left,) = model.exports["mjcf"]["left"]
    double = left["file"] | {"relative": 2 * left["model"]["relative"]}
    code = {"file": "code", "read_by": "compiled C", "left": [left | {"file": double}]}
    (told,) = export_sentences(replace(model, exports={"c": code}, is_physical=True))
    assert told.endswith("physically consistent values, the model its base parameters without that constraint")
    choice = replace(model.linear.choice, own=("FV1", "IA1", "FVM2"))
    coupled = replace(model, linear=replace(model.linear, choice=choice))
    told = next(text for text in export_sentences(coupled) if text.startswith("as URDF"))
    assert "it has no place for rotor, and for viscous on the motor side of coupled joints" in told


def test_a_selected_spring_is_not_fitted_for_a_file_without_springs(tmp_path):
    """A stated spring is the robot's own, and is fitted so that masses do not take its place; a selected one is not."""
    stated = problem_of(tmp_path, drives=DRIVES | {"KS2": 2.0}, effects=(*STANDARD, "KS2"))
    selected = replace(stated, ladder=object())

    def springs(problem, target: str) -> list[str]:
        return [one.kind for one in target_effects(problem, BY_NAME[target]) if not isinstance(one, str)]

    assert springs(stated, "urdf") == springs(stated, "mjcf") == springs(selected, "mjcf") == ["KS"]
    assert springs(selected, "urdf") == []
