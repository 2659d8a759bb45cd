"""The TOML reader: conventions, letters, links, drives, coupling, and everything that can be wrong in a file."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minertia import MinertiaError
from minertia.algebra.polynomial import letter
from minertia.io.errors import DescriptionError
from minertia.io.tables import LARGEST
from minertia.robot.formats.dh.read import parse_toml
from minertia.robot.formats.expression import ExpressionError, expression_text, parse_expression
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.inertia import from_com, symmetric, transport_ten
from minertia.robot.joint import Follows
from tests.amount import examples
from tests.robot.dh_helpers import link_frames, product, read, rot, trans

ONE = '[[joint]]\nkind = "revolute"\n'


def one(lines, kind="revolute", top=""):
    return f'{top}\n[[joint]]\nkind = "{kind}"\n{lines}\n'


# ---------------------------------------------------------------------- conventions


ROWS = {
    "khalil": (
        "gamma = 0.3\nb = 0.11\nalpha = 0.7\nd = 0.4\ntheta = -0.2\nr = 0.25",
        lambda q, s: product(
            rot("z", 0.3),
            trans("z", 0.11),
            rot("x", 0.7),
            trans("x", 0.4),
            rot("z", -0.2 + q * (1 - s)),
            trans("z", 0.25 + q * s),
        ),
    ),
    "craig": (
        "a = 0.4\nalpha = 0.7\ntheta = -0.2\nd = 0.25",
        lambda q, s: product(rot("x", 0.7), trans("x", 0.4), rot("z", -0.2 + q * (1 - s)), trans("z", 0.25 + q * s)),
    ),
    "standard": (
        "a = 0.4\nalpha = 0.7\ntheta = -0.2\nd = 0.25",
        lambda q, s: product(rot("z", -0.2 + q * (1 - s)), trans("z", 0.25 + q * s), trans("x", 0.4), rot("x", 0.7)),
    ),
}


@pytest.mark.parametrize("letters", [True, False])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("convention", ROWS)
def test_link_frames_follow_the_table(convention, kind, letters):
    row, expected = ROWS[convention]
    text = f'convention = "{convention}"\n' + one(row, kind) * 2
    robot = read(text, letters=letters, snap=0)
    s = kind == "prismatic"
    first, second = link_frames(robot, (0.5, -0.9))
    np.testing.assert_allclose(first, expected(0.5, s), atol=1e-15)
    np.testing.assert_allclose(second, expected(0.5, s) @ expected(-0.9, s), atol=1e-15)


def test_placement_is_a_plain_pose():
    R = product(rot("x", 0.4), rot("z", 1.1))[:3, :3]
    text = one(f'convention = "placement"\nrotation = {R.tolist()}\nposition = [0.1, 0, -0.2]')
    (frame,) = link_frames(read(text), [0.0])
    np.testing.assert_allclose(frame[:3, :3], R, atol=1e-15)
    np.testing.assert_allclose(frame[:3, 3], [0.1, 0, -0.2])


def test_conventions_may_differ_by_joint():
    robot = read('convention = "craig"\n' + one("a = 0.1") + one('convention = "khalil"\nr = 0.2'))
    np.testing.assert_allclose(link_frames(robot, [0, 0])[1][:3, 3], [0.1, 0, 0.2])


def test_right_angles_are_structure():
    robot = read(one("alpha_deg = -90\ntheta_deg = 180"))
    assert robot.joints[0].R == ((-1, 0, 0), (0, 0, 1), (0, 1, 0))
    assert all(type(s) is int for row in robot.joints[0].R for s in row)


@pytest.mark.parametrize("written", ["alpha = 1.5708", "alpha_deg = 90.01", 'alpha = "pi/2"', "alpha = 1.570796327"])
def test_rounded_angles_are_snapped(written):
    robot = read(one(written))
    assert robot.joints[0].R == ((1, 0, 0), (0, 0, -1), (0, 1, 0))
    assert [note.level for note in robot.notes] == ([] if "pi" in written else ["info"])
    if robot.notes:
        assert "joint 'j1'" in robot.notes[0].where and robot.notes[0].line == 4


def test_snapping_is_adjustable():
    assert read(one("alpha = 1.5708"), snap=0).joints[0].R[1][1] != 0
    assert read(one("alpha = 1.5708", top="exact = true")).joints[0].R[1][1] != 0
    assert read(one("alpha = 1.5"), snap=0.1).joints[0].R[1][1] == 0


def test_rounded_rotation_matrices_are_snapped():
    robot = read(one('convention = "placement"\nrotation = [[1, 0, 0], [0, -3.7e-6, -1.0], [0, 1.0, -3.7e-6]]'))
    assert robot.joints[0].R == ((1, 0, 0), (0, 0, -1), (0, 1, 0))
    assert robot.notes[0].level == "info"


# ---------------------------------------------------------------------- letters


def test_symbols_stay_letters():
    text = one('d = "D3"\nr = "-R3"', top="[symbols]\nD3 = 0.4\nR3 = 0.1")
    robot = read(text)
    assert robot.joints[0].p == (letter("D3"), 0, -letter("R3"))
    assert dict(robot.symbols) == {"D3": 0.4, "R3": 0.1}
    plain = read(text, letters=False)
    assert plain.joints[0].p == (0.4, 0, -0.1) and not plain.symbols


def test_numbers_get_letters_named_by_key_and_row():
    robot = read(one("d = 0.4\nr = 1") + one('convention = "standard"\na = 0.2\nd = 0.0'))
    assert dict(robot.symbols) == {"d1": 0.4, "r1": 1.0, "a2": 0.2}
    assert not read(one("d = 0.4"), letters=False).symbols


def test_letters_do_not_clash_with_symbols():
    robot = read(one('d = 0.4\nr = "d1"', top="[symbols]\nd1 = 0.3"))
    assert dict(robot.symbols) == {"d1": 0.3, "d1_": 0.4}


def test_offset_of_a_prismatic_joint_may_be_a_letter():
    robot = read(one('r = "R1"', "prismatic", "[symbols]\nR1 = 0.3"))
    np.testing.assert_allclose(link_frames(robot, [0.2])[0][:3, 3], [0, 0, 0.5])


def test_symbol_without_value():
    robot = read(one('d = "L"', top='[symbols]\nL = "unknown"'))
    assert dict(robot.symbols) == {"L": None} and robot.numeric.joints[0].p[0] > 0
    assert read(one('d = "L"', top='[symbols]\nL = "unknown"'), letters=False).symbols == {"L": None}


def test_symbol_of_value_zero_is_reported():
    assert read(one('d = "L"', top="[symbols]\nL = 0")).notes[0].level == "warning"


@pytest.mark.parametrize("convention", ROWS)
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_angles_may_be_letters(convention, kind):
    """With a value, without one and with offsets: the frames are those of the table at the values."""
    rows, pose = ROWS[convention]
    lettered = rows.replace("alpha = 0.7", "alpha = 'A + 0.5'").replace("theta = -0.2", "theta = '0.1 - B'")
    known = read(one(f"convention = '{convention}'\n{lettered}", kind, "[symbols]\nA = 0.2\nB = 0.3"))
    np.testing.assert_allclose(link_frames(known, [0.9])[0], pose(0.9, kind == "prismatic"), atol=1e-15)
    assert {"A", "B"} <= set(known.symbols) and known.has_letters
    numbers = read(one(f"convention = '{convention}'\n{lettered}", kind, "[symbols]\nA = 0.2\nB = 0.3"), letters=False)
    assert not numbers.symbols and not numbers.has_letters
    np.testing.assert_allclose(link_frames(numbers, [0.9])[0], pose(0.9, kind == "prismatic"), atol=1e-15)
    open_ = read(one(f"convention = '{convention}'\n{lettered}", kind, "[symbols]\nA = 'unknown'\nB = 'unknown'"))
    assert (
        open_.symbols["A"] is None and open_.at({"A": 0.2, "B": 0.3, **_lengths(open_)}).joints == known.numeric.joints
    )


def _lengths(robot):
    return {name: value for name, value in robot.symbols.items() if value is not None}


def test_a_letter_at_a_right_angle_is_taken_as_the_number():
    """The axes align there, which a letter would hide."""
    text = one("alpha = 'A'\ntheta = 'B'", top="[symbols]\nA = 1.5708\nB = 0.0")
    robot = read(text)
    assert robot.joints[0].R == ((1, 0, 0), (0, 0, -1), (0, 1, 0))
    assert [(note.level, note.is_geometry) for note in robot.notes] == [("info", True), ("info", False)]
    assert "alpha = 'A' is 90 degrees" in robot.notes[0].text
    assert read(text, snap=0).joints[0].R[2][1] == letter("sin(A)")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("alpha = 5", "is 286.5 degrees; write alpha_deg if"),
        ("theta = -2.0", "is -114.6 degrees; write theta_deg if"),
        ("alpha = 4.1", "is 234.9 degrees"),
        ("alpha_deg = 1.5708", "write alpha = 1.5708 if it is meant in radians"),
        ("theta_deg = -3.14", "write theta = -3.14 if"),
    ],
)
def test_angles_that_look_like_the_other_unit(line, says):
    (note,) = [note for note in read(one(line)).notes if note.level == "warning"]
    assert says in note.text and note.where == "joint 'j1'" and note.line == 4


@pytest.mark.parametrize("line", ["alpha = 0", "alpha = -1.5708", "theta = 4.712", "theta = 6.2832", "alpha_deg = 5"])
def test_angles_that_look_right(line):
    assert not any(note.level == "warning" for note in read(one(line)).notes)


# ---------------------------------------------------------------------- links


def test_link_about_its_centre_and_about_the_frame():
    com, six = (0.1, -0.2, 0.05), (0.3, 0.01, 0.02, 0.4, -0.03, 0.5)
    robot = read(one(f"[joint.link]\nmass = 2.5\ncom = {list(com)}\ninertia = {list(six)}"))
    np.testing.assert_allclose(robot.links[0], from_com(2.5, com, symmetric(six)))
    robot = read(one(f'[joint.link]\nmass = 2.5\ncom = {list(com)}\ninertia = {list(six)}\nabout = "frame"'))
    np.testing.assert_allclose(robot.links[0], [*six, 0.25, -0.5, 0.125, 2.5])


def test_ten_parameters_by_name():
    robot = read(one("[joint.link]\nZZ = 0.5\nM = 2"))
    assert robot.links[0] == (0, 0, 0, 0, 0, 0.5, 0, 0, 0, 2)


def test_link_of_a_standard_row_is_in_its_distal_frame():
    ten = from_com(2.0, (0.1, 0.2, 0.3), symmetric((0.3, 0.01, 0.02, 0.4, -0.03, 0.5)))
    robot = read(
        'convention = "standard"\n'
        + one("a = 0.4\nalpha = 0.7\n[joint.link]\nmass = 2\ncom = [0.1, 0.2, 0.3]\n")
        + "inertia = [0.3, 0.01, 0.02, 0.4, -0.03, 0.5]\n"
    )
    distal = product(trans("x", 0.4), rot("x", 0.7))
    pose = tuple(map(tuple, distal[:3, :3])), tuple(distal[:3, 3])
    np.testing.assert_allclose(np.array(robot.links[0], float), transport_ten(ten, pose), atol=1e-14)


def test_links_may_be_missing_and_named():
    robot = read(one('[joint.link]\nname = "arm"') + one(""))
    assert robot.links == (None, None)
    assert [joint.link for joint in robot.joints] == ["arm", "j2"]
    assert robot.missing_links == ("arm", "j2")


def test_fixed_joints_keep_their_mass():
    text = ONE + one("r = 0.5\n[joint.link]\nmass = 2", "fixed") + one("d = 0.1")
    robot = read(text, letters=False)
    assert robot.n_joints == 2
    np.testing.assert_allclose(robot.links[0], [0.5, 0, 0, 0.5, 0, 0, 0, 0, 1, 2])
    assert robot.joints[1].parent == 0 and robot.joints[1].p == (0.1, 0, 0.5)


# ---------------------------------------------------------------------- structure


def test_trees_by_name_and_number():
    text = (
        one('name = "trunk"')
        + one('name = "left"\nparent = "trunk"\nr = 0.1')
        + one("parent = 1\nr = 0.2")
        + one("parent = 0")
    )
    robot = read(text)
    assert [joint.parent for joint in robot.joints] == [None, 0, 0, None]
    assert robot.coordinate_names == ("trunk", "left", "j3", "j4")


def test_parents_may_come_later():
    robot = read(one("parent = 2") + one("parent = 0"))
    assert [joint.name for joint in robot.joints] == ["j2", "j1"]


def test_top_level():
    robot = read('format = 1\nname = "arm"\ngravity = [0, 9.81, 0]\nbase = "floating"\n[base_link]\nM = 3\n' + ONE)
    assert (robot.name, robot.gravity, robot.base) == ("arm", (0, 9.81, 0), "floating")
    assert robot.base_link[9] == 3
    robot = read(ONE)
    assert (robot.name, robot.gravity, robot.base) == ("robot", (0, 0, -9.81), "fixed")
    assert read(ONE, base="floating").is_floating


def test_limits():
    limits = (
        read(one("[joint.limits]\nposition = [-1, 2]\nvelocity = 3\nacceleration = 4\neffort = 5")).joints[0].limits
    )
    assert (limits.lower, limits.upper, limits.velocity, limits.acceleration, limits.effort) == (-1, 2, 3, 4, 5)
    robot = read(one("[joint.limits]\nposition = [2, -1]"))
    assert robot.notes[0].level == "warning" and robot.joints[0].limits.lower == 2


def test_follows_by_name_and_number():
    robot = read(
        ONE + one('[joint.follows]\njoint = "j1"\nratio = -2\noffset = 0.1') + one("[joint.follows]\njoint = 2")
    )
    assert robot.n == 1 and robot.independent == (0,)
    assert robot.joints[1].follows == robot.joints[2].follows == Follows((0,), (-2,), 0.1)


def test_follows_several_joints():
    follows = '[joint.follows]\njoints = ["j1", 2]\nratios = [1, -2]\noffset = "-pi/2"'
    robot = read(ONE + one("") + one(follows) + one('[joint.follows]\njoints = ["j3", "j1"]\noffset = 1'))
    assert robot.independent == (0, 1)
    assert robot.joints[2].follows == Follows((0, 1), (1, -2), -math.pi / 2)
    assert robot.joints[3].follows == Follows((0, 1), (2, -2), 1 - math.pi / 2)


# ---------------------------------------------------------------------- drives


def test_drive_is_seen_at_the_joint():
    robot = read(one("[joint.drive]\nratio = -10\nrotor_inertia = 0.02\nviscous = 0.03\ncoulomb = 0.4\noffset = 0.5"))
    assert dict(robot.effects[0]) == pytest.approx({"IA": 2.0, "FV": 3.0, "FC": 4.0, "OFF": -5.0})


@pytest.mark.parametrize("ratio", [10.0, -10.0])
@pytest.mark.parametrize("written", ["[0.3, 0.5]", "[-0.3, 0.5]"])
def test_coulomb_friction_by_direction(ratio, written):
    robot = read(one(f"[joint.drive]\nratio = {ratio}\ncoulomb = {written}"))
    effects = robot.effects[0]
    for qd in (1.0, -1.0):
        motor = 0.5 if ratio * qd > 0 else -0.3
        assert effects["FC"] * qd + effects["OFF"] == pytest.approx(ratio * motor)


def test_effects_add_to_the_drive():
    robot = read(one("[joint.drive]\nratio = 2\nrotor_inertia = 1\n[joint.effects]\nIA = 0.5\nFV = -0.1"))
    assert dict(robot.effects[0]) == pytest.approx({"IA": 4.5, "FV": -0.1})


COUPLED = """
drive_coupling = [[10, 0, 0], [0, -20, 0], [0, 5, 5]]
[[joint]]
kind = "revolute"
[joint.drive]
rotor_inertia = 0.01
[[joint]]
kind = "fixed"
[[joint]]
kind = "revolute"
[joint.drive]
rotor_inertia = 0.01
offset = 0.1
[[joint]]
kind = "revolute"
[joint.drive]
rotor_inertia = 0.02
coulomb = [0.1, 0.3]
[joint.effects]
FC = 0.7
FVM = 0.6
"""


def test_coupled_drives():
    robot = read(COUPLED)
    assert robot.coupling == ((10, 0, 0), (0, -20, 0), (0, 5, 5))
    assert dict(robot.effects[0]) == pytest.approx({"IA": 1.0})
    assert dict(robot.effects[1]) == pytest.approx({"IA": 4.0, "OFF": -2.0})
    assert dict(robot.effects[2]) == {"FC": 0.7}
    assert dict(robot.motor_effects[2]) == pytest.approx({"IAM": 0.02, "FCM": 0.2, "OFFM": 0.1, "FVM": 0.6})
    assert list(robot.coupled_motors) == [2]


def test_coupling_follows_the_order_of_the_coordinates():
    text = (
        "drive_coupling = [[1, 2], [0, 3]]\n"
        + one("parent = 2\n[joint.drive]\nrotor_inertia = 0.1")
        + one("parent = 0")
    )
    robot = read(text)
    assert robot.coordinate_names == ("j2", "j1")
    assert robot.coupling == ((3, 0), (2, 1))
    assert [dict(e) for e in robot.motor_effects] == [{}, {"IAM": 0.1}]


def test_motor_may_turn_with_another_joint():
    robot = read("drive_coupling = [[0, 3], [2, 0]]\n" + one("[joint.drive]\nrotor_inertia = 0.1") + ONE)
    assert dict(robot.effects[0]) == {} and dict(robot.effects[1]) == pytest.approx({"IA": 0.9})


# ---------------------------------------------------------------------- wrong files


BAD = {
    "": "no joints",
    "joint = []": "no joints",
    "joint = 3": "[[joint]]",
    "[joint]\nkind = 'revolute'": "[[joint]]",
    "x = [": "not valid TOML",
    "a = 1\na = 2": "not valid TOML",
    "x = " + "[" * 5000: "nested more than 32 deep",
    "format = 5\n" + ONE: "format",
    "format = 1.0\n" + ONE: "format",
    "format = true\n" + ONE: "format",
    "exact = 3\n" + ONE: "exact",
    "gravty = [0, 0, 1]\n" + ONE: "did you mean 'gravity'",
    "gravity = [0, 0]\n" + ONE: "3 numbers",
    "gravity = [0, 0, nan]\n" + ONE: "finite",
    "gravity = 9.81\n" + ONE: "3 numbers",
    "name = 3\n" + ONE: "string",
    'base = "moving"\n' + ONE: "fixed, floating",
    'convention = "paul"\n' + ONE: "khalil",
    "symbols = 3\n" + ONE: "table",
    "[symbols]\nL = nan\n" + ONE: "finite",
    "[symbols]\nL = 'big'\n" + ONE: "finite",
    "[symbols]\nXX3 = 0.1\n" + ONE: "parameter",
    "[symbols]\n'a b' = 0.1\n" + ONE: "another name",
    "[symbols]\npi = 3\n" + ONE: "another name",
    "[[joint]]\nname = 'a'": "kind",
    "[[joint]]\nkind = 'ball'": "revolute, prismatic, fixed",
    "[[joint]]\nkind = ['revolute']": "revolute, prismatic, fixed",
    one("", "fixed"): "the robot has no movable joint",
    one("name = ''"): "string",
    one("name = 'a'") + one("name = 'a'"): "also called 'a'",
    one("name = 'j2'") + ONE: "also called 'j2'",
    one("[joint.link]\nname = 'x'") + one("[joint.link]\nname = 'x'"): "two links",
    one("alfa = 1"): "did you mean 'alpha'",
    one("a = 1"): "craig or standard",
    one("convention = 'craig'\nr = 1"): "khalil",
    one("convention = 'standard'\ngamma_deg = 1"): "khalil",
    one("rotation = 1"): "placement",
    one("alpha = 1\nalpha_deg = 57"): "alpha_deg",
    one("alpha = 'L'"): "not in [symbols]; known symbols: none",
    one("alpha = '2*L'", top="[symbols]\nL = 1"): "plus or minus symbols",
    one("alpha = 'cos(L)'", top="[symbols]\nL = 'unknown'"): "plus or minus symbols",
    one("alpha = 90"): "'alpha' is 90 rad, more than a full turn; write alpha_deg = 90 if it is meant in degrees",
    one("theta = '-180'"): "write theta_deg = -180",
    one("alpha = 'L'", top="[symbols]\nL = 90"): "90 degrees are 1.5708 rad",
    one("theta = 'L + 90'", top="[symbols]\nL = 'unknown'"): "90 degrees are 1.5708 rad",
    one("alpha_deg = 'L'", top="[symbols]\nL = 1"): "finite",
    one("alpha = 'pi/'"): "ends too early",
    one("alpha = inf"): "finite",
    one("alpha_deg = 'pi'"): "finite",
    one("d = true"): "finite",
    one("d = 1e999"): "finite",
    one("d = 1" + "0" * 400): "'joint.d' is an integer of more than 64 bits",
    one("d = [1]"): "finite",
    one("d = 'L'"): "not in [symbols]; known symbols: none",
    one("d = 'M'", top="[symbols]\nL = 1"): "known symbols: L",
    one("d = '__import__(0)'"): "cannot be read",
    one("d = '1/0'"): "divides by 0",
    one("d = '1/L'", top="[symbols]\nL = 1"): "divides by a symbol",
    one("d = ''"): "ends too early",
    one("d = '((((" + "(" * 100 + "'"): "nested",
    one("d = '1e308*1e308'"): "not finite",
    one("d = '" + "999999*" * 200 + "1'"): "too large",
    one("parent = 'x'"): "does not exist; joints: j1",
    one("parent = 2"): "number",
    one("parent = -1"): "number",
    one("parent = 1.0"): "number",
    one("parent = true"): "number",
    one("parent = 1"): "cannot be reached",
    one("parent = 2") + one("parent = 1"): "cannot be reached",
    one("convention = 'placement'\nposition = [1, 2]"): "3 lengths",
    one("convention = 'placement'\nposition = 'x'"): "3 lengths",
    one("convention = 'placement'\nrotation = [[1, 0, 0], [0, 1, 0]]"): "3 rows",
    one("convention = 'placement'\nposition = [1, 2]"): "3 lengths",
    "drive_coupling = []\n[[joint]]\nkind = 'fixed'": "no joint moves",
    one("convention = 'placement'\nrotation = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]"): "not a rotation",
    one("convention = 'placement'\nrotation = [[1, 0, 0], [0, 1, 0], [0, 0, 'x']]"): "[symbols]",
    one("link = 3"): "table",
    one("[joint.link]\nmass = -1"): "less than 0",
    one("[joint.link]\nM = -1"): "less than 0",
    one("[joint.link]\nmass = nan"): "finite",
    one("[joint.link]\nmas = 1"): "did you mean 'mass'",
    one("[joint.link]\nmass = 1\nXX = 1"): "not both",
    one("[joint.link]\ncom = [0, 0, 0]"): "'mass' is missing",
    one("[joint.link]\nmass = 1\ncom = [0, 0]"): "3 numbers",
    one("[joint.link]\nmass = 1\ninertia = [1, 1, 1]"): "6 numbers",
    one("[joint.link]\nmass = 1\nabout = 'hip'"): "com, frame",
    one("[joint.drive]\nratio = 0"): "must not be 0",
    one("[joint.drive]\nrotor_inertia = -1"): "less than 0",
    one("[joint.drive]\ncoulomb = [1]"): "2 numbers",
    one("[joint.drive]\ncoulomb = [1, -1]"): "positive direction",
    one("[joint.drive]\ncoulomb = -1"): "less than 0",
    one("[joint.drive]\ngear = 1"): "is unknown",
    one("[joint.effects]\nFX = 1"): "is unknown",
    one("[joint.effects]\nFS = 1"): "needs velocity",
    one("[joint.effects]\nFS = { value = 1, velocity = 0 }"): "must be positive",
    one("[joint.effects]\nFS = { velocity = 1 }"): "'value' is missing",
    one("[joint.effects]\nKS = { value = 1, length = 1 }"): "is unknown",
    one("[joint.effects]\nIAM = 1"): "drive_coupling",
    one("[joint.limits]\nposition = [1]"): "2 numbers",
    one("[joint.limits]\nspeed = 1"): "is unknown",
    one("[joint.limits]\nvelocity = inf"): "finite",
    one("[joint.follows]\nratio = 1"): "'joint' is missing",
    one("[joint.follows]\njoint = 0"): "ground",
    one("[joint.follows]\njoint = 1"): "break the cycle",
    one("[joint.follows]\njoint = 2") + one("", "fixed"): "not a moving joint",
    one("[joint.follows]\njoint = 2") + one("[joint.follows]\njoint = 1"): "break the cycle",
    ONE + one("[joint.limits]\nvelocity = 1", "fixed"): "a fixed joint has no 'limits'",
    ONE + one("[joint.follows]\njoint = 1", "fixed"): "a fixed joint has no 'follows'",
    "drive_coupling = [[1, 2]]\n" + ONE: "1 rows",
    "drive_coupling = 3\n" + ONE: "1 rows",
    "drive_coupling = [[1, 1], [1, 1]]\n" + ONE * 2: "singular",
    "drive_coupling = [[0, 0], [1, 1]]\n" + ONE * 2: "singular",
    "drive_coupling = [[2]]\n" + one("[joint.drive]\nratio = 2"): "ratio",
    "drive_coupling = [[2]]\n" + one("[joint.effects]\nIAM = 2"): "several joints",
    "drive_coupling = [[2]]\n" + ONE + one("[joint.follows]\njoint = 1\n[joint.drive]\nviscous = 1"): "follows another",
    ONE * 2001: "limit",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_wrong_files_are_refused_in_one_sentence(text):
    with pytest.raises(DescriptionError) as caught:
        read(text)
    message = str(caught.value)
    assert BAD[text] in message
    assert message.startswith("robot.toml") and "\n" not in message


def test_errors_name_the_joint_and_the_line():
    with pytest.raises(DescriptionError, match=r"^robot.toml, line 7: joint 'elbow': .*'apha'"):
        read('[[joint]]\nkind = "revolute"\n\n[[joint]]\nname = "elbow"\nkind = "revolute"\napha = 1\n')
    with pytest.raises(DescriptionError, match=r"^robot.toml, line 5: joint 'j1', link: 'mass'"):
        read('[[joint]]\nkind = "revolute"\nd = 1\n[joint.link]\nmass = -3\n')
    with pytest.raises(DescriptionError, match=r"^robot.toml, line 2: "):
        read("a = 1\nb = = 2\n")
    with pytest.raises(DescriptionError, match=r"^robot.toml, line 1: 'gravity'"):
        read("gravity = 3\n" + ONE)


def test_a_mass_placed_by_a_letter_without_value_is_refused():
    text = 'convention = "standard"\n[symbols]\nA = "unknown"\n' + one('a = "A"\n[joint.link]\nmass = 1')
    with pytest.raises(DescriptionError, match="'A', which has no value"):
        read(text)


KEYS = st.sampled_from(
    ["name", "kind", "parent", "alpha", "alpha_deg", "d", "r", "b", "a", "theta", "rotation", "position", "convention"]
    + ["link", "drive", "effects", "limits", "follows", "mass", "com", "joint", "gravity", "symbols", "drive_coupling"]
)
VALUES = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.sampled_from(
        ['"revolute"', '"prismatic"', '"fixed"', '"standard"', '"placement"', '"L"', '"-L"', '"j1"', '"("']
    ),
    st.sampled_from(["[]", "[1, 2, 3]", "[[1]]", "{}", "{mass = 1}", "{joint = 1}", "{L = 0.1}", "1979-05-27"]),
).map(lambda v: str(v).lower() if isinstance(v, bool) else str(v))
LINES = st.one_of(
    st.tuples(KEYS, VALUES).map(lambda kv: f"{kv[0]} = {kv[1]}"),
    st.sampled_from(["[[joint]]", 'kind = "revolute"', "[joint.link]", "[joint.drive]", "[symbols]", "L = 0.3"]),
)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, max_size=12).map("\n".join))
def test_only_our_errors_escape(text):
    for start in ("", '[[joint]]\nkind = "revolute"\n'):
        try:
            robot = read(start + text)
        except MinertiaError as err:
            assert str(err)
        else:
            assert robot.n_joints >= 1


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_refused_or_read(text):
    with contextlib.suppress(MinertiaError):
        read(text)


# ---------------------------------------------------------------------- expressions


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pi/2", math.pi / 2),
        ("-pi/2", -math.pi / 2),
        (" 2*(1 + .5) - 1e-1", 2.9),
        ("D3 - -D3", 2 * letter("D3")),
        ("(D3 + 1)*2/4", 0.5 * letter("D3") + 0.5),
        ("cos(pi)", -1),
        ("sin(a2)*sin(a2) + cos(a2)*cos(a2)", 1),
    ],
)
def test_expressions(text, value):
    assert parse_expression(text) == value


@pytest.mark.parametrize("text", ["", "D3 D4", "2 *", "(1", "1)", "a.b", "f(3)", "cos", "cos(2*a)", "2**3", "x" * 5000])
def test_expressions_that_are_refused(text):
    with pytest.raises(ExpressionError):
        parse_expression(text)


@given(st.floats(-LARGEST, LARGEST), st.floats(-1e6, 1e6).filter(lambda x: x != 0))
def test_expression_text_is_read_back(number, factor):
    value = factor * letter("D3") * letter("sin(a2)") * letter("D3") - letter("r_") + number
    assert parse_expression(expression_text(value)) == value


def test_the_name_of_a_robot_is_one_line():
    """It stands in headlines of pages, terminals and code, and may come from the name of a file."""
    text = '[[joint]]\nkind = "revolute"\n'
    assert parse_toml(f"format = 1\n{text}", "folder/an\narm.toml", ReadOptions()).name == "an arm"
    assert read(f'format = 1\nname = "an\\n  arm"\n{text}').name == "an arm"
