"""Planted corrections come back through every kind of measurement, base and tool not known.

Places touched several times are in the sockets of a Panda (test_command.py).
"""

import re
from pathlib import Path

import numpy as np
import pytest

import minertia as mi
from minertia.calibration.calibrate import calibrate
from minertia.identification.campaigns.options import MEASURED, CalibrationOptions, MeasureColumns
from minertia.identification.geometry.base import exact_readings
from minertia.identification.geometry.chain import exponential, moved
from minertia.identification.geometry.fit import rms
from minertia.identification.geometry.folds import GeometryRows
from minertia.identification.geometry.layout import Postures
from minertia.identification.geometry.measures import KINDS, PixelMeasure, PixelToolMeasure, projected
from minertia.identification.logs.options import ColumnMap
from minertia.io.errors import InputError
from tests.calibration.planted import arm

GEOMETRY = ("zeros", "lengths", "angles")


def test_a_row_is_all_that_names_a_kind():
    """No module of the package but the one with the table asks for a kind by its name."""
    folder = Path(mi.__file__).parent
    own = {"distance_between", "same_point"}  # a known distance of places is written as a [[measure]] of its own
    for path in (*folder.glob("identification/geometry/*.py"), *folder.glob("calibration/*.py")):
        named = set(re.findall(r"""(?:==|!=|in) \(?"(\w+)\"""", path.read_text("utf-8"))) & set(MEASURED)
        assert named <= (own if path.name == "readings.py" else set()), path


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("same_point", "pixel", "pixel_tool")])
def test_readings_never_fitted_are_predicted(kind):
    chain = arm("ur10e")
    rng = np.random.default_rng(3)
    errors = np.zeros((7, 6))
    errors[1:6] = rng.normal(size=(5, 6)) * ([5e-4] * 3 + [2e-3] * 3)
    placements = chain.nominal @ exponential(errors)
    if KINDS[kind].has_base:
        base = exponential(np.array([0.4, -0.3, 4.0, 0.3, -0.2, 0.5]))
        placements[0] = base @ placements[0]
    q = rng.uniform(-1.5, 1.5, (120, 6))
    tool = moved(placements, chain.is_hinge, chain.positions(q)).tool
    made, _ = exact_readings(kind, tool, np.random.default_rng(4))
    problem = GeometryRows(chain, Postures(q, made), ())
    fitted, unseen = np.arange(80), np.arange(80, 120)
    kept = unseen if kind != "distance_between" else np.arange(120)  # its pairs reach over the whole
    found = problem.fit(GEOMETRY, fitted if kind != "distance_between" else None)
    sizes = problem.errors(found, kept)
    nominal = problem.fit((), fitted if kind != "distance_between" else None)
    assert rms(sizes) < 1e-2 * rms(problem.errors(nominal, kept)), rms(sizes)


CAMERA = (900.0, 900.0, 640.0, 512.0)


@pytest.mark.parametrize("kind", ["pixel", "pixel_tool"])
def test_a_camera_is_found_from_nothing(kind):
    """Pixels with a tenth of noise, at postures where the target is before the camera."""
    chain, rng = arm("ur10e"), np.random.default_rng(5)
    errors = np.zeros((7, 6))
    errors[1:6] = rng.normal(size=(5, 6)) * ([5e-4] * 3 + [2e-3] * 3)
    placements = chain.nominal @ exponential(errors)
    q = rng.uniform(-1.5, 1.5, (4000, 6))
    if kind == "pixel":
        placements[0] = exponential(np.array([0.2, -0.3, 3.0, 0.8, -0.5, 0.4])) @ placements[0]
        tool = moved(placements, chain.is_hinge, chain.positions(q)).tool
        x, mark = tool[:, :3, :3] @ [0.05, 0.1, 0.08] + tool[:, :3, 3], None
    else:
        placements[6] = placements[6] @ exponential(np.array([0.05, 0.1, 0.02, 0.3, -0.2, 0.4]))
        tool = moved(placements, chain.is_hinge, chain.positions(q)).tool
        marks, mark = rng.normal(size=(3, 3)) + [2.0, 0.0, 0.5], rng.integers(0, 3, len(q))
        x = np.einsum("nji,nj->ni", tool[:, :3, :3], marks[mark] - tool[:, :3, 3])
    ahead = np.flatnonzero((x[:, 2] > 0.4) & (np.abs(x[:, :2]).max(axis=1) < x[:, 2]))[:200]
    pixels = projected(CAMERA, x[ahead])[0] + 0.1 * rng.normal(size=(len(ahead), 2))
    numbers = np.arange(len(ahead))
    made = PixelMeasure(numbers, pixels, "1", CAMERA)
    if mark is not None:
        made = PixelToolMeasure(numbers, pixels, "1", CAMERA, mark[ahead])
    problem = GeometryRows(chain, Postures(q[ahead], (made,)), ())
    fitted, unseen = numbers[:140], numbers[140:]
    nominal, found = problem.fit((), fitted), problem.fit(GEOMETRY, fitted)
    assert rms(problem.errors(found, unseen)) < 0.2 < 3 * 0.2 < rms(problem.errors(nominal, unseen))


def test_too_few_pixels_are_refused(tmp_path):
    rows = [",".join(f"{v:g}" for v in row) for row in np.random.default_rng(0).uniform(-1, 1, (9, 8))]
    (tmp_path / "m.csv").write_text("\n".join(["q1,q2,q3,q4,q5,q6,u,v", *rows]))
    measures = (MeasureColumns("pixel", "1", ("u", "v"), camera=(600, 600, 320, 240)),)
    with pytest.raises(InputError, match="too few to initialise a camera"):
        calibrate("ur10e", tmp_path / "m.csv", columns=ColumnMap(angle="rad"), measures=measures)


def test_fixed_points_keep_their_names_in_other_files(tmp_path):
    """Distances to points A, B, C, D fitted; a file that has C alone is read as C, and E is refused."""
    chain, rng = arm("ur10e"), np.random.default_rng(6)
    fixed = {"A": [2, 0, 0], "B": [0, 2, 1], "C": [-2, 0, 1], "D": [0.5, -2, 0.3]}
    q = rng.uniform(-1.5, 1.5, (160, 6))
    errors = np.zeros((7, 6))
    errors[1:6, 5] = 3e-3 * rng.normal(size=5)
    errors[6, :3] = 0.05, 0.08, 0.1
    tool = moved(chain.nominal @ exponential(errors), chain.is_hinge, chain.positions(q)).tool[:, :3, 3]

    def write(name, postures, labels):
        rows = ["q1,q2,q3,q4,q5,q6,d,point"]
        for k, label in zip(postures, labels, strict=True):
            d = np.linalg.norm(tool[k] - fixed.get(label, [1, 1, 1])) + 1e-5 * rng.normal()
            rows.append(",".join([*(f"{v:.9g}" for v in q[k]), f"{d:.9g}", label]))
        (tmp_path / name).write_text("\n".join(rows))
        return tmp_path / name

    fitted = write("f.csv", range(130), ["ABCD"[k % 4] for k in range(130)])
    unseen, strange = (write(f"{name}.csv", range(130, 160), name * 30) for name in "CE")
    measures = (MeasureColumns("distance", "wire", ("d",), groups=("point",)),)
    given = {"columns": ColumnMap(angle="rad", length="m"), "measures": measures}
    found = calibrate("ur10e", fitted, unseen, options=CalibrationOptions(("zeros",)), **given)
    assert found.verdict.is_good and found.validation[0].rms < 5e-5, found.verdict.reasons
    (again,) = mi.validate(found.model(), unseen)
    assert again.rms == pytest.approx(found.validation[0].rms, rel=1e-6)
    with pytest.raises(mi.MinertiaError, match="'E' of the measurement 'wire' is not among the fitted targets"):
        mi.validate(found.model(), strange)
