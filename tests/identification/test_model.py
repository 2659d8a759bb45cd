"""Identified models: written, read, validated, turned into robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import minertia.dynamics.model as dynamics
from minertia.identification.model_file import read_model, write_model
from minertia.identification.validate import validate
from minertia.io.errors import DescriptionError
from minertia.robot.files import read_robot, write_robot
from minertia.robot.inertia import impossible
from tests.identification.fits import fitted
from tests.identification.motions import fourier_motion, noisy
from tests.random_robots import random_robot


@pytest.fixture(scope="module")
def result():
    robot = read_robot("puma560")
    rng = np.random.default_rng(0)
    runs = [noisy(fourier_motion(robot, 400, k), rng, 0.01) for k in range(3)]
    return fitted(robot, runs[:2], validate=runs[2:])


def test_round_trip(result, tmp_path):
    path = tmp_path / "model.toml"
    model = result.model()
    write_model(model, path)
    back = read_model(path)
    assert np.array_equal(back.beta, model.beta)
    assert np.allclose(back.covariance, model.covariance, rtol=1e-15)
    assert back.linear.names == model.linear.names
    motion = fourier_motion(result.robot, 50, 9)
    assert np.array_equal(back.predict(motion), result.predict(motion))
    assert back.evidence["verdict"]["good"] == result.verdict.is_good
    assert back.parameters[0]["relation"]
    assert [f.name for f in tmp_path.iterdir()] == ["model.toml"]


def test_effects_travel_with_the_model(tmp_path):
    robot = random_robot(3, n=2)
    motion = noisy(fourier_motion(robot, 800, 1), np.random.default_rng(0), 0.01)
    result = fitted(robot, [motion], effects=["FV", "FC", "OFF", "stribeck", "KS2"], joints=[2])
    write_model(result.model(), tmp_path / "m.toml")
    back = read_model(tmp_path / "m.toml")
    assert back.linear.names == result.linear.names and back.linear.row_names == ("j2",)
    assert np.array_equal(back.predict(motion), result.predict(motion))
    notes = [note.text for note in back.to_robot().notes]
    assert any("KS2" in text for text in notes)


def test_the_robot_of_a_model_is_the_identified_one(result, tmp_path):
    """And the one it was before has another name."""
    write_model(result.model(), tmp_path / "model.toml")
    back = read_model(tmp_path / "model.toml")
    motion = fourier_motion(result.robot, 50, 9)
    measured = result.predict(motion)
    off = {
        name: np.linalg.norm(dynamics.inverse_dynamics(robot, motion.q, motion.qd, motion.qdd) - measured)
        for name, robot in (("identified", back.robot), ("nominal", back.nominal.without_effects(["OFF"])))
    }
    assert off["identified"] < 0.02 * np.linalg.norm(measured) < off["nominal"]
    assert back.nominal.effect_values == pytest.approx(dict(result.robot.effect_values))
    assert back.robot.effect_values["FV1"] == pytest.approx(back.standard["FV1"])


def test_validation_without_fitting(result):
    model = result.model()
    motion = fourier_motion(result.robot, 200, 11)
    direct = np.linalg.norm(motion.tau - model.predict(motion)) / np.linalg.norm(motion.tau)
    assert validate(model, motion)[0].relative == pytest.approx(direct)
    wrong = replace(motion, tau=-motion.tau)
    assert validate(model, [wrong])[0].relative > 1.5


def test_the_robot_of_a_model_can_exist_and_has_its_efforts(result, tmp_path):
    model = result.model()
    assert model.is_physical
    robot = model.to_robot()
    assert all(impossible(ten) is None for ten in robot.links)
    motion = fourier_motion(result.robot, 100, 9)
    efforts = dynamics.inverse_dynamics(robot, motion.q, motion.qd, motion.qdd)
    assert np.linalg.norm(efforts - result.predict(motion)) < 0.01 * np.linalg.norm(efforts)
    for suffix in (".urdf", ".toml"):
        write_robot(robot, tmp_path / f"robot{suffix}")
        again = read_robot(tmp_path / f"robot{suffix}", gravity=robot.gravity)
        own = dynamics.inverse_dynamics(again, motion.q, motion.qd, motion.qdd)
        rigid = dynamics.torque_regressor(robot, motion.q, motion.qd, motion.qdd) @ robot.parameter_vector()
        rigid_again = dynamics.torque_regressor(again, motion.q, motion.qd, motion.qdd) @ again.parameter_vector()
        assert np.allclose(rigid_again, rigid, atol=1e-6 * np.abs(rigid).max())
        assert own.shape == rigid.shape


def test_a_fit_without_noise_gives_the_same_efforts_as_a_robot(tmp_path):
    robot = random_robot(3, n=3)
    result = fitted(robot, [fourier_motion(robot, 300, 1)], estimator="physical")
    built = result.model().to_robot()
    motion = fourier_motion(robot, 50, 4)
    assert np.allclose(dynamics.inverse_dynamics(built, motion.q, motion.qd, motion.qdd), motion.tau, atol=1e-7)


@pytest.fixture(scope="module")
def saved(result, tmp_path_factory):
    """A model and the text of its file."""
    path, model = tmp_path_factory.mktemp("saved") / "m.toml", result.model()
    write_model(model, path)
    return model, path.read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("beta", "nan", "finite numbers"),
        ("variance", "nan", "covariance"),
        ("variance", "0", "covariance"),
        ("variance", "-1", "covariance"),
        ("product", "1e300", "covariance"),
        ("product", "1e308", "covariance"),
    ],
)
def test_numbers_of_a_damaged_model(saved, tmp_path, old: str, new: str, said: str):
    """A covariance that is none would end in a decomposition that fails, or in deviations that are wrong."""
    path, (model, text) = tmp_path / "m.toml", saved
    number = {"beta": model.beta[3], "variance": model.covariance[3, 3], "product": model.covariance[3, 2]}
    shown = repr(float(number[old]))
    assert shown in text[text.index("[unknowns]") :]
    head, tail = text.split("[unknowns]", 1)
    path.write_text(f"{head}[unknowns]{tail.replace(shown, new, 1)}")
    with pytest.raises(DescriptionError, match=f"the model file is damaged.*{said}"):
        read_model(path)


def test_files_that_are_no_models(result, tmp_path):
    path = tmp_path / "m.toml"
    path.write_text("format = 1\nname = 'x'\n")
    with pytest.raises(DescriptionError, match="not an identified model"):
        read_model(path)
    path.write_text("format = ")
    with pytest.raises(DescriptionError, match="not valid TOML"):
        read_model(path)
    path.write_text("kind = 'identified model'\nformat = 7\n")
    with pytest.raises(DescriptionError, match="format 7"):
        read_model(path)
    path.write_text("kind = 'identified model'\nformat = 1\n")
    with pytest.raises(DescriptionError, match="incomplete"):
        read_model(path)
    write_model(result.model(), path, force=True)
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    with pytest.raises(DescriptionError):
        read_model(path)
