"""The CUDA target: functions run on the host, kernels compile where there is nvcc and run where there is a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

import minertia as mi
from tests.codegen import robots

NVCC = shutil.which("nvcc")
CXX = shutil.which(os.environ.get("CXX", "c++").split()[0])


@pytest.fixture(scope="module", params=["planar2r", pytest.param("puma560_physical", marks=pytest.mark.slow)])
def folder(request, tmp_path_factory):
    """All kinds of arrays: vectors, matrices, parameters that are prepared, friction with exp and tanh."""
    robot = mi.read_robot(request.param).with_parameters(
        {"FS2": 1.5, "FCT1": 2.0}, {"FS2": {"velocity": 0.1}, "FCT1": {"width": 0.05}}
    )
    out = tmp_path_factory.mktemp("cuda") / "code"
    programs = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "friction")
    mi.generate(robot, out, programs=programs, target="cuda", model=mi.options.CodeModel("base"))
    return out


@pytest.mark.skipif(CXX is None, reason="no C++ compiler")
@pytest.mark.parametrize("precision", ["double", "float"])
def test_functions_on_the_host(tmp_path, folder, precision):
    if precision == "float":
        folder = tmp_path / "code"
        mi.generate(robots.planar2r(), folder, target="cuda", arithmetic=mi.options.Arithmetic("float"))
    flags = ["-x", "c++", "-std=c++14", "-Wall", "-Wextra", "-Werror", "-O1", "-o", str(tmp_path / "host")]
    subprocess.run([CXX, *flags, str(folder / "selftest.cu")], check=True)
    found = subprocess.run([tmp_path / "host"], check=True, capture_output=True, text=True).stdout
    assert "FAILED" not in found and found.count(" ok ") >= 3
    assert "compiled without CUDA" in found


@pytest.mark.skipif(NVCC is None, reason="no CUDA compiler")
def test_kernels_compile_without_stack_and_run_where_there_is_a_device(tmp_path, folder):
    command = [NVCC, "-O1", "-std=c++14", "-Xptxas", "-v", "-o", str(tmp_path / "device"), str(folder / "selftest.cu")]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert "bytes stack frame" in told
    for line in told.splitlines():
        assert "bytes stack frame" not in line or line.strip().startswith("0 bytes stack frame"), line
    found = subprocess.run([tmp_path / "device"], check=True, capture_output=True, text=True).stdout
    assert "FAILED" not in found
    assert "no CUDA device" in found or "sample-major" in found


def test_loops_are_not_inlined(tmp_path):
    """An inlined loop over columns gave wrong values on a device, whatever nvcc was told but -G."""
    robot, model = mi.read_robot("planar2r"), mi.options.CodeModel("base")
    mi.generate(robot, tmp_path / "code", programs=["recursive_update"], target="cuda", model=model)
    (path,) = (tmp_path / "code").glob("*.cuh")
    text = path.read_text()
    assert "MINERTIA_LOOPS void planar_2r_recursive_update(" in text
    assert "MINERTIA_LOOPS static __host__ __device__ __noinline__" in text


def test_the_file_names_its_layouts(folder):
    (path,) = folder.glob("*.cuh")
    text = path.read_text()
    assert f"{path.stem}_inverse_dynamics_joint_major" in text
    assert f"{path.stem}_inverse_dynamics_sample_major" in text
    assert "sinf(" not in text and " sin(" not in text  # own ones: those of the library keep a stack
    assert {p.name for p in folder.iterdir()} >= {"CMakeLists.txt", "README.md", "selftest.cu"}
