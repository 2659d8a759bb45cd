"""Which corrections each kind of measurement shows: counts, relations, the twelve laws of the table."""

import numpy as np
import pytest

from minertia.algebra.quotient import number_of
from minertia.identification.campaigns.options import MEASURED
from minertia.identification.geometry.base import geometric_base_parameters, relation_error
from minertia.identification.geometry.chain import chain_of
from minertia.identification.geometry.hidden import ROTATIONS, hidden_relations
from minertia.robot.files import read_robot
from tests.calibration.oracle import Oracle, outside, rank
from tests.calibration.planted import random_robot

ARMS = ("puma560", "panda", "stanford", "ur10e", "iiwa14", "tx40", "rx90", "scara", "gantry", "puma260")
STYLES = ("general", "right", "mixed")
# counts by r joints that turn and p that slide, where nothing makes them fewer
CLOSED = {
    "pose": lambda r, p: 4 * r + 2 * p + 6,
    "points": lambda r, p: 4 * r + 2 * p + 9,
    "orientation": lambda r, p: 2 * r + 3,
    "direction": lambda r, p: 2 * r + 2,
}
GENERAL = {
    "point": lambda r, p: 4 * r + 2 * p + 3,
    "pixel": lambda r, p: 4 * r + 2 * p + 3 - (p == 0),
    "pixel_tool": lambda r, p: 4 * r + 2 * p + 12 - (p == 0),
    "distance": lambda r, p: 4 * r + 2 * p - 3 + 12,
    "distance_between": lambda r, p: 4 * r + 2 * p - 3,
}


def turning_and_sliding(robot):
    r = sum(joint.kind == "revolute" for joint in robot.joints)
    return r, robot.n_joints - r


def drawn_robots(rng, amount):
    """(robot, tip): thirds of general placements, right angles and a mixture; measured on the last axis and off it."""
    for k in range(amount):
        robot = random_robot(rng, int(rng.integers(3, 8)), STYLES[k % 3])
        yield robot, "tool" if k % 2 else None


@pytest.mark.parametrize("measure", list(MEASURED))
@pytest.mark.parametrize("amount", [4, pytest.param(600, marks=pytest.mark.slow)])
def test_counts_and_relations_of_random_chains(measure, amount):
    """Against readings differentiated another way, by all six corrections of every frame, at other postures."""
    for k, (robot, tip) in enumerate(drawn_robots(np.random.default_rng(5), amount)):
        found = geometric_base_parameters(robot, measure, tip=tip)
        oracle = Oracle(found.chain, measure, k)
        columns = oracle.columns()
        count = rank(columns.A, columns.own) - rank(columns.own)
        assert len(found.names) == count, (k, len(found.names), count)
        assert relations_miss(found, columns, oracle.values) < 1e-9, k


def relations_miss(found, columns, values):
    """Part of a column that what is kept does not stand for, beside what the measurement itself leaves open."""
    number = {name: k for k, name in enumerate(found.chain.columns)}
    factors = np.zeros((len(number), len(found.names)))
    for k, form in enumerate(found.relations):
        for name, value in form.terms.items():
            factors[number[str(name)], k] = float(number_of(value, values))
    kept, left = (columns.A[:, [number[name] for name in names]] for names in (found.names, found.left_out))
    return outside(columns.A - kept @ factors.T, columns.own, left) / max(np.linalg.norm(columns.A, axis=0).max(), 1e-3)


@pytest.mark.parametrize("measure", [*CLOSED, *GENERAL])
@pytest.mark.parametrize("amount", [6, pytest.param(600, marks=pytest.mark.slow)])
def test_counts_of_the_table(measure, amount):
    rng = np.random.default_rng(6)
    for k in range(amount):
        robot = random_robot(rng, int(rng.integers(4, 8)), STYLES[k % 3] if measure in CLOSED else "general")
        found = geometric_base_parameters(robot, measure, tip="tool")
        assert found.count == {**CLOSED, **GENERAL}[measure](*turning_and_sliding(robot)), k
        assert measure not in CLOSED or (found.rank == found.count and not found.is_numeric)


@pytest.mark.parametrize("name", ARMS)
def test_every_relation_holds_at_other_postures(name):
    chain = chain_of(read_robot(name))
    found = geometric_base_parameters(chain.robot, "pose")
    for relation in hidden_relations(chain):
        assert relation_error(found, relation) < 1e-12


def test_relations_of_a_point_hold_too():
    for name in ARMS[:4]:
        chain = chain_of(read_robot(name))
        found = geometric_base_parameters(chain.robot, "point")
        for relation in hidden_relations(chain, ROTATIONS):
            assert relation_error(found, relation) < 1e-12


def test_the_pumas_relations_are_in_its_letters():
    texts = geometric_base_parameters(read_robot("puma560"), "pose").relation_texts()
    assert texts["RZ2"] == "RZ2 + 1/D3*DY3"
    assert texts["DZ1"] == "DZ1 + DY2"


def test_a_point_on_the_last_axis_hides_its_direction_and_one_in_a_wrist_six():
    assert geometric_base_parameters(read_robot("panda"), "point").count == 4 * 7 + 3 - 2
    assert geometric_base_parameters(read_robot("puma560"), "point").count == 4 * 6 + 3 - 6


def test_every_kind_has_a_certificate():
    robot = read_robot("ur10e")
    for measure in MEASURED:
        found = geometric_base_parameters(robot, measure)
        assert found.gap > 1e3
        assert found.rank >= len(found.names)
