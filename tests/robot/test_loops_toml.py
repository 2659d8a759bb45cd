"""Closed loops in TOML files: what is found in them, the branch, parallelograms, and sentences on bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minertia as mi
from minertia.io.errors import DescriptionError, InputError
from minertia.robot.formats.dh.read import parse_toml
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.joint import Follows
from minertia.robot.loops.closure import CLOSED, residual
from minertia.robot.robot import Robot

SQUARE_ON = 'gravity = [0, -9.81, 0]\nconvention = "placement"\n'


def four_bar(
    lengths: tuple[object, ...] = (0.2, 0.5, 0.4, 0.45),
    seed: str = "crank = 0.7\ncoupler = -0.18\nrocker = 1.22",
    *,
    kind: str = "revolute",
    passive: tuple[str, ...] = ("coupler", "rocker"),
    top: str = "",
    rotation: str = "",
) -> str:
    """Crank, coupler, rocker and ground; axes z; cut between coupler and rocker."""
    crank, coupler, rocker, ground = (f'"{v}"' if isinstance(v, str) else v for v in lengths)
    parents = {"crank": (0, 0), "coupler": ('"crank"', crank), "rocker": (0, ground)}
    text = top + SQUARE_ON
    for name, (parent, x) in parents.items():
        text += f'[[joint]]\nname = "{name}"\nkind = "revolute"\nparent = {parent}\nposition = [{x}, 0, 0]\n'
        text += "passive = true\n" * (name in passive)
    text += f'[[loop]]\nname = "pin"\nkind = "{kind}"\nfirst = "coupler"\nfirst_position = [{coupler}, 0, 0]\n'
    text += f'second = "rocker"\nsecond_position = [{rocker}, 0, 0]\n{rotation}'
    return text + (f"[loop.seed]\n{seed}\n" if seed else "")


def read(text: str, **options: object) -> Robot:
    return parse_toml(text, "bar.toml", ReadOptions(**options))  # type: ignore[arg-type]


def texts(robot: Robot) -> str:
    return " | ".join(f"{note.where}: {note.text}" for note in robot.notes)


PARALLEL = (0.3, 0.6, 0.3, 0.6)
UPRIGHT, CROSSED = "crank = 1.0\ncoupler = -1.0\nrocker = 1.0", "crank = 1.0\ncoupler = -2.05\nrocker = -2.05"
LETTERS = '[symbols]\nA = 0.3\nB = "unknown"\n'


def lettered(text: str) -> str:
    """With the table of symbols behind what stands at the top level."""
    head, rest = text.split("[[joint]]", 1)
    return f"{head}{LETTERS}[[joint]]{rest}"


# ---------------------------------------------------------------------- what is found


def test_a_general_loop_keeps_its_cut_and_passive_joints() -> None:
    robot = read(four_bar())
    assert robot.coordinate_names == ("crank",) and robot.passive == (1, 2)
    (cut,) = robot.cuts
    assert (cut.name, cut.kind, cut.first, cut.second, cut.form) == ("pin", "revolute", 1, 2, "")
    assert robot.open_cuts == robot.cuts
    assert np.abs(residual(robot, robot.seed)).max() < CLOSED
    assert robot.seed[0] == 0.7
    assert "four-bar (dyad), cut at a revolute joint between 'coupler' and 'rocker'" in str(mi.check_robot(robot))
    assert "mobility 1: active crank; passive coupler, rocker" in str(mi.check_robot(robot))


ROUGH = "[loop.effects]\nFV = 0.3\nFC = 0.2\n"


def test_effects_of_a_cut_joint_are_those_of_a_joint_of_its_name() -> None:
    robot = read(four_bar() + ROUGH)
    assert [joint.name for joint in robot.joints] == ["crank", "coupler", "rocker", "pin"]
    assert robot.effect_values == {"FV4": 0.3, "FC4": 0.2} and robot.passive == (1, 2, 3)
    assert np.allclose(robot.seed[3], robot.seed[2] - robot.seed[0] - robot.seed[1]) and not robot.notes
    again = read(toml_text(robot))
    assert again.effect_values == robot.effect_values and again.coordinate_names == ("crank",)
    assert "four-bar (dyad), cut at a revolute joint between 'coupler' and 'rocker'" in str(mi.check_robot(robot))
    empty = [note.where for note in mi.check_robot(robot) if "no mass" in note.text]
    assert empty == ["link 'crank'", "link 'coupler'", "link 'rocker'"]
    unsaid = read(four_bar(passive=(), seed="") + ROUGH)
    assert unsaid.coordinate_names == ("crank",) and "the file does not mark" in texts(unsaid)


def test_counts_do_not_change_with_the_joint_at_the_cut() -> None:
    smooth, rough = mi.base_parameters(read(four_bar())), mi.base_parameters(read(four_bar() + ROUGH))
    assert rough.names == smooth.names
    both = mi.base_parameters(read(four_bar() + ROUGH), friction=True).names
    assert {"FV2", "FC2", "FV3", "FC3", "FV4", "FC4"} <= set(both)
    pins = mi.base_parameters(read(four_bar(PARALLEL, UPRIGHT) + ROUGH), friction=True)
    assert pins.count == 3 + 3  # FV and FC of the four pins cannot be told apart, and the offset of the crank


def test_a_passive_joint_may_have_a_motor_and_a_rotor() -> None:
    text = four_bar().replace("passive = true\n", "passive = true\nmotor = true\n", 1)
    robot = read(text)
    assert robot.coordinate_names == ("crank",) and robot.actuated == (0, 1)
    assert read(toml_text(robot)).actuated == (0, 1)
    assert {"IA2", "OFF2"} <= set(robot.columns(True, True)) and "IA3" not in robot.columns(True, True)
    notes = str(mi.check_robot(robot))
    assert (
        "2 motors (the additional ones at coupler) for mobility 1" in notes
        and "distribution over the motors is not unique" in notes
    )
    with pytest.raises(DescriptionError, match="2 joints of the loop 'pin' are active .* motor = true"):
        read(four_bar(passive=("rocker",)))
    with pytest.raises(DescriptionError, match="'motor' is allowed for passive joints only"):
        read(four_bar().replace('name = "crank"\n', 'name = "crank"\nmotor = true\n'))


def test_effects_of_a_cut_without_a_single_motion_are_refused() -> None:
    with pytest.raises(
        DescriptionError,
        match="'pin' has effects, but a cut joint of kind spherical has more than one degree of freedom",
    ):
        read(four_bar(kind="spherical") + ROUGH)


def test_a_parallelogram_becomes_followers() -> None:
    robot = read(four_bar(PARALLEL, UPRIGHT))
    assert [joint.follows for joint in robot.joints] == [None, Follows((0,), (-1.0,)), Follows((0,), (1.0,))]
    assert robot.cuts[0].form == "parallelogram" and not robot.open_cuts and not robot.passive
    assert [joint.is_passive for joint in robot.joints] == [False, True, True]
    assert (mi.base_parameters(robot).count, mi.base_parameters(robot, rotors=True).count) == (3, 3)
    assert "loop 'pin'" in str(mi.check_robot(robot)) and "parallelogram" in str(mi.check_robot(robot))


def test_the_crossed_branch_is_no_parallelogram() -> None:
    robot = read(four_bar(PARALLEL, CROSSED))
    assert robot.open_cuts and robot.passive == (1, 2)
    start = mi.base_parameters(robot).count
    assert start == 8


@pytest.mark.parametrize("turned", [0.0, 0.7])
def test_offsets_of_a_parallelogram_come_from_its_frames(turned: float) -> None:
    """The rocker's own frame is turned: its angle is the crank's less that."""
    c, s = math.cos(turned), math.sin(turned)
    text = four_bar(PARALLEL, f"crank = 1.0\ncoupler = -1.0\nrocker = {1 - turned}")
    rotation = f"rotation = [[{c}, {-s}, 0], [{s}, {c}, 0], [0, 0, 1]]"
    text = text.replace("\nposition = [0.6, 0, 0]", f"\nposition = [0.6, 0, 0]\n{rotation}")
    robot = read(text)
    follows = robot.joints[2].follows
    assert follows is not None and follows.joints == (0,) and follows.ratios == (1.0,)
    assert follows.offset == pytest.approx(-turned, abs=1e-12)


def test_letters_stay_where_sides_share_them() -> None:
    robot = read(lettered(four_bar(("A", "B", "A", "B"), UPRIGHT)))
    assert robot.cuts[0].form == "parallelogram" and set(robot.symbols) == {"A", "B"}
    assert mi.base_parameters(robot).count == 3


def test_letters_that_are_equal_only_by_value_become_numbers() -> None:
    robot = read(lettered(four_bar((0.3, "B", "A", "B"), UPRIGHT)))
    assert robot.cuts[0].form == "parallelogram" and set(robot.symbols) == {"B"}
    assert "only for the values of A" in texts(robot)
    assert mi.base_parameters(robot).count == 3


def test_unknown_letters_that_differ_make_no_parallelogram() -> None:
    text = four_bar(("A", "B", "A", "C"), "").replace(
        "[[joint]]", '[symbols]\nA = "unknown"\nB = "unknown"\nC = "unknown"\n[[joint]]', 1
    )
    assert read(text).open_cuts


def test_rounded_sides_are_snapped_and_said_unless_exact() -> None:
    rounded = (0.3, 0.600001, 0.3000004, 0.6)
    robot = read(four_bar(rounded, UPRIGHT))
    assert robot.cuts[0].form == "parallelogram"
    assert "loop 'pin': taken as an exact parallelogram (off by 1.2e-06" in texts(robot)
    assert any(note.is_geometry for note in robot.notes)
    assert read(four_bar(rounded, UPRIGHT, top="exact = true\n")).open_cuts
    assert read(four_bar((0.3, 0.6001, 0.3, 0.6), UPRIGHT)).open_cuts


def test_without_a_seed_the_parallelogram_is_preferred_and_said() -> None:
    robot = read(four_bar(PARALLEL, ""))
    assert robot.cuts[0].form == "parallelogram"
    assert "parallelogram branch); give [loop.seed] for another" in texts(robot)


def test_where_nothing_is_said_of_passive_joints_the_order_of_the_file_counts() -> None:
    robot = read(four_bar(passive=()))
    assert robot.coordinate_names == ("crank",)
    assert "the file does not mark active joints; taken in file order: crank" in texts(robot)


def test_a_seed_may_name_the_active_joints_alone() -> None:
    robot = read(four_bar(seed="crank = 0.7"))
    assert robot.seed[0] == 0.7 and np.abs(residual(robot, robot.seed)).max() < CLOSED


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
@pytest.mark.parametrize("given", [((0.2, 0.5, 0.4, 0.45), four_bar().split("[loop.seed]\n")[1]), (PARALLEL, UPRIGHT)])
def test_round_trip(kind: str, given: tuple[tuple[float, ...], str]) -> None:
    robot = read(four_bar(*given, kind=kind))
    again = read(toml_text(robot))
    assert (again.joints, again.cuts) == (robot.joints, robot.cuts)
    np.testing.assert_allclose(again.seed, robot.seed, rtol=0, atol=1e-14)
    assert toml_text(robot).startswith("format = 3")


def test_round_trip_in_letters() -> None:
    robot = read(lettered(four_bar(("A", "B", "A", "B"), UPRIGHT)))
    again = read(toml_text(robot))
    assert (again.joints, again.cuts, dict(again.symbols)) == (robot.joints, robot.cuts, dict(robot.symbols))


def test_files_without_loops_keep_their_format() -> None:
    assert toml_text(mi.read_robot("panda")).startswith(("format = 1", "format = 2"))


def test_what_works_on_trees_alone_says_so() -> None:
    with pytest.raises(InputError, match=r"solving numerically for passive joints \('pin'\).*symbolic\(robot.opened\)"):
        mi.base.derive_symbolic(read(four_bar()))


# ---------------------------------------------------------------------- bad input

TILTED = "second_rotation = [[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]]\n"
JOINT = '[[joint]]\nname = "{}"\nkind = "revolute"\n{}\n'
BAD = {
    "cannot close": (
        four_bar((0.2, 0.5, 0.4, 9.0), ""),
        "the loop 'pin' cannot close from any initial configuration tried",
    ),
    "cannot close near": (four_bar((0.2, 0.5, 0.4, 9.0)), "the loop 'pin' cannot close near the given seed"),
    "unknown lengths": (
        four_bar((0.2, 0.1, 0.1, "B + 9"), "").replace("[[joint]]", '[symbols]\nB = "unknown"\n[[joint]]', 1),
        "with the random values of B; give them values",
    ),
    "off the branch": (
        four_bar(seed="crank = 0.7\ncoupler = 0.9\nrocker = -0.4"),
        "the seed is not a closed configuration: it gives",
    ),
    "singular seed": (four_bar(PARALLEL, "crank = 0\ncoupler = 0\nrocker = 0"), "singular configuration"),
    "too many active": (four_bar(passive=("rocker",)), "2 joints of the loop 'pin' are active (crank, coupler), but"),
    "too few active": (
        four_bar(passive=("crank", "coupler", "rocker")),
        "has mobility 1, but its number of active joints is 0 (none)",
    ),
    "over-constrained": (four_bar(rotation=TILTED), "the loop 'pin' cannot close"),
    "rounded across": (
        four_bar().replace("first_position = [0.5, 0, 0]", "first_position = [0.5, 0, 2e-6]"),
        "the loop 'pin' closes only to 2e-06 m or rad because its lengths or axes are rounded",
    ),
    "cannot move": (four_bar(kind="fixed"), "cannot close near the given"),
    "passive without loop": (SQUARE_ON + JOINT.format("a", "passive = true"), "no [[loop]]"),
    "passive outside": (
        four_bar() .replace("[[loop]]", JOINT.format("tool", 'parent = "crank"\npassive = true') + "[[loop]]"),
        "joint 'tool' is passive but belongs to no loop",
    ),
    "no such joint": (four_bar().replace('second = "rocker"', 'second = "rokcer"'), "'rokcer', which does not exist"),
    "no end": (four_bar().replace('second = "rocker"\n', ""), "second"),
    "same link": (four_bar().replace('second = "rocker"', 'second = "coupler"'), "are the same link"),
    "kind": (four_bar(kind="screw"), "kind"),
    "unknown key": (four_bar(rotation="angle = 3\n"), "angle"),
    "seed names nothing": (four_bar(seed="motor = 1"), "the seed names the joint 'motor', which does not move"),
    "seed is a word": (four_bar(seed='crank = "up"'), "crank"),
    "two loops of one name": (four_bar() + "[[loop]]" + four_bar().split("[[loop]]")[1], "two loops called 'pin'"),
    "position": (four_bar().replace("first_position = [0.5, 0, 0]", "first_position = [0.5, 0]"), "first_position"),
    "rotation": (four_bar(rotation="second_rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 2]]\n"), "second_rotation"),
    "seed against follows": (
        toml_text(read(four_bar(PARALLEL, UPRIGHT))).replace("coupler = -1.0", "coupler = 1.0"),
        "remove its 'follows'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case: str) -> None:
    text, said = BAD[case]
    with pytest.raises(DescriptionError) as caught:
        read(text)
    message = str(caught.value)
    assert said in message and message.startswith("bar.toml") and "\n" not in message


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('joints = ["a"]\nratio = 1', "'ratio' cannot be given together with 'joints'"),
        ('joints = ["a", "a"]', "each once"),
        ("joints = []", "joints"),
        ('joints = ["a", "x"]', "does not exist"),
        ("joints = [0]", "cannot follow the ground"),
        ('joints = ["a", "b"]\nratios = [1]', "ratios"),
        ('joints = ["a"]\noffset = "L"', "offset"),
    ],
)
def test_bad_followers_of_several_joints(lines: str, said: str) -> None:
    text = SQUARE_ON + JOINT.format("a", "") + JOINT.format("b", "") + JOINT.format("c", f"[joint.follows]\n{lines}")
    with pytest.raises(DescriptionError, match=said):
        read(text)


@pytest.mark.parametrize("lengths", [(0.2, 0.5, 0.4, 0.45), PARALLEL])
def test_loops_whose_crank_follows_another(lengths: tuple[float, ...]) -> None:
    """Two fingers of a gripper: both cranks are one coordinate."""
    seed = UPRIGHT if lengths == PARALLEL else "crank = 0.7\ncoupler = -0.18\nrocker = 1.22"
    text = four_bar(lengths, seed)
    joints, loop = text.removeprefix(SQUARE_ON).split("[[loop]]", 1)
    for name in ("crank", "coupler", "rocker", "pin"):
        joints, loop = (part.replace(f'"{name}"', f'"{name}2"') for part in (joints, loop))
    loop = loop.split("[loop.seed]")[0]
    crank = "parent = 0\nposition = [0, 0, 0]\n"
    follows = '[joint.follows]\njoint = "crank"\nratio = 1.0\n'
    second = joints.replace(crank, f"{crank}{follows}", 1)
    head, first_loop = text.split("[[loop]]", 1)
    robot = read(f"{head}{second}[[loop]]{first_loop}[[loop]]{loop}")
    assert robot.coordinate_names == ("crank",) and len(robot.cuts) == 2
    assert robot.joints[3].follows == Follows((0,), (1.0,))
    if lengths == PARALLEL:
        assert not robot.open_cuts and robot.joints[5].follows == Follows((0,), (1.0,))
    else:
        assert robot.passive == (1, 2, 4, 5) and np.abs(residual(robot, robot.seed)).max() < CLOSED
