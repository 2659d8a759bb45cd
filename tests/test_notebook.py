"""What a notebook shows of results: short reprs, escaped tables, frames, figures, and what to install for them."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import minertia as mi
from minertia.io.errors import MissingExtra, UnknownName
from minertia.io.notebook import POINTS, clipped, frame, html_table, stated, thinned_curve
from tests.arm import LOAD, recorded_arm

LONGEST = 200


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """One of each result, of the arm."""
    folder = recorded_arm(tmp_path_factory.mktemp("arm"))
    robot = mi.read_robot(folder / "arm.urdf")
    campaign = mi.Campaign(robot, folder / "a.csv", folder / "b.csv", effects=("viscous", "coulomb"))
    problem = mi.build_problem(campaign)
    estimate = mi.solve(problem)
    result = mi.judge(problem, estimate)
    model = result.model()
    limits = mi.motion_limits(robot, acceleration=20)
    motion = mi.excite(
        robot, mi.excitation.Fourier(4, 3), limits=limits, search=mi.options.MotionSearch(starts=1, n_samples=60)
    )
    return SimpleNamespace(
        folder=folder,
        robot=robot,
        base=mi.base_parameters(robot, rotors=True),
        recording=mi.read_recording(folder / "a.csv", robot),
        campaign=campaign,
        problem=problem,
        estimate=estimate,
        result=result,
        model=model,
        payload=mi.identify_payload(model, folder / "loaded.csv"),
        significance=mi.significance(problem),
        motion=motion,
        validated=mi.validate(model, folder / "c.csv")[0],
        code=mi.generate(model.to_robot(), None, programs=["gravity"]),
    )


def parts(shown: SimpleNamespace) -> list[object]:
    """Everything that a user meets by asking for an attribute of a result."""
    s, log, sig = shown, shown.problem.logs[0], shown.significance
    return [
        *(getattr(s, name) for name in vars(s)),
        *(s.robot.joints[0], s.base.certificate, s.campaign.columns, s.campaign.filter, s.campaign.train[0]),
        *(s.problem.linear, s.problem.observation, s.problem.observation.logs[0], s.problem.excitation),
        *(
            log,
            next(iter(log)),
            next(iter(log.judged)),
            log.recorded,
            log.recording,
            s.estimate.fit,
            sig.one_percent,
            sig.elimination,
        ),
        *(s.result.evidence, s.result.verdict, s.result.training, s.result.parameters[0]),
        *(s.result.evidence.spread, s.result.evidence.left_out),
        *(s.motion.trajectory, s.motion.motion, s.motion.margins, s.motion.limits, s.motion.found),
    ]


def test_every_repr_is_short(shown: SimpleNamespace) -> None:
    for thing in parts(shown):
        assert len(repr(thing)) <= LONGEST and "\n" not in repr(thing), type(thing).__name__


def test_a_repr_says_what_it_is(shown: SimpleNamespace) -> None:
    assert repr(shown.recording).startswith("<Recording 'a.csv': 2400 samples of 2 joints, 11.99 s at 200 Hz; q, tau")
    assert "10 values" in repr(shown.result) and repr(shown.result).endswith("of validation logs; good>")
    assert re.search(r"0\.75\d* kg \(deviation 0\.\d+\)", repr(shown.payload))
    assert repr(mi.options.Filter(cutoff_hz=9.0)) == "Filter(cutoff_hz=9.0)"  # what is not stated is left out
    assert repr(mi.options.ColumnMap()) == "ColumnMap()"


def test_a_repr_stays_short_whatever_a_file_holds(shown: SimpleNamespace) -> None:
    long = replace(shown.robot, name="x" * 500 + "\n", symbols={f"l{k}": 1.0 for k in range(300)})
    assert len(repr(long)) <= LONGEST and "\n" not in repr(long)
    many = mi.options.ColumnMap(effort=tuple(f"motor_{k}" for k in range(300)))
    assert len(stated(many)) <= LONGEST
    assert clipped("a" * 80, 10) == "aaaaaaa..."


# ---------------------------------------------------------------------- tables

TABLES = ("robot", "base", "recording", "result", "model", "payload", "significance", "motion", "validated", "code")


class Cells(HTMLParser):
    """The text of a table's cells; every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_whole_and_have_the_colours_of_the_page(shown: SimpleNamespace, name: str) -> None:
    text = getattr(shown, name)._repr_html_()
    assert Cells(text).cells
    styles = ";".join(re.findall(r'style="([^"]*)"', text))
    colours = set(re.findall(r"(?:color|background)[\w-]*:([^;]*)", styles)) | set(re.findall(r"solid ([^;]*)", styles))
    assert colours == {"inherit", "currentColor"}  # readable on light and on dark


def test_tables_tell_the_values(shown: SimpleNamespace) -> None:
    assert {"ZZR1", "ZZ1 + y2**2*M2"} <= set(Cells(shown.result._repr_html_()).cells)
    assert f"{shown.payload.mass:.5g}" in Cells(shown.payload._repr_html_()).cells


def test_tables_escape_names(shown: SimpleNamespace) -> None:
    evil = "<script>alert(1)</script>\x1b"
    assert Cells(html_table(evil, ["a"], [[evil]], notes=[evil])).cells == ["<script>alert(1)</script>\\x1b"]
    robot = replace(shown.robot, name=evil)
    for thing in (robot, replace(shown.base, robot=robot), replace(shown.recording, source=evil, joints=(evil, "b"))):
        assert "<script" not in thing._repr_html_()
        assert "<script" not in getattr(thing, "_repr_latex_", str)()


def test_latex_of_base_parameters(shown: SimpleNamespace) -> None:
    text = shown.base._repr_latex_()
    assert text.startswith("$$") and text.endswith("$$")
    assert r"\mathit{ZZ}_{R1} &= \mathit{ZZ}_{1} + \mathit{IA}_{1} + y_{2}^{2}\,M_{2}" in text


# ---------------------------------------------------------------------- frames


def test_frame_of_a_recording(shown: SimpleNamespace) -> None:
    table = shown.recording.to_frame()
    assert list(table.columns) == ["q1", "q2", "tau1", "tau2"] and table.index.name == "t"
    assert np.array_equal(table[["tau1", "tau2"]].to_numpy(), shown.recording.tau)
    assert table.attrs["joints"] == ["shoulder", "elbow"]


def test_frame_of_an_identification(shown: SimpleNamespace) -> None:
    table = shown.result.to_frame()
    first = shown.result.parameters[0]
    row = table.loc[first.name]
    assert (row["value"], row["deviation"], row["low"], row["high"]) == (first.value, first.deviation, *first.interval)
    assert (row["class"], row["relation"]) == ("combination", "ZZ1 + y2**2*M2")
    assert table.drop(columns="relation").equals(shown.model.to_frame().drop(columns="relation"))


def test_frame_of_a_motion(shown: SimpleNamespace) -> None:
    table = shown.motion.to_frame()
    assert list(table.columns) == ["q1", "q2", "qd1", "qd2", "qdd1", "qdd2"]
    assert np.array_equal(table["qdd2"].to_numpy(), shown.motion.trajectory.qdd[:, 1])


def test_frame_of_base_parameters(shown: SimpleNamespace) -> None:
    table = shown.base.to_frame()
    assert list(table.index) == list(shown.base.names)
    assert np.allclose(table["value"], shown.base.values())
    assert table.loc["ZZR1", "relation"] == "ZZ1 + IA1 + y2**2*M2"
    bare = mi.base_parameters(mi.read_robot("planar2r")).to_frame()  # a robot without masses
    assert bare["value"].isna().all()


def test_frame_of_a_payload(shown: SimpleNamespace) -> None:
    table = shown.payload.to_frame()
    assert abs(table.loc["mass", "value"] - LOAD) < 5 * table.loc["mass", "deviation"]
    assert list(table.index[:4]) == ["mass", "x", "y", "z"] and set(table["unit"]) == {"kg", "m", "kg m2"}


def test_frame_of_essential_parameters(shown: SimpleNamespace) -> None:
    table = shown.significance.to_frame()
    assert set(table.index[table["essential"]]) == set(shown.significance.elimination.essential)
    assert set(table.index[table["contributes"]]) == set(shown.significance.one_percent.essential)


# --------------------------------------------------------------------- figures


@pytest.mark.parametrize("name", ["recording", "result", pytest.param("motion", marks=pytest.mark.slow), "base"])
def test_figures_are_drawn_beside_pyplot(shown: SimpleNamespace, name: str) -> None:
    figure = getattr(shown, name).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or all(pyplot.figure(number) is not figure for number in pyplot.get_fignums())


def test_figure_of_an_identification(shown: SimpleNamespace) -> None:
    axes = shown.result.plot().get_axes()
    measured, predicted = axes[0].get_lines()
    assert np.abs(measured.get_ydata() - predicted.get_ydata()).max() < 0.05  # N m of about 10
    assert shown.result.plot().get_suptitle() == "b.csv (not fitted)"
    assert shown.result.plot("a.csv").get_suptitle() == "a.csv (fitted)"
    with pytest.raises(UnknownName, match="there is no log called 'z.csv'"):
        shown.result.plot("z.csv")


def test_figure_of_a_fitted_motion(shown: SimpleNamespace) -> None:
    motion = next(iter(shown.problem.logs[0]))
    figure = mi.identify(shown.robot, motion, effects=("viscous", "coulomb"), estimator="wls").plot()
    assert "(fitted)" in figure.get_suptitle()


def test_figure_of_a_motion_has_its_limits(shown: SimpleNamespace) -> None:
    ax = shown.motion.plot().get_axes()[2]  # acceleration of the first joint
    assert sorted(line.get_ydata()[0] for line in ax.get_lines()[1:]) == [-20, 20]


def test_figure_of_base_parameters_has_the_gap(shown: SimpleNamespace) -> None:
    kept, rest, _ = shown.base.plot().get_axes()[0].get_lines()
    assert len(kept.get_ydata()) == shown.base.count
    assert min(kept.get_ydata()) > 1e6 * max(rest.get_ydata())


def test_thinned_curves_keep_what_sticks_out() -> None:
    t, y = np.arange(100_000.0), np.zeros(100_000)
    y[54_321] = 7.0
    x, shown = thinned_curve(t, y)
    assert len(x) <= POINTS and shown.max() == 7.0 and x[np.argmax(shown)] == 54_321


# ------------------------------------------------------------- without packages


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [NoSuch(package), *sys.meta_path])


class NoSuch:
    """An import system in which one package is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named '{name}'", name=self.package)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, shown: SimpleNamespace) -> None:
    without(monkeypatch, "pandas")
    with pytest.raises(MissingExtra, match=r"pip install 'minertia\[notebook\]'"):
        frame({"a": [1]}, "a")
    without(monkeypatch, "sympy")
    with pytest.raises(MissingExtra, match=r"pip install 'minertia\[symbolic\]'"):
        shown.base.to_sympy()


# ------------------------------------------------------------------ model files


def test_a_model_saves_itself(shown: SimpleNamespace, tmp_path: Path) -> None:
    shown.model.save(tmp_path / "model.toml")
    assert np.array_equal(mi.read_model(tmp_path / "model.toml").beta, shown.model.beta)
