"""The rehearsal: a short one on a small arm, its parts, and the compiled controller (needs MuJoCo)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.codegen.kernels import build
from minertia.codegen.kernels.build import find_compiler
from minertia.excitation.limits import motion_limits
from minertia.identification.logs.readers import read_recording
from minertia.identification.model_file import read_model
from minertia.io.errors import Infeasible, MinertiaError, MissingExtra, MissingParameters
from minertia.io.schema import OptionError
from minertia.robot.inertia import impossible
from minertia.robot.robot import Robot
from minertia.simulation import compiled, rehearsal
from minertia.simulation.compiled import compiled_model
from minertia.simulation.control_model import control_model
from minertia.simulation.options import RehearsalOptions
from minertia.simulation.possible import simulable_robot
from minertia.simulation.rehearsal import rehearse
from minertia.simulation.rehearsed import Rehearsal, summary

pytest.importorskip("mujoco")
SHORT = RehearsalOptions(duration=6.0, harmonics=4, rate=500.0, seed=1)


needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


@pytest.fixture(scope="module")
def puma() -> Robot:
    return read_robot("puma560_physical")


@pytest.fixture(scope="module")
def done(puma: Robot, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rehearsal, Path]:
    """Half a minute: the quick tests rehearse a small arm (tests/test_cli_rehearse.py)."""
    folder = tmp_path_factory.mktemp("rehearsal")
    limits = motion_limits(puma, velocity=1.5, acceleration=4.0)
    return rehearse(puma, SHORT, limits=limits, out=folder), folder


@pytest.mark.slow
def test_parameters_come_back(done: tuple[Rehearsal, Path]) -> None:
    result, _ = done
    assert len(result.returned) == 58
    assert result.within >= 0.95 and max(abs(r.off) for r in result.returned) < 5
    assert 0.9 < result.over_floor < 1.1
    assert result.model is not None and result.model.is_physical
    assert [s.name for s in result.steps] == [
        *("excite", "record", "filter", "identify", "significance", "physical", "generate", "control", "payload")
    ]
    assert result.skipped == [] or find_compiler() is None
    assert summary([result])["pairs"] == 58


def test_a_published_inertia_that_cannot_be_is_rehearsed_as_the_nearest(puma: Robot) -> None:
    """Found before any motion is looked for; the note names the link."""
    bad = puma.with_parameters({"XX3": 5.0})
    assert impossible(bad.links[2]) is not None  # type: ignore[arg-type]
    mended, notes = simulable_robot(bad)
    assert all(impossible(ten) is None for ten in mended.links)  # type: ignore[arg-type]
    assert len(notes) == 1 and "nearest physically consistent" in notes[0]
    assert simulable_robot(puma) == (puma, ())


@pytest.mark.slow
def test_control_with_the_result(done: tuple[Rehearsal, Path]) -> None:
    """What the papers found: open loop within 10 % when fast, gravity on line when slow, computed torque the best."""
    tables = {table.title: table for table in done[0].control}
    for title, table in tables.items():
        if "180 deg/s" in title:
            assert max(table.row("computed").relative) < 0.10, title
    slow = tables["open loop, joint 1 and 2 and 3, 30 deg/s"]
    assert max(slow.row("gravity on-line").largest) < 0.5 * max(slow.row("computed").largest)
    loop = tables["closed loop"]
    assert all(a < b for a, b in zip(loop.row("computed torque").rms, loop.row("PD + gravity").rms, strict=True))
    updates = [sum(row.rms) for row in tables["background task every k periods"].rows]
    assert updates == sorted(updates)


@pytest.mark.slow
def test_a_load_is_weighed(done: tuple[Rehearsal, Path]) -> None:
    result, _ = done
    assert result.weighed is not None
    values, deviations = result.weighed.at(3.9)
    assert abs(values[-1] - result.load) < max(4 * deviations[-1], 0.02 * result.load)


@pytest.mark.slow
def test_files_can_be_read_again(done: tuple[Rehearsal, Path], puma: Robot) -> None:
    result, folder = done
    names = {path.name for path in result.files}
    assert {"training-motion.csv", "training-log.csv", "unseen-log.csv", "identified.toml"} <= names
    model = read_model(folder / "identified.toml")
    assert result.model is not None and np.allclose(model.beta, result.model.beta)
    log = read_recording(folder / "training-log.csv", robot=puma)
    assert log.n == 6 and log.rate_hz == pytest.approx(500.0)
    data = json.loads(result.to_json())
    assert len(data["parameters"]) == 58 and data["held_out_over_floor"] < 1.1


@needs_compiler
def test_compiled_code_is_the_model(puma: Robot, tmp_path: Path) -> None:
    fast, slow = compiled_model(puma, tmp_path), control_model(puma)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 6))
    np.testing.assert_allclose(fast.rigid(q, qd, qdd), slow.rigid(q, qd, qdd), atol=1e-9)
    np.testing.assert_allclose(fast.friction(q, qd, qdd), slow.friction(q, qd, qdd), atol=1e-9)
    np.testing.assert_allclose(fast.gravity(q), slow.gravity(q), atol=1e-9)
    np.testing.assert_allclose(fast.mass_matrix(q), slow.mass_matrix(q), atol=1e-9)
    np.testing.assert_allclose(fast.velocity(q, qd), slow.velocity(q, qd), atol=1e-9)
    with pytest.raises(MinertiaError, match="cannot be loaded"):
        compiled.load_model(6, tmp_path / "README.md", "x")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("flags", ["-ffast-math", pytest.param("-fsingle-precision-constant", marks=pytest.mark.slow)])
def test_flags_that_change_arithmetic(puma: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str) -> None:
    """The compiled code computes what it must, or is refused; what stays in the folder is what was generated."""
    monkeypatch.setenv("CC", f"gcc {flags}")
    q = np.linspace(-1, 1, 6)
    try:
        np.testing.assert_allclose(compiled_model(puma, tmp_path).gravity(q), control_model(puma).gravity(q), atol=1e-9)
    except MinertiaError as err:
        assert "wrongly" in str(err) or "self-test" in str(err)
    assert not build._flushes()
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".so" or path.name == "selftest"]


def test_without_a_compiler(puma: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "find_compiler", lambda: None)
    with pytest.raises(build.CompilerMissing, match="no C compiler"):
        compiled_model(puma, tmp_path)
    assert (tmp_path / "puma_560_physical.c").exists()


@pytest.mark.slow
def test_without_mujoco(
    done: tuple[Rehearsal, Path], puma: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingExtra("mujoco", "sim")

    monkeypatch.setattr(rehearsal, "Plant", missing)
    limits = motion_limits(puma, velocity=1.5, acceleration=4.0)
    training, unseen = done[0].training, done[0].unseen
    assert training is not None and unseen is not None
    result = rehearse(puma, SHORT, limits=limits, motions=(training, unseen), out=tmp_path)
    assert result.identification is None and "minertia[sim]" in result.skipped[0]
    assert (tmp_path / "code" / "puma_560_physical.c").exists() and result.to_dict()["control"] == []


def test_an_interrupted_search_ends_the_rehearsal(puma: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        interrupted = True

    monkeypatch.setattr(rehearsal, "excite", lambda *_, **__: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        rehearse(puma, out=tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_refusals(puma: Robot) -> None:
    with pytest.raises(MissingParameters):
        rehearse(read_robot("panda"))
    for bad in ({"noise": 0.0}, {"duration": -1.0}, {"rate": float("nan")}):
        with pytest.raises(OptionError, match=f"{next(iter(bad))} of RehearsalOptions must be a number"):
            RehearsalOptions(**bad)  # type: ignore[arg-type]
    with pytest.raises(Infeasible, match="at least 500"):
        RehearsalOptions(rate=100.0, duration=2.0)
    with pytest.raises(Infeasible, match="needs a rate above"):
        RehearsalOptions(rate=50.0, duration=20.0)
