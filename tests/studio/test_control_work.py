"""The job of the step Control: a simulated arm follows, and the controllers differ as they should."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.codegen.kernels.build import find_compiler
from minertia.io.errors import MinertiaError
from minertia.studio.control_work import control
from minertia.studio.job_work import JobWork
from minertia.studio.options import read_job
from minertia.studio.project import Project
from tests.arm import ARM

pytest.importorskip("mujoco")


def controlled(job: JobWork):
    return control(job, read_job("control", job.settings))


def work(folder, **settings) -> JobWork:
    (folder / "arm.urdf").write_text(ARM.format(name="arm"))
    project = Project(folder)
    (file,) = project.files()
    named = settings.pop("robot", None)
    project.choose_robot(**({"file": file.key} if named is None else {"bundled": named}))
    return JobWork(project, folder / "runs" / "0001-control", settings, lambda *args, **numbers: None)


def test_a_controller_that_knows_the_arm_follows_best(tmp_path):
    view, sentence = controlled(work(tmp_path, seconds=0.6))
    runs = {run["name"]: run for run in view["runs"]}
    assert list(runs) == ["computed torque", "PD with gravity", "PD alone"]
    known, blind = (np.linalg.norm(runs[name]["rms"]) for name in ("computed torque", "PD alone"))
    assert known < 0.2 * blind and sentence.startswith("computed torque: error")
    run = runs["computed torque"]
    assert len(run["t"]) == len(run["q"]) == len(run["reference"]) and len(run["q"][0]) == 2
    assert np.allclose(run["q"], run["reference"], atol=2e-3 * max(1.0, max(run["largest"])))


@pytest.mark.slow  # compiles
def test_hand_guiding_is_played(tmp_path):
    view, _ = controlled(work(tmp_path, seconds=0.5, shows=["guiding"]))
    if find_compiler() is None:
        assert view["skipped"] and "compiler" in view["skipped"][0]
        return
    guided = view["runs"][-1]
    assert guided["kind"] == "guiding" and len(guided["t"]) == len(guided["q"]) > 100
    assert "after release" in guided["sentence"] and guided["curves"][0]["unit"] == "N"


def test_a_robot_without_masses_gets_a_sentence(tmp_path):
    with pytest.raises(MinertiaError, match="no inertial parameters"):
        controlled(work(tmp_path, robot="planar2r"))
