"""Base parameters of robots with loops: count = rank wherever the loop is cut, relations in letters, precautions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import minertia as mi
from minertia.algebra.polynomial import letter, turn
from minertia.algebra.vec3 import IDENTITY, Mat, Vec, apply, shift, turn_x
from minertia.base.alike import alike_relations
from minertia.base.certificate import Certificate
from minertia.base.cut_joints import cut_relations
from minertia.base.numeric import Sample, sample_regressor, wide_rank
from minertia.dynamics.loops.closing import Closing
from minertia.io.errors import InputError, RankError
from minertia.robot.joint import Cut, Follows, Joint
from minertia.robot.loops.build import LoopsSaid, with_loops
from minertia.robot.parameters import LINK_SYMBOLS, split_name
from minertia.robot.robot import Robot
from tests.loop_robots import (
    LYING,
    five_bar,
    four_bar,
    mirrored_seed,
    planar_loop,
    planar_loops,
    ram,
    random_loop,
    reordered,
    spatial_four_bar,
    spatial_loops,
    stewart,
)
from tests.random_robots import random_robot
from tests.shared import SHARED, needs_shared

QUICK, MANY, SPATIAL, PLANAR = 4, 500, 150, 60


def counts(robot: Robot) -> tuple[int, int, int]:
    """Rank of the links' columns; with rotors of the coordinates; with viscous and Coulomb friction of all joints."""
    links = robot.columns()
    rotors = (*links, *(f"IA{j + 1}" for j in robot.independent))
    friction = tuple(f"{s}{j + 1}" for j in range(robot.n_joints) for s in ("FV", "FC"))
    found = []
    for columns in (links, rotors, (*rotors, *friction)):
        sample = Sample.of(robot, columns, 60, 1)
        found.append(sample.rank_and_gap(range(len(columns)))[0])
    return found[0], found[1], found[2]


@cache
def base_of_file(name: str) -> mi.BaseParameters:
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    return mi.base_parameters(mi.read_robot(SHARED / "robots" / "loops" / name))


def check(robot: Robot) -> mi.BaseParameters:
    base = mi.base_parameters(robot)
    assert base.certificate.smallest is not None
    assert base.certificate.is_clear
    assert base.certificate.error < 1e-9
    assert base.count == base.certificate.rank
    return base


@pytest.mark.parametrize(
    ("robot", "expected"),
    [(four_bar(), (8, 8, 14)), (five_bar(), (11, 11, 19)), (ram("pin"), (8, 9, 15))],
    ids=["four-bar", "five-bar", "ram"],
)
def test_small_loops_have_the_known_counts(robot: Robot, expected: tuple[int, int, int]) -> None:
    assert counts(robot) == expected
    base = check(robot)
    assert base.count == expected[0]
    assert not any(base.is_numeric)


def test_a_parallelogram_has_three() -> None:
    robot = planar_loop(((0.0, 0.0), (0.1, 0.3), (0.6, 0.3), (0.5, 0.0)))
    assert counts(robot) == (3, 3, 5)
    assert check(robot).count == 3


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 5))])
def test_the_count_does_not_depend_on_which_joint_is_cut(seed: int) -> None:
    carrier = None if seed == 0 else replace(random_robot(4 * seed, n=seed - 2), effects=())
    four = {check(four_bar(cut, carrier=carrier)).count for cut in (1, 2, 3)}
    five = {check(five_bar(cut, carrier=carrier)).count for cut in (1, 2, 3)}
    slider = {check(ram(cut, carrier)).count for cut in ("pin", "slider")}
    assert [len(found) for found in (four, five, slider)] == [1, 1, 1]


@pytest.mark.parametrize("seed", range(QUICK))
def test_rules_give_the_rank_of_planar_loops_on_any_carrier(seed: int) -> None:
    base = check(random_loop(seed))
    assert not any(base.is_numeric)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(QUICK, MANY))
def test_rules_give_the_rank_of_many_planar_loops(seed: int) -> None:
    assert not any(check(random_loop(seed)).is_numeric)


def check_letters(robot: Robot) -> mi.BaseParameters:
    """Count = rank on closed states, and the relations in letters hold at a second draw of the letters."""
    base = check(robot)
    redrawn = base.certificate.redrawn
    assert redrawn is not None and redrawn.error < 1e-9
    return base


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, QUICK))])
def test_counts_are_ranks_of_loops_in_space(seed: int) -> None:
    check_letters(spatial_loops(seed))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, PLANAR))])
def test_planar_loops_on_one_another_need_no_number(seed: int) -> None:
    assert not any(check_letters(planar_loops(seed)).is_numeric)


@pytest.mark.slow
def test_counts_are_ranks_of_many_loops_in_space() -> None:
    """Where a loop can hardly move nothing decides, which is said; that happens to few."""
    refused = 0
    for seed in range(QUICK, SPATIAL):
        try:
            check_letters(spatial_loops(seed))
        except RankError as error:
            assert "neither 16 nor 60 digits" in str(error)
            refused += 1
    assert refused <= 0.02 * SPATIAL


def test_sixty_digits_decide_where_sixteen_do_not() -> None:
    certificate = check(spatial_loops(39)).certificate
    assert certificate.digits == 60 and certificate.rank == 42
    assert certificate.redrawn is not None and certificate.redrawn.rank == 42
    assert certificate.to_dict()["digits"] == 60 and "rank determined with 60 digits" in str(certificate)
    assert check(four_bar()).certificate.to_dict()["digits"] == 16


@pytest.mark.parametrize(("robot", "rank"), [(four_bar(), 8), (five_bar(), 11)], ids=["four-bar", "five-bar"])
def test_sixty_digits_see_relations_of_planar_loops_hold_exactly(robot: Robot, rank: int) -> None:
    found = wide_rank(robot, [name for name in robot.columns() if split_name(name)[0] in ("ZZ", "MX", "MY", "M")], 0)
    assert found.rank == rank and found.gap > 1e40 and found.smallest > 1e-3


@pytest.mark.parametrize("robot", [random_loop(5), ram("slider"), spatial_four_bar()], ids=lambda robot: robot.name)
def test_relations_of_cut_joints_have_no_effect(robot: Robot) -> None:
    columns = tuple(c for c in robot.columns() if not c.endswith("3") or robot.name != "spatial four-bar")
    W = sample_regressor(robot, columns, 20, 3)
    relations = list(cut_relations(robot, columns))
    assert relations
    for relation in relations:
        off = sum(W[:, columns.index(name)] * float(factor) for name, factor in relation.items())
        assert np.abs(off).max() < 1e-12 * np.abs(W).max()


def lettered_four_bar(names: str = "abcd") -> Robot:
    """Crank, coupler, rocker and ground with these letters for their lengths."""
    a, b, c, d = (letter(name) for name in names)
    joints = (
        Joint("crank", "revolute", None, *LYING),
        Joint("coupler", "revolute", 0, *shift(a), is_passive=True),
        Joint("rocker", "revolute", None, LYING[0], (d, 0, 0), is_passive=True),
    )
    cut = Cut("pin", "revolute", 1, 2, shift(b), shift(c))
    symbols = dict(zip(names, (0.3, 0.8, 0.7, 0.9), strict=True))
    return Robot("lettered", joints, symbols=symbols, cuts=(cut,), seed=(0.5, 0.2, 1.9))


def test_the_relation_of_a_four_bar_is_the_one_of_the_literature() -> None:
    """MX of the rocker goes to the others in the ratios of the lengths (theory, eq. 41)."""
    base = check(lettered_four_bar())
    assert base.count == 8
    assert base.certificate.redrawn is not None
    assert base.certificate.redrawn.rank == base.certificate.redrawn.count == 8
    values = {"a": 0.3, "b": 0.8, "c": 0.7, "d": 0.9}
    a, b, c = values["a"], values["b"], values["c"]
    expected = {"MX1": a / c, "ZZ1": a * a / c, "MX2": b / c, "ZZ2": b * b / c, "ZZ3": -c}
    column = base.columns.index("MX3")
    found = {base.kept[k]: base.K[k, column] for k in range(base.count) if base.K[k, column] != 0}
    assert found == pytest.approx(expected)


def test_letters_are_drawn_again_where_loops_do_not_close() -> None:
    """A four-bar that is nearly stretched: some per cent more of its ground, and it cannot be put together."""
    lean = np.arccos(0.3 / 0.31)
    robot = replace(
        lettered_four_bar("adcb"), symbols={"a": 0.3, "d": 0.31, "c": 0.31, "b": 0.9}, seed=(0.0, lean, np.pi - lean)
    )
    with pytest.raises(InputError, match="close"):
        Sample.of(robot.at(robot.other_values(1)), robot.columns(), 20, 1)
    redrawn = check(robot).certificate.redrawn
    assert redrawn is not None and redrawn.rank == redrawn.count == 8


def watt() -> Robot:
    """Watt's six-bar on a turntable.  Where b is 0.6, its middle lies below the hinge of link5 by chance."""
    first, second = ((LYING[0], (x, 0, 0.05)) for x in (0.1, 0.8))
    joints = (
        Joint("yaw", "revolute", None, IDENTITY, (0, 0, 0)),
        Joint("crank", "revolute", 0, *first),
        Joint("coupler", "revolute", 1, IDENTITY, (letter("a"), 0, 0), is_passive=True),
        Joint("rocker", "revolute", 0, *second, is_passive=True),
        Joint("link5", "revolute", 2, IDENTITY, (0.3, 0.35, 0), is_passive=True),
        Joint("link6", "revolute", 3, IDENTITY, (0.25, 0.4, 0), is_passive=True),
    )
    cuts = (
        Cut("pin1", "revolute", 2, 3, shift(letter("b")), shift(letter("c"))),
        Cut("pin2", "revolute", 4, 5, shift(0.5), shift(0.45)),
    )
    symbols: dict[str, float | None] = {"a": 0.3, "b": 0.6, "c": 0.5}
    seed = (0.0, 1.0, -0.5748334922296554, 1.5534499945289508, -0.9730458143480163, -1.1475443755228008)
    return Robot("Watt", joints, symbols=symbols, cuts=cuts, seed=seed)


def test_factors_that_vanish_by_chance_stay_in_relations_in_letters() -> None:
    """b - 2 * 0.3 is zero at the lengths of the file, and at no others."""
    base = check(watt())
    redrawn = base.certificate.redrawn
    assert base.count == 30 and not any(base.is_numeric)
    assert redrawn is not None and redrawn.rank == 30


def test_letters_that_no_other_draw_lets_close_are_named() -> None:
    """Two hinges at heights that are letters of their own: the loop leaves its plane as soon as one changes."""
    robot = four_bar(heights=(0.1, 0.1, 0.1, 0.1))
    joints = [replace(joint, p=(*joint.p[:1], letter(name), *joint.p[2:])) if joint.parent is None else joint
              for joint, name in zip(robot.joints, ("h", "", "k"), strict=True)]  # fmt: skip
    values = {name: float(robot.joints[j].p[1]) for name, j in (("h", 0), ("k", 2))}
    with pytest.raises(
        InputError, match=r"close at the given values of their symbols, .* one symbol .*, or derive numeric relations"
    ):
        mi.base_parameters(replace(robot, joints=tuple(joints), symbols=values))


def test_a_platform_on_six_legs_needs_no_number_in_its_relations() -> None:
    base = check(stewart())
    assert base.count == 82
    assert not any(base.is_numeric)


def test_the_count_belongs_to_the_branch() -> None:
    """A parallelogram put together crosswise is a four-bar."""
    points = ((0.0, 0.0), (0.1, 0.3), (0.6, 0.3), (0.5, 0.0))
    robot = planar_loop(points)
    assert counts(robot) == (3, 3, 5)
    assert counts(replace(robot, seed=mirrored_seed(points))) == (8, 8, 12)


def test_passive_joints_have_friction_but_no_motor() -> None:
    robot = four_bar()
    own = [name for name in robot.columns(True, True) if name not in robot.columns()]
    assert own == ["IA1", "FV1", "FC1", "OFF1", "FV2", "FC2", "FV3", "FC3"]


def test_links_without_mass_between_two_joints_are_not_counted() -> None:
    robot = spatial_four_bar()
    base = check(robot)
    assert not any(name in form.terms for form in base.relations for name in ("ZZ3", "MX3", "M3"))
    heavy = replace(robot, links=tuple(ten if any(ten) else robot.links[0] for ten in robot.links))
    assert check(heavy).count > base.count


@pytest.mark.parametrize(("gap", "smallest", "is_clear"), [(1e6, 1e-3, True), (1e4, 1e-3, False), (1e6, 1e-9, False)])
def test_a_certificate_of_loops_wants_more(gap: float, smallest: float, is_clear: bool) -> None:
    assert Certificate(3, gap, 0.0, 10, 0, smallest=smallest).is_clear is is_clear
    assert Certificate(3, gap, 0.0, 10, 0).is_clear
    assert Certificate(3, gap, 0.0, 10, 0, smallest=smallest, digits=60).is_clear is (gap > 1e5)
    assert not Certificate(3, gap, 0.0, 10, 0, smallest=8e-15, digits=60).is_clear
    assert Certificate(3, 1e6, 0.0, 10, 0, smallest=2e-14, digits=60).is_clear
    assert ("smallest" in Certificate(3, gap, 0.0, 10, 0, smallest=smallest).to_dict()) is True
    assert "smallest" not in Certificate(3, gap, 0.0, 10, 0).to_dict()


def test_loops_that_hardly_move_are_refused_where_sixteen_digits_decide_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = Closing.draw
    monkeypatch.setattr(Closing, "draw", lambda self, targets, rng: draw(self, 1e-4 * targets, rng))
    with pytest.raises(mi.MinertiaError, match="cannot be certified"):
        mi.base_parameters(spatial_four_bar())


@needs_shared
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("parallelogram.xml", (3, 3, 5)),
        ("four_bar_crank_rocker.xml", (8, 8, 14)),
        ("five_bar.xml", (11, 11, 19)),
        ("palletiser.xml", (25, 26, 36)),
        pytest.param("delta.xml", (34, 34, 54), marks=pytest.mark.slow),
        ("SR400.par", (39, 42, 56)),
        pytest.param("AKR3000.par", (54, 59, 79), marks=pytest.mark.slow),
        ("testLoop.par", (4, 4, 10)),
        pytest.param("cassie_left_leg.xml", (57, 60, 80), marks=pytest.mark.slow),
    ],
)
def test_files_with_loops_have_the_known_counts(name: str, expected: tuple[int, int, int]) -> None:
    base = base_of_file(name)
    assert counts(base.robot) == expected
    assert base.count == expected[0]


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        *("SR400.par", "five_bar.xml", "palletiser.xml", "parallelogram.xml", "testLoop.par"),
        *(pytest.param(f, marks=pytest.mark.slow) for f in ("AKR3000.par", "cassie_left_leg.xml", "delta.xml")),
    ],
)
def test_loops_of_files_need_no_number_in_their_relations(name: str) -> None:
    assert not any(base_of_file(name).is_numeric)


def test_links_that_turn_alike_share_their_inertia() -> None:
    """The coupler of a parallelogram keeps its orientation to the carrier, the rocker to the crank."""
    waist = replace(random_robot(4, n=1), effects=())
    robot = planar_loop(((0.0, 0.0), (0.1, 0.3), (0.6, 0.3), (0.5, 0.0)), carrier=waist)
    found = [{split_name(name) for name in relation} for relation in alike_relations(robot)]
    links = {tuple(sorted({link for _, link in own})) for own in found if {s for s, _ in own} <= {*LINK_SYMBOLS}}
    assert {pair for pair in links if len(pair) != 1} == {(1, 3), (2, 4)}
    effects = {tuple(sorted(link for _, link in own)) for own in found if ("FV" in {s for s, _ in own})}
    assert effects == {(2, 3), (2, 4), (3, 4)}  # all pins of the loop turn alike
    assert not any(check(robot).is_numeric)


@pytest.mark.parametrize(
    "name, order, count",
    [
        ("palletiser", (0, 9, 7, 8, 1, 5, 6, 2, 3, 4), 25),  # rods first
        pytest.param("palletiser", (0, 1, 2, 3, 9, 5, 7, 6, 8, 4), 25, marks=pytest.mark.slow),
        pytest.param(
            *("delta", (13, 14, 15, 0, 6, 1, 2, 3, 4, 16, 8, 17, 9, 10, 11, 12, 7, 5), 34), marks=pytest.mark.slow
        ),
    ],
)
def test_relations_stay_in_letters_whatever_the_order_of_joints(name: str, order: tuple[int, ...], count: int) -> None:
    base = mi.base_parameters(reordered(mi.read_robot(name), order))
    redrawn = base.certificate.redrawn
    assert base.count == count and not any(base.is_numeric)
    assert redrawn is not None and redrawn.rank == redrawn.count == count and redrawn.error < 1e-9


def parallelogram(*, on_a_carrier: bool) -> Robot:
    """Sides in letters, in the plane of gravity: four links on one hinge, or three on a link that is a side itself."""
    a, b = shift(letter("a")), shift(letter("b"))
    flat, here = LYING[0], (0, 0, 0)

    def hinge(name: str, parent: int | None, R: Mat, p: Vec, follows: Follows | None = None) -> Joint:
        return Joint(name, "revolute", parent, R, p, name, follows=follows, is_passive=follows is not None)

    if on_a_carrier:
        joints = (
            hinge("carrier", None, flat, here),
            hinge("crank", 0, IDENTITY, here),
            hinge("coupler", 1, IDENTITY, b[1], Follows((1,), (-1.0,))),
            hinge("rocker", 0, IDENTITY, a[1], Follows((1,), (1.0,))),
        )
    else:
        joints = (
            hinge("first", None, flat, here),
            hinge("on_first", 0, IDENTITY, a[1], Follows((0, 2), (-1.0, 1.0))),
            hinge("second", None, flat, here),
            hinge("on_second", 2, IDENTITY, b[1], Follows((0, 2), (1.0, -1.0))),
        )
    ends = (2, a) if on_a_carrier else (1, b), (3, b) if on_a_carrier else (3, a)
    cut = Cut("pin", "revolute", ends[0][0], ends[1][0], ends[0][1], ends[1][1], "parallelogram")
    return Robot("parallelogram", joints, cuts=(cut,), symbols={"a": 0.3, "b": 0.5})


@pytest.mark.parametrize("on_a_carrier", [False, True])
def test_first_moments_of_opposite_sides_are_merged_in_letters(on_a_carrier: bool) -> None:
    """A parallelogram in its plane hides one more combination of first moments than the plane joints do."""
    base = mi.base_parameters(parallelogram(on_a_carrier=on_a_carrier))
    assert not any(base.is_numeric)
    redrawn = base.certificate.redrawn
    assert redrawn is not None and redrawn.rank == redrawn.count == base.count


@pytest.mark.parametrize(("waist", "loop", "count"), [(0.0, -1.1, 9), (0.4, -0.9, 11), (0.0, -np.pi / 2, 9)])
def test_first_moments_on_a_carrier_that_turns_about_one_direction_are_merged_in_letters(
    waist: float, loop: float, count: int
) -> None:
    """Cranks one above the other, seen along their axes, on an oblique or a level waist (theory, eq. 46)."""
    a, b, here = letter("a"), letter("b"), (0, 0, 0)
    lying = turn_x(turn(loop))[0]
    joints = (
        Joint("waist", "revolute", None, turn_x(turn(waist))[0], here, "waist"),
        Joint("crank", "revolute", 0, lying, here, "crank"),
        Joint(
            "coupler", "revolute", 1, IDENTITY, (b, 0, 0), "coupler", follows=Follows((1,), (-1.0,)), is_passive=True
        ),
        Joint("rocker", "revolute", 0, lying, apply(lying, (0, a, 0)), "rocker", follows=Follows((1,), (1.0,))),
    )
    cut = Cut("pin", "revolute", 2, 3, shift(0, a), shift(b), "parallelogram")
    base = mi.base_parameters(Robot("above", joints, cuts=(cut,), symbols={"a": 0.3, "b": 0.5}))
    redrawn = base.certificate.redrawn
    assert base.count == count and not any(base.is_numeric)
    assert redrawn is not None and redrawn.rank == redrawn.count == count and redrawn.error < 1e-9


@pytest.mark.parametrize(
    "name, count",
    [
        ("palletiser", 40),
        ("parallelogram_arm", 62),
        ("five_bar", 21),
        pytest.param("delta", 57, marks=pytest.mark.slow),
    ],
)
def test_rotors_and_friction_stand_beside_the_relations_of_loops(name: str, count: int) -> None:
    """The counts of docs/loops.md; effects of joints that loops move alike are merged with others of their kind."""
    base = mi.base_parameters(mi.read_robot(name), rotors=True, friction=True)
    assert base.count == base.certificate.rank == count
    assert not any(base.is_numeric)


def lettered_parallelogram(cut: int, carrier: tuple[str, ...], gravity: tuple[float, float, float]) -> Robot:
    """Sides (a, 0) and (c, b), a hinge at the height h; cut anywhere, on slides (p) and hinges (z, oblique o)."""
    a, b, c, h = (letter(name) for name in "abch")
    turns = {"p": IDENTITY, "z": IDENTITY, "o": turn_x(turn(0.7))[0]}
    kinds = {"p": "prismatic"}
    joints = tuple(
        Joint(f"c{i}", kinds.get(kind, "revolute"), i - 1 if i else None, turns[kind], (0.1, 0, 0.2), f"c{i}")
        for i, kind in enumerate(carrier)
    )
    points = ((0, 0), (c, b), (a + c, b), (a, 0))
    robot = planar_loop(
        points,  # type: ignore[arg-type]
        cut=cut,
        active=(0 if cut else 3,),
        carrier=Robot("carrier", joints, links=(None,) * len(joints)) if joints else None,
        heights=(0, h, 0.03, 0.01),
    )
    values: dict[str, float | None] = {"a": 0.5, "b": 0.35, "c": 0.12, "h": 0.07}
    free = tuple(replace(joint, is_passive=False) for joint in robot.joints)
    said = LoopsSaid(
        seed={joint.name: 0.0 for joint in free}, passive={joint.name: joint.is_passive for joint in robot.joints}
    )
    return with_loops(replace(robot, joints=free, links=(), effects=(), symbols=values, gravity=gravity), said)


@pytest.mark.parametrize(
    ("cut", "carrier", "gravity"),
    [
        (0, "", (0, 0, -9.81)),
        (3, "p", (0, -9.81, 0)),
        (0, "z", (0, 0, 0)),
        *(
            pytest.param(cut, carrier, gravity, marks=pytest.mark.slow)
            for cut in range(4)
            for carrier in ("", "z", "p", "o", "zz", "zo", "pz", "zp")
            for gravity in ((0, 0, -9.81), (0, -9.81, 0), (0, 0, 0))
        ),
    ],
)
def test_parallelograms_need_no_numbers_wherever_they_are_cut(
    cut: int, carrier: str, gravity: tuple[float, float, float]
) -> None:
    """Moments of opposite sides, where frames lie at other points of sides and gravity does not tell (eq. 46a)."""
    robot = lettered_parallelogram(cut, tuple(carrier), gravity)
    base = mi.base_parameters(robot)
    redrawn = base.certificate.redrawn
    assert base.method == "closed-form" and not any(base.is_numeric)
    assert base.count == base.certificate.rank == counts(robot)[0]
    assert redrawn is not None and redrawn.rank == redrawn.count == base.count and redrawn.error < 1e-9


def test_a_linkage_that_lies_flat_has_its_first_moments_times_edges() -> None:
    """Crank and rocker of a parallelogram on a thigh, gravity along the axes: their moments count by their levers."""
    a, b, length = letter("a"), letter("b"), letter("L")
    joints = (
        Joint("thigh", "revolute", None, IDENTITY, (0, 0, 0), "thigh"),
        Joint("driver", "revolute", 0, IDENTITY, (a, 0, 0), "driver"),
        Joint("support", "revolute", 0, IDENTITY, (b, 0, 0), "support", follows=Follows((1,), (1.0,)), is_passive=True),
        Joint("foot", "revolute", 1, IDENTITY, (length, 0, 0), "foot", follows=Follows((1,), (-1.0,)), is_passive=True),
    )
    cut = Cut("linkage", "revolute", 3, 2, shift(b - a), shift(length), "parallelogram")
    base = mi.base_parameters(Robot("leg", joints, cuts=(cut,), symbols={"a": 0.01, "b": 0.04, "L": 0.1}))
    assert base.relation_texts() == {
        "ZZR1": "ZZ1 + ZZ4 + a**2*(M2 + M4) + b**2*M3 + 2*a*MX4",
        "ZZR2": "ZZ2 + ZZ3 + L**2*M4",
        "MXR2": "MX2 + b/a*MX3 + L/a*MX4 + L*M4",
        "MYR2": "MY2 + b/a*MY3 - L/a*MY4",
    }


@needs_shared
def test_the_leg_of_the_shared_files_needs_no_number() -> None:
    """Its loop is a parallelogram on its drawn branch, with gravity along its axes."""
    base = mi.base_parameters(mi.read_robot(SHARED / "robots" / "loops" / "planar_leg_linkage.urdf"))
    assert base.count == 4 and base.method == "closed-form" and not any(base.is_numeric)
