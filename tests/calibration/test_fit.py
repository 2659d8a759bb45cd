"""Planted corrections come back, with intervals that hold, from nothing known of base and tool."""

from dataclasses import replace

import numpy as np
import pytest

from minertia.identification.campaigns.options import LEVELS
from minertia.identification.geometry.chain import chain_of, exponential
from minertia.identification.geometry.choice import chosen
from minertia.identification.geometry.fit import rms
from minertia.identification.geometry.folds import GeometryRows
from minertia.identification.geometry.joints import joint_columns
from minertia.identification.geometry.layout import Postures
from minertia.identification.geometry.readings import read_measurements
from minertia.identification.geometry.setups import other_joints, other_readings
from minertia.identification.geometry.spread import spread_of
from minertia.identification.logs.options import ColumnMap
from minertia.robot.files import read_robot
from tests.calibration.planted import arm, planted, points, write_csv

QS = tuple(f"q{j}" for j in range(1, 7))
GEOMETRY = ("zeros", "lengths", "angles")


def levels_of(rows, asked):
    return chosen(rows, asked, rows.fit(())).levels


ROBOTS = ("puma560", "ur10e", "panda", "iiwa14", "tx40", "rx90", "stanford", "scara", "puma260", "gantry",
          "planar2r", "cmu_dd_arm2")  # fmt: skip
PARALLEL = ("scara", "gantry", "planar2r", "cmu_dd_arm2")
INTERVALS = 2000  # a case: 0.95 with a deviation of some 0.006, since those of one draw are not independent


def coverage(chain, N, joints, draws, from_nothing=10**9):
    """Whether each 95 % interval holds the planted value, (draws, values).

    from_nothing: number of draws that are fitted with base and tool unknown.  The others start at the planted state,
    which is a third of the work; that both ends are one is checked on the first ones.
    """
    hits = []
    for seed in range(draws):
        postures, truth, state = planted(chain, N, seed, joints=joints)
        rows = GeometryRows(chain, postures, ())
        found = rows.fit(GEOMETRY, start=None if seed < from_nothing else state)
        deviations = spread_of(found).deviations
        inside = ~np.isin(found.groups, ["base", "tool"])
        if seed < from_nothing <= draws:
            again = rows.fit(GEOMETRY, start=state)
            assert np.abs((again.values - found.values) / deviations)[inside].max() < 0.05
        hits.append(np.abs((found.values - truth[found.active]) / deviations)[inside] < 1.96)
    return np.array(hits)


def test_planted_corrections_come_back_exactly_without_noise():
    chain = arm()
    postures, truth, _ = planted(chain, 60, 0, readings=0.0)
    found = GeometryRows(chain, postures, ()).fit(GEOMETRY)
    assert np.abs(found.values - truth[found.active]).max() < 1e-8


@pytest.mark.parametrize("joints", [0.0, 5e-5])
def test_intervals_hold(joints):
    hits = coverage(arm(), 40, joints, 8)
    assert 0.88 <= hits.mean() <= 0.99  # 8 draws of some 20 values: 3 deviations of their own scatter


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("joints", [0.0, 5e-5])
@pytest.mark.parametrize("N", [20, 40, 100])
def test_intervals_hold_on_every_robot(name, joints, N, record_property):
    chain = chain_of(read_robot(name))
    values = coverage(chain, N, joints, 1).size
    hits = coverage(chain, N, joints, -(-INTERVALS // values), 5)
    record_property("coverage", round(float(hits.mean()), 4))  # in the file of --junit-xml with -o junit_family=xunit1
    assert 0.93 <= hits.mean() <= 0.97


@pytest.mark.parametrize("name", PARALLEL)
def test_values_do_not_depend_on_where_the_instrument_stands(name):
    """The height at which nearly parallel axes are apart is that of the file, whatever the base is found to be."""
    chain = chain_of(read_robot(name))
    postures, truth, _ = planted(chain, 60, 0, readings=0.0)
    T = exponential(np.array([1.0, -2.0, 3.0, 0.5, 1.0, -0.8]))
    seen = tuple(replace(m, values=m.values @ T[:3, :3].T + T[:3, 3]) for m in postures.measures)
    found = GeometryRows(chain, replace(postures, measures=seen), ()).fit(GEOMETRY)
    own = ~np.isin(found.groups, ["base", "tool"])
    assert np.abs(found.values - truth[found.active])[own].max() < 1e-9


def test_corrections_of_prismatic_joints_are_lengths():
    chain = arm("stanford")
    postures, _, _ = planted(chain, 20, 1)
    columns = tuple(joint_columns(chain, ("gear", "sag"), postures.q, np.array([0.0, 0, -9.81])))
    units = GeometryRows(chain, postures, columns).layout(("gear", "sag")).units
    assert (units["K2"], units["K3"], units["DZ3"], units["RX2"]) == ("rad", "m", "m", "rad")
    sag = {column.name: column.joint for column in columns if column.group == "sag"}
    assert all(units[name] == ("m" if joint == 2 else "rad") for name, joint in sag.items())


def test_noise_of_readings_and_of_joints_are_told_apart():
    chain = arm()
    postures, _, _ = planted(chain, 100, 3, readings=2e-5, joints=1e-4)
    spread = spread_of(GeometryRows(chain, postures, ()).fit(GEOMETRY))
    assert spread.rows["m"] == pytest.approx(2e-5, rel=0.2)
    assert spread.joints == pytest.approx(1e-4, rel=0.2)


def test_a_posture_that_is_off_counts_less():
    chain = arm()
    postures, truth, _ = planted(chain, 80, 4)
    postures.measures[0].values[17] += 0.05
    found = GeometryRows(chain, postures, ()).fit(GEOMETRY)
    assert found.weights[17] < 0.05
    assert np.abs(found.values - truth[found.active])[~np.isin(found.groups, ["base", "tool"])].max() < 1e-3


def test_unseated_postures_in_a_row_hardly_matter():
    """Two runs of eight, each off by 1 mm in common; Huber's weights leave 3.5 times the error without them."""
    chain, rng = arm(), np.random.default_rng(4)
    postures, truth, state = planted(chain, 100, 4, readings=1e-4, joints=5e-5)
    rows = GeometryRows(chain, postures, ())
    clean = rows.fit(GEOMETRY, start=state)
    deviations = spread_of(clean).deviations
    for first in (20, 70):
        off = 1e-3 * rng.normal(size=3)
        for measure in postures.measures:
            measure.values[first : first + 8] += off
    own = ~np.isin(clean.groups, ["base", "tool"])
    errors = [rms(((f.values - truth[f.active]) / deviations)[own]) for f in (clean, rows.fit(GEOMETRY, start=state))]
    assert errors[1] < 2 * errors[0]


@pytest.mark.slow
def test_levels_stop_where_nothing_more_is_planted():
    chain = arm()
    columns = tuple(joint_columns(chain, ("sag", "gear"), planted(chain, 90, 5)[0].q, np.array([0, 0, -9.81])))
    zeros_only, _, _ = planted(chain, 90, 5, readings=2e-4, sizes={"zeros": 5e-3})
    assert levels_of(GeometryRows(chain, zeros_only, columns), tuple(LEVELS)) == ("zeros",)
    nothing, _, _ = planted(chain, 90, 6, readings=1e-3, sizes={})
    assert levels_of(GeometryRows(chain, nothing, columns), tuple(LEVELS)) == ()
    geometry, _, _ = planted(chain, 90, 7)
    assert levels_of(GeometryRows(chain, geometry, ()), ("zeros", "geometry")) == ("zeros", "geometry")


def test_sag_that_is_planted_is_found():
    chain = arm()
    postures, _, state = planted(chain, 120, 8)
    gravity = np.array([0, 0, -9.81])
    columns = tuple(joint_columns(chain, ("sag",), postures.q, gravity))
    problem = GeometryRows(chain, postures, columns)
    layout = problem.layout(("sag",))
    true = np.random.default_rng(0).normal(size=len(columns)) * 5e-4
    at = layout.moved(type(state)(state.placements, true, state.own))
    for measure, own in zip(postures.measures, state.own, strict=True):
        measure.values[:] = at.tool[:, :3, :3] @ own + at.tool[:, :3, 3]
    found = problem.fit((*GEOMETRY, "sag"))
    errors = problem.errors(found)
    assert rms(errors) < 1e-6
    assert rms(problem.errors(problem.fit(GEOMETRY))) > 1e-4


@pytest.mark.parametrize("size", [0.0, 5e-4])
def test_two_places_are_judged_by_all_readings(size):
    """Postures around two of them: sag is found where it is planted, and not where it is not."""
    chain, rng = arm(), np.random.default_rng(3)
    postures, _, state = planted(chain, 60, 8)
    places = np.repeat([0, 1], 30)
    q = rng.uniform(-1.2, 1.2, (2, chain.n))[places] + 0.4 * rng.normal(size=(60, chain.n))
    columns = tuple(joint_columns(chain, ("sag",), q, np.array([0, 0, -9.81])))
    layout = GeometryRows(chain, replace(postures, q=q), columns).layout(("sag",))
    tool = layout.moved(type(state)(state.placements, size * rng.normal(size=len(columns)), state.own)).tool
    for measure, own in zip(postures.measures, state.own, strict=True):
        measure.values[:] = tool[:, :3, :3] @ own + tool[:, :3, 3] + 2e-5 * rng.normal(size=(60, 3))
    rows = GeometryRows(chain, replace(postures, q=q), columns, places)
    assert levels_of(rows, ("zeros", "geometry", "sag")) == ("zeros", "geometry", "sag")[: 3 if size else 2]


def test_few_noisy_postures_support_what_the_likelihood_shows():
    """Held-out regions of 14 postures decide nothing; corrections that are there reduce the error elsewhere."""
    chain, ratios = arm("ur10e"), []
    for seed in (1, 2):
        postures, _, state = planted(chain, 14, seed, readings=2e-3, sizes={"zeros": 3e-3, "angles": 3e-3})
        rows = GeometryRows(chain, postures, ())
        nominal = rows.fit(())
        choice = chosen(rows, ("zeros", "geometry"), nominal)
        q = np.random.default_rng(seed).uniform(-1.5, 1.5, (40, chain.robot.n))
        unseen = GeometryRows(chain, Postures(q, points(chain, state, q, np.random.default_rng(0), 0.0, 0.0)), ())
        errors = [rms(unseen.errors(found)) for found in (rows.fit(choice.groups, start=nominal.state), nominal)]
        ratios.append(errors[0] / errors[1])
    assert max(ratios) < 0.85


def test_nothing_is_fitted_to_a_handful_of_postures_but_what_they_show():
    """Four postures have no regions; corrections of joint positions would follow their noise."""
    chain = arm("ur10e")
    postures, _, _ = planted(chain, 4, 1)
    columns = tuple(joint_columns(chain, ("sag", "gear"), postures.q, np.array([0, 0, -9.81])))
    found = levels_of(GeometryRows(chain, postures, columns), tuple(LEVELS))
    assert set(found) <= {"zeros", "geometry"}


def test_sizes_of_small_corrections_are_small():
    """The usual size of a file's errors decides nothing where readings do."""
    chain = arm("ur10e")
    postures, _, state = planted(chain, 60, 3, sizes={"zeros": 1e-4, "lengths": 1e-5, "angles": 1e-4})
    sizes = GeometryRows(chain, postures, ()).fit(GEOMETRY, start=state).sizes.groups
    assert sizes["lengths"] < 1.5e-4 and sizes["angles"] < 8e-4 and sizes["zeros"] < 3e-3


def yielding(chain, seed, masses=1.0):
    """Readings of an arm whose joints yield to gravity, its compliances [rad/(N m)] and state; masses: of the file."""
    postures, _, state = planted(chain, 80, seed)
    columns = joint_columns(chain, ("compliance",), postures.q, np.array([0, 0, -9.81]))
    true = np.array([4e-4 / column.size for column in columns]) * np.arange(1, len(columns) + 1)
    bent = state.placements, np.array([c.size * x for c, x in zip(columns, true, strict=True)]), state.own
    tool = GeometryRows(chain, postures, tuple(columns)).layout(("compliance",)).moved(type(state)(*bent)).tool
    rng = np.random.default_rng(seed)
    for measure, own in zip(postures.measures, state.own, strict=True):
        measure.values[:] = tool[:, :3, :3] @ own + tool[:, :3, 3] + 1e-5 * rng.normal(size=(80, 3))
    links = tuple(tuple(x * rng.uniform(1 / masses, masses) for x in link) for link in chain.robot.links)
    known = chain_of(replace(chain.robot, links=links))
    columns = joint_columns(known, ("compliance", "sag"), postures.q, np.array([0, 0, -9.81]))
    return GeometryRows(known, postures, tuple(columns)), true, state


def test_compliances_come_back_where_masses_are_known():
    rows, true, _ = yielding(arm("ur10e"), 3)
    assert levels_of(rows, ("zeros", "geometry", "compliance", "sag")) == ("zeros", "geometry", "compliance")
    z = compliance_errors(rows.fit((*GEOMETRY, "compliance")), true)
    assert np.abs(z).max() < 3.5 and len(z) == 4  # the first axis is vertical, the last one carries nothing


def compliance_errors(found, true):
    """Errors of the compliances over their deviations."""
    own = np.flatnonzero(found.groups == "compliance")
    sizes = np.array([column.size for column in found.layout.joint_columns])
    return (found.values[own] / sizes - true) * sizes / spread_of(found).deviations[own]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur10e", "puma560"])
def test_intervals_of_compliances_hold(name, record_property):
    hits = []
    while len(hits) < 1000:
        rows, true, state = yielding(arm(name), len(hits))
        hits += list(np.abs(compliance_errors(rows.fit((*GEOMETRY, "compliance"), start=state), true)) < 1.96)
    record_property("coverage", round(float(np.mean(hits)), 4))
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.slow
def test_products_take_the_place_of_compliances_where_masses_are_wrong():
    rows, *_ = yielding(arm("ur10e"), 3, masses=4.0)
    assert levels_of(rows, ("zeros", "geometry", "compliance", "sag")) == ("zeros", "geometry", "sag")


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("degrees", lambda q: np.rad2deg(q)),
        ("sign of joint", lambda q: q * np.array([1, 1, 1, -1, 1, 1])),
        ("exchanged", lambda q: q[:, [0, 1, 2, 4, 3, 5]]),
        ("row", lambda q: np.roll(q, 1, axis=0)),
        ("measured relative to", lambda q: q - np.eye(6)[2] * q[:, [1]]),
    ],
)
def test_a_wrong_reading_is_named(what, change):
    chain = arm("ur10e")
    postures, _, _ = planted(chain, 60, 9)
    wrong = type(postures)(change(postures.q), postures.measures)
    found = other_readings(GeometryRows(chain, wrong, ()), 2.0)
    assert found and what in found[0].what


def test_a_right_reading_is_not_doubted():
    chain = arm("ur10e")
    postures, _, _ = planted(chain, 60, 9)
    assert other_readings(GeometryRows(chain, postures, ()), 2.0) == ()


@pytest.mark.parametrize("is_late", [True, False])
def test_commanded_joints_are_named_where_reported_ones_were_read_before_standstill(tmp_path, is_late):
    chain = arm("ur10e")
    postures, _, _ = planted(chain, 40, 9)
    sent, rng = postures.q, np.random.default_rng(0)
    to_go = np.diff(sent, axis=0, prepend=0) * 2e-3
    write_csv(tmp_path / "both.csv", replace(postures, q=sent - to_go if is_late else sent), QS)
    table = np.genfromtxt(tmp_path / "both.csv", delimiter=",", names=True)
    commanded = sent if is_late else sent + 1e-3 * rng.normal(size=sent.shape)
    names = [*table.dtype.names, *(f"q_cmd{j}" for j in range(1, 7))]
    whole = np.column_stack([*(table[name] for name in table.dtype.names), commanded])
    np.savetxt(tmp_path / "both.csv", whole, delimiter=",", header=",".join(names), comments="")
    read = read_measurements([tmp_path / "both.csv"], chain, ColumnMap(angle="rad", length="m")).postures
    found = other_joints(GeometryRows(chain, read, ()), ("zeros",))
    assert [one.check for one in found] == (["joints"] if is_late else [])
    assert not is_late or ("standstill" in found[0].sentence and found[0].after < 0.8 * found[0].before)
