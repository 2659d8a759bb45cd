"""Operation counts against the published ones, read from the emitted C.

Found by a search of 45 s with seed 0 and replayed here: tests/golden/representatives.json.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minertia.codegen.count import Count, count_c
from minertia.codegen.generate import MODEL, count_programs, generate
from minertia.codegen.options import CodeModel, CodeSearch
from minertia.codegen.programs import build
from minertia.codegen.setting import Representative, Setting
from minertia.robot.files import read_robot
from tests.codegen import c_counter, robots
from tests.random_robots import random_robot, random_ten

FOUND = json.loads((Path(__file__).parents[1] / "golden" / "representatives.json").read_text())


def _count(robot, program="inverse_dynamics", model=MODEL, **search):
    counts = generate(robot, None, programs=(program,), model=model, search=CodeSearch(**search)).counts[program]
    return counts["multiplications"], counts["additions"]


def _at_most(found, limit):
    assert found[0] <= limit[0] and found[1] <= limit[1], f"{found} is above {limit}"


@pytest.mark.parametrize("n", [pytest.param(n, marks=() if n in (4, 6) else pytest.mark.slow) for n in range(4, 10)])
def test_general_chain(n):
    """Lin 1995: (89n-82)M (77n-71)A; Gautier and Khalil 1990: (92n-127)M (81n-117)A."""
    _at_most(_count(robots.general(n)), (87 * n - 122, 75 * n - 115))
    assert _count(robots.general(n), model=CodeModel("base")) == _count(robots.general(n))


@pytest.mark.parametrize(
    ("robot", "limit"),
    [
        (robots.stanford(), (224, 207)),  # papers 231M 219A, 232M 218A
        (robots.stanford_usual(), (136, 96)),  # papers 139M 101A, 142M 99A
        (robots.puma560(True), (249, 233)),
        (robots.puma560(), (168, 136)),
        (robots.rx90(), (236, 221)),
        (robots.panda(), (311, 288)),
    ],
    ids=["stanford", "stanford usual", "puma560 all", "puma560 diagonal", "rx90", "panda"],
)
def test_without_search(robot, limit):
    _at_most(_count(robot), limit)


@pytest.mark.parametrize(
    ("name", "robot", "limit"),
    [
        ("general6", robots.general(6), (386, 314)),
        ("stanford_usual", robots.stanford_usual(), (136, 96)),  # papers 139M 101A, 142M 99A
        ("stanford_usual", robots.stanford_usual(1), (136, 96)),  # no luck with equal numbers
        ("stanford", robots.stanford(), (224, 207)),
        ("puma560", robots.puma560(), (164, 133)),
        ("puma560_full", robots.puma560(True), (247, 230)),
        ("rx90", robots.rx90(), (234, 219)),
        ("panda", robots.panda(), (306, 283)),
    ],
)
def test_with_search(name, robot, limit):
    choice = Representative.from_dict(FOUND[name])
    _at_most(_count(robot, representatives={"inverse_dynamics": choice}), limit)


def test_a_short_search_helps():
    assert sum(_count(robots.general(5), effort=2.0)) < 313 + 260


def test_puma560_without_the_luck_of_equal_numbers():
    """At run time only the zeros are known, not that two of the published moments are equal."""
    _at_most(_count(robots.puma560(), model=CodeModel("standard")), (176, 140))
    choice = {"inverse_dynamics": Representative.from_dict(FOUND["puma560"])}
    _at_most(_count(robots.puma560(), model=CodeModel("standard"), representatives=choice), (171, 137))


# the parameters that contribute 1 % of a joint's largest effort or more, on random motions: 13 inertial ones
PUMA260 = ("ZZR1", "XXR2", "XZR2", "ZZR2", "MXR2", "XXR3", "ZZR3", "MYR3", "ZZR4", "XXR5", "ZZR5", "MYR5", "ZZ6")


@pytest.mark.parametrize(
    ("program", "payload", "limit"),
    [
        ("coefficients", False, (98, 70)),
        ("velocity_torque", False, (140, 110)),
        ("coefficients", True, (190, 150)),
        ("velocity_torque", True, (200, 170)),
    ],
)
def test_puma260(program, payload, limit):
    """Below Izaguirre, Hashimoto, Paul and Hayward 1992."""
    robot = read_robot("puma260")
    found = _count(robot, program, CodeModel("base", essential=PUMA260, payload=payload))
    assert found[0] < limit[0] and found[1] < limit[1]


def test_the_counter_reads_c():
    text = """
    /* a * b + c */ #define X 1 * 2
    static void hidden(int n, double *x) { x[0] = x[1] * 2.0; }
    void p_prepare(const double *theta, p_prepared *k) { k->k[0] = theta[0] * theta[1]; }
    void p(const double *q, double *tau)
    {
      double angle[2], s[2], c[2];
      p_sincos(2, angle, s, c);
      const double t0 = 2.0 * q[0]; // one
      const double t1 = -t0 - 1e-05 * q[1];
      const double t2 = sin(t1) / cos(q[2]);
      tau[0] = -t2;
      tau[1] = prepared->k[0];
    }
    """
    counts = count_c("\n".join(line.strip() for line in text.splitlines()))
    assert counts == {"p": Count(3, 1, 6, 7)}


TWICE = ("inverse_dynamics", "mass_matrix", "gravity", "velocity_torque", "coefficients", "forward_dynamics")
ARMS = {
    "general": robots.general(6),
    "stanford": robots.stanford(),
    "stanford usual": robots.stanford_usual(),
    "puma560": read_robot("puma560"),
    **{f"random {seed}": random_robot(seed, n=5) for seed in range(3)},
}


MORE = ("random 1", "random 2", "stanford usual")


@pytest.mark.parametrize(
    "name", [*(n for n in ARMS if n not in MORE), *(pytest.param(n, marks=pytest.mark.slow) for n in MORE)]
)
@pytest.mark.parametrize("model", [CodeModel(), CodeModel("standard"), CodeModel(formulation="mlc")], ids=str)
def test_a_second_counter_finds_the_same(name, model, tmp_path):
    """Counts of the product against those of Python's parser on the same C, sines and cosines included."""
    programs = TWICE[:1] if model.formulation == "mlc" else TWICE
    result = generate(ARMS[name], tmp_path, programs=programs, model=model)
    code = next(path for path in tmp_path.glob("*.c") if path.stem != "selftest").read_text(encoding="utf-8")
    for program, counts in result.counts.items():
        ours = tuple(counts[kind] for kind in ("multiplications", "additions", "trigonometric"))
        assert c_counter.operations(code, program) == ours
        assert ours[0] > 0


def test_counts_of_a_robot_without_parameters():
    result = count_programs(read_robot("ur10e"))
    assert result.folder is None and set(result.counts["gravity"]) >= {"multiplications", "inputs", "lines"}
    assert "inverse_dynamics" in str(result) and result.to_dict()["programs"]


def test_loops_are_counted_as_often_as_they_run():
    text = """
    void p(const double *x, double *y)
    {
      static const int first[2] = {0, 2};
      for (int row = 0; row < 2; ++row) {
        double sum = x[row * 3 + 1] * 2.0;
        for (int j = first[row]; j < 3; ++j) {
          for (int i = 0; i <= j; ++i)
            sum += x[i * 3 - i * (i + 1) / 2 + j] * x[i];
          sum = sqrt(sum);
        }
        y[row] = sum;
      }
      y[0] = y[0] / x[0];
    }
    """
    inner = (1 + 2 + 3) + 3
    found = count_c("\n".join(line.strip() for line in text.splitlines()))["p"]
    assert (found.multiplications, found.additions, found.functions) == (2 + inner + 1, inner, 3 + 1)


def test_the_loops_of_the_estimator_are_counted_as_written_out():
    """58 parameters: the operations of the same update on expressions, zeros of the first columns left out."""
    robot, model = read_robot("ur10e"), CodeModel("base", rotors=True, friction=True)
    result = generate(robot, None, programs=("recursive_update",), model=model)
    count = result.counts["recursive_update"]
    assert len(result.names) == 58
    regressor = generate(robot, None, programs=("base_regressor",), model=model)
    triangle, n = 58 * 59 // 2, 6
    most = 4 * triangle * n + triangle + 6 * 58 * n  # products of all columns of all rows
    assert count["lines"] < regressor.counts["base_regressor"]["lines"] + 60
    loops = count["multiplications"] - regressor.counts["base_regressor"]["multiplications"]
    assert 2.5 * triangle * n < loops <= most


def test_what_is_rounding_costs_nothing():
    """The physical PUMA has the published base parameters, so its code is the same; a sum that cancels is 0."""
    links = CodeModel(rotors=False, friction=False)
    counts = [_count(read_robot(name), model=links) for name in ("puma560", "puma560_physical")]
    assert counts[0] == counts[1]
    robot = robots.rx90()
    values = dict(zip(robot.columns(), robot.parameter_vector(), strict=True))
    exact = robot.with_parameters({**values, "XX6": 0.3, "YY6": 0.3})
    rounded = robot.with_parameters({**values, "XX6": 0.1 + 0.2, "YY6": 0.3})
    assert values and 0.1 + 0.2 != 0.3
    assert _count(rounded) == _count(exact) < _count(robot)


AROUND = {  # the counts of docs/programs.md: puma, panda, floating
    "coriolis_matrix": ((423, 316), (802, 635), (815, 611)),
    "slotine_li": ((239, 176), (395, 336), (384, 300)),
    "inverse_dynamics_derivatives": ((897, 667), (1609, 1289), (1634, 1203)),
    "forward_dynamics_derivatives": ((1533, 1172), (2781, 2306), (5664, 4806)),
    "momentum_observer": ((178, 141), (372, 292), (344, 292)),
    "adaptive_law": ((2223, 1741), (2591, 2026), (2842, 2267)),
}
LONG = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "adaptive_law")


@pytest.mark.parametrize(
    ("program", "limits", "places"),
    [
        *(pytest.param(name, limits, range(1 if name in LONG else 3), id=name) for name, limits in AROUND.items()),
        *(pytest.param(name, AROUND[name], (1, 2), id=f"{name}-more", marks=pytest.mark.slow) for name in LONG),
    ],
)
def test_programs_around_the_dynamics(program, limits, places):
    body = random_ten(np.random.default_rng(0))
    arms = robots.puma560(), robots.panda(), replace(robots.puma560(), base="floating", base_link=body)
    for place in places:
        _at_most(_count(arms[place], program), limits[place])


def test_branches_cost_no_more_than_they_are():
    """Eliminated from the tips to the base, legs beside one another leave no entries between them."""
    legs = [replace(random_robot(1, floating=True, n=2), effects=())]
    first = legs[0].joints
    for count in (2, 4):
        joints = tuple(
            replace(joint, name=f"{joint.name}_{k}", parent=None if joint.parent is None else 2 * k)
            for k in range(count)
            for joint in first
        )
        legs.append(replace(legs[0], joints=joints, links=legs[0].links * count, effects=()))
    one, two, four = (sum(build(Setting(robot), "forward_dynamics", thorough=None).operations) for robot in legs)
    assert four - two < 2.2 * (two - one)
