"""Which corrections each kind of measurement shows: counts, relations, the twelve laws of the table."""

import numpy as np
import pytest

from minertia.algebra.quotient import number_of
from minertia.algebra.sympy_form import expression
from minertia.identification.campaigns.options import MEASURED
from minertia.identification.geometry.base import geometric_base_parameters, relation_error
from minertia.identification.geometry.chain import SYMBOLS, chain_of
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


def test_a_mark_beside_a_camera_hides_nothing():
    """Two rows of this chain's certificate are 1e9 times as long as the others: marks in the plane of the camera."""
    rng = np.random.default_rng(6)
    *_, robot = (random_robot(rng, int(rng.integers(4, 8)), "general") for _ in range(129))
    found = geometric_base_parameters(robot, "pixel_tool", tip="tool")
    assert found.count == found.rank == GENERAL["pixel_tool"](*turning_and_sliding(robot))


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


TWELVE = (*ARMS, "planar2r", "cmu_dd_arm2")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n == "scara" else pytest.mark.slow) for n in TWELVE])
def test_relations_hold_in_symbols(name):
    """SymPy, with letters for lengths and joint positions: what relations say has no effect at any posture."""
    sympy = pytest.importorskip("sympy")
    chain = chain_of(read_robot(name))
    chains = SymbolicChain(sympy, chain)
    for symmetries, is_point in (((), False), ((ROTATIONS,), True)):
        relations = hidden_relations(chain, *symmetries)
        for relation in relations:
            effect = chains.effect(relation)
            assert chains.is_zero(effect @ chains.tip(relation) if is_point else effect), relation
        table = sympy.Matrix([[expression(form.terms.get(c, 0)) for c in chain.columns] for form in relations])
        count = geometric_base_parameters(chain.robot, "point" if is_point else "pose").count
        assert table.rank() == len(chain.columns) - count


class SymbolicChain:
    """Poses between frames of a chain as SymPy matrices; cosine and sine of a revolute joint are symbols."""

    def __init__(self, sympy, chain):
        self.sympy, self.chain = sympy, chain
        self.cosines, self.sines = (sympy.symbols(f"{x}1:{chain.n + 1}") for x in ("cos_q", "sin_q"))

    def after(self, j):
        """Pose of frame j + 1 in frame j, of which j moves."""
        M = self.sympy.eye(4)
        c, s = self.cosines[j], self.sines[j]
        if self.chain.is_hinge[j]:
            M[:2, :2] = [[c, -s], [s, c]]
        else:
            M[2, 3] = s
        R, p = self.chain.placements[j + 1]
        rows = [[*(expression(x) for x in row), expression(y)] for row, y in zip(R, p, strict=True)]
        return M @ self.sympy.Matrix([*rows, [0, 0, 0, 1]])

    def frames(self, relation):
        return sorted({int(str(name)[2:]) - 1 for name in relation.terms})

    def effect(self, relation):
        """Twist (4, 4) of all that follows, in the first frame of a relation."""
        first, *others = self.frames(relation)
        assert others in ([], [first + 1])
        total = self.twist(relation, first)
        if others:
            T = self.after(first)
            back = self.sympy.eye(4)
            back[:3, :3], back[:3, 3] = T[:3, :3].T, -T[:3, :3].T @ T[:3, 3]
            total += T @ self.twist(relation, first + 1) @ back
        return total

    def twist(self, relation, frame):
        dx, dy, dz, rx, ry, rz = (expression(relation.terms.get(f"{s}{frame + 1}", 0)) for s in SYMBOLS)
        return self.sympy.Matrix([[0, -rz, ry, dx], [rz, 0, -rx, dy], [-ry, rx, 0, dz], [0, 0, 0, 0]])

    def tip(self, relation):
        """Position of the tip (4, 1) in the first frame of a relation."""
        x = self.sympy.Matrix([0, 0, 0, 1])
        for j in reversed(range(self.frames(relation)[0], self.chain.n)):
            x = (self.after(j) @ x).applyfunc(self.sympy.expand)
        return x

    def is_zero(self, M):
        return all(self._reduced(x) == 0 for x in M)

    def _reduced(self, x):
        """Numerator of an expression in which squares of sines are replaced by those of cosines."""
        x = self.sympy.expand(self.sympy.fraction(self.sympy.together(x))[0])
        for c, s, turns in zip(self.cosines, self.sines, self.chain.is_hinge, strict=True):
            if turns and x.has(s):
                x = self.sympy.rem(x, s**2 + c**2 - 1, s)
        return self.sympy.expand(x)
