"""The reader of SYMORO+ files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minertia import MinertiaError, read_robot
from minertia.algebra.polynomial import letter
from minertia.io.errors import DescriptionError
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.symoro.read import parse_par
from tests.amount import examples
from tests.robot.dh_helpers import SHARED, link_frames, product, rot, trans

TWO = {
    "NL": "2",
    "NJ": "2",
    "Type": "0",
    "ant": "{0,1}",
    "sigma": "{0,1}",
    "gamma": "{0,0}",
    "b": "{0,0}",
    "alpha": "{0,pi/2}",
    "d": "{0,D2}",
    "theta": "{th1,0}",
    "r": "{0,r2}",
}


def par(*, drop=(), **changes):
    entries = {k: v for k, v in (TWO | changes).items() if k not in drop}
    return "(* Robotname = 'two' *)\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())


def read(text, **options):
    return parse_par(text, "two.par", ReadOptions(**options))


def test_chain_with_letters():
    robot = read(par())
    assert robot.name == "two" and [joint.kind for joint in robot.joints] == ["revolute", "prismatic"]
    assert dict(robot.symbols) == {"D2": None}
    assert robot.joints[1].p == (letter("D2"), 0, 0)
    assert robot.joints[1].R == ((1, 0, 0), (0, 0, -1), (0, 1, 0))
    assert robot.links == (None, None) and not robot.has_parameters


def test_all_six_numbers_agree_with_a_matrix_product():
    text = par(
        gamma="{0, 0.3}",
        b="{0, 0.11}",
        alpha="{0.2, 0.7}",
        d="{0.1, 0.4}",
        theta="{th1 - 0.2, 0.5}",
        r="{0.3, r2 + 0.25}",
    )
    for letters in (True, False):
        _, frame = link_frames(read(text, letters=letters), (0.6, -0.4))
        first = product(rot("x", 0.2), trans("x", 0.1), rot("z", 0.4), trans("z", 0.3))
        second = product(
            rot("z", 0.3), trans("z", 0.11), rot("x", 0.7), trans("x", 0.4), rot("z", 0.5), trans("z", 0.25 - 0.4)
        )
        np.testing.assert_allclose(frame, first @ second, atol=1e-15)


@pytest.mark.parametrize(
    ("slot", "offset"),
    [
        ("th1", 0),
        ("q1", 0),
        ("t1 + pi/2", np.pi / 2),
        ("-pi/2 + theta1", -np.pi / 2),
        ("foo", 0),
        ("0.3", 0.3),
        ("0", 0),
    ],
)
def test_variable_and_offset(slot, offset):
    frame = link_frames(read(par(theta=f"{{{slot},0}}")), (0.4, 0))[0]
    np.testing.assert_allclose(frame, rot("z", 0.4 + offset), atol=1e-15)


def test_offset_may_be_a_letter():
    robot = read(par(r="{0, r2 + RL2}", theta="{th1 + a1, 0}"))
    assert robot.joints[1].p == (letter("D2"), -letter("RL2"), 0)
    assert robot.joints[0].R[0][0] == letter("cos(a1)")
    assert set(robot.symbols) == {"D2", "RL2", "a1"}


def test_angles_may_be_letters():
    robot = read(par(alpha="{0, a2 + pi/2}"))
    assert robot.joints[1].R[1][1] == -letter("sin(a2)")


def test_angles_in_degrees_are_refused_or_pointed_out():
    for slot in ("90", "a2 + 90"):
        with pytest.raises(DescriptionError, match=r"joint 2: alpha is 90 rad, .* write 90\*pi/180 if"):
            read(par(alpha=f"{{0, {slot}}}"))
    with pytest.raises(DescriptionError, match="joint 1: theta is -180 rad"):
        read(par(theta="{th1 - 180, 0}"))
    (note,) = [note for note in read(par(alpha="{0, 5}")).notes if note.level == "warning"]
    assert note.where == "joint 2" and "write 5*pi/180 if" in note.text


def test_numbers_become_letters_and_rounded_angles_are_snapped():
    robot = read(par(d="{0, 0.4}", alpha="{0, 1.5708}"))
    assert dict(robot.symbols) == {"d2": 0.4}
    assert robot.joints[1].R[1][1] == 0
    assert [note.level for note in robot.notes if note.where == "joint 2"] == ["info"]
    assert not read(par(d="{0, 0.4}"), letters=False).symbols


def test_trees_and_fixed_frames():
    text = par(
        **{key: f"{{{','.join(['0'] * 4)}}}" for key in ("gamma", "b", "alpha")},
        NL="4",
        NJ="4",
        ant="{0,1,1,3}",
        sigma="{0,0,2,1}",
        d="{0,D2,D3,0}",
        theta="{th1,th2,0,0}",
        r="{0,0,0,r4}",
        M="{1,1,2,1}",
    )
    for key in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ"):
        text += f"{key} = {{0,0,0,0}}\n"
    with pytest.raises(DescriptionError, match="'D3', which has no value"):
        read(text)
    robot = read(text.replace("D3", "0.5"), letters=False)
    assert [joint.parent for joint in robot.joints] == [None, 0, 0]
    assert robot.links[0][9] == 3 and robot.links[0][6] == 1.0


def test_numbers_of_links_and_drives():
    text = par() + "XX = {1,XX2}\nM = {2,M2}\nIA = {0.5,IA2}\nFV = {0,0.1}\nFS = {0.2,0}\n"
    robot = read(text)
    assert robot.links == ((1, 0, 0, 0, 0, 0, 0, 0, 0, 2), None)
    assert [dict(e) for e in robot.effects] == [{"IA": 0.5, "FC": 0.2}, {"FV": 0.1}]
    assert [note.where for note in robot.notes if note.level == "warning"] == ["link 1"]


@pytest.mark.parametrize(
    ("G", "expected"),
    [
        ("{0,0,G3}", (0, 0, -9.81)),
        ("{0,0,9.8}", (0, 0, 9.8)),
        ("{G1,0,0}", (-9.81, 0, 0)),
        ("{G1,G2,G3}", (0, 0, -9.81)),
        ("{0,0,0}", (0, 0, 0)),
    ],
)
def test_gravity(G, expected):
    robot = read(par(G=G))
    assert robot.gravity == expected
    assert bool([note for note in robot.notes if note.where == "gravity"]) == (G.count("G") > 0)


def test_mobile_base():
    assert read(par(is_mobile="1")).is_floating
    assert not read(par(is_mobile="1"), base="fixed").is_floating


def test_what_is_left_out_is_said():
    robot = read(par(FX="{0,3}", W0="{0,0,1}"))
    assert [note.where for note in robot.notes if note.level == "warning"] == ["FX", "W0"]


BAD = {
    "": "'NL' is missing",
    "hello": "not a statement",
    "NL = {": "not a statement",
    "(* never closed": "not closed",
    par(NL="x"): "must be an integer",
    par(NL="0", NJ="0"): "between 1 and",
    par(NJ="3"): "needs 4",
    par(Type="2"): "closed loops",
    par(drop=["ant"]): "'ant' is missing",
    par(drop=["sigma"]): "'sigma' is missing",
    par(ant="{0}"): "1 entries; it needs 2",
    par(ant="{0,3}"): "integers from 0 to 2",
    par(ant="{0,a}"): "integers",
    par(ant="{0,2}"): "cannot be reached",
    par(ant="{2,1}"): "cannot be reached",
    par(sigma="{0,3}"): "integers from 0 to 2",
    par(d="{0,0,0}"): "3 entries; it needs 2",
    par(d="{0,}"): "ends too early",
    par(d="{}"): "0 entries",
    par(d="{0,1/0}"): "divides by 0",
    par(d="{0,exec(1)}"): "cannot be read",
    par(d="{0,th1}"): "the variable of joint 1",
    par(d="{0,M2}"): "name of an inertial parameter",
    par(theta="{-th1,0}"): "cannot be determined",
    par(theta="{2*th1,0}"): "cannot be determined",
    par(theta="{a + c,0}"): "cannot be determined",
    par(sigma="{0,0}", theta="{th1,th1}"): "same variable",
    par(alpha="{0,2*a}"): "angle",
    par(FOO="{1,2}"): "'FOO' is not part",
    par(FOO="1"): "'FOO' is not part",
    par() + "NL = 2\n": "twice",
    par(eta="{0,1}"): "elastic",
    par(M="{-1,1}", **{k: "{0,0}" for k in ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ")}): "negative mass",
    par(sigma="{0,2}", r="{0,0}", IA="{0,1}"): "fixed but has a drive",
    par(sigma="{2,2}", theta="{0,0}", r="{0,0}"): "has no movable joint",
    "(" * 2_000_000: "at most",
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_wrong_files_are_refused_in_one_sentence(text):
    with pytest.raises(DescriptionError) as caught:
        read(text)
    message = str(caught.value)
    assert BAD[text] in message
    assert message.startswith("two.par") and "\n" not in message


def test_errors_name_the_line():
    with pytest.raises(DescriptionError, match=r"^two.par, line 10: the list 'd'"):
        read(par(d="{0}"))
    with pytest.raises(DescriptionError, match=r"^two.par, line 4: 'rubbish"):
        read("(* a\n comment *)\nNL = 2\nrubbish here\n")


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from([*TWO, "G", "M", "XX", "IA", "eta"]),
    st.text(alphabet="{}0123,.thpi+-*/()eE \nDG=", max_size=15),
)
def test_only_our_errors_escape(name, value):
    try:
        read(par(**{name: value}))
    except MinertiaError as err:
        assert str(err)


@pytest.mark.parametrize(
    ("name", "letters", "kinds"), [("RX90", {"D3", "RL4"}, "RRRRRR"), ("Stanford", {"RL2"}, "RRPRRR")]
)
def test_shared_files(name, letters, kinds):
    path = SHARED / "robots" / f"{name}.par"
    if not path.is_file():
        pytest.skip("the shared robot files are not here")
    robot = read_robot(path)
    assert robot.name == name and set(robot.symbols) == letters
    assert "".join(joint.kind[0].upper() for joint in robot.joints) == kinds


def test_rx90_agrees_with_the_bundled_one():
    path = SHARED / "robots" / "RX90.par"
    if not path.is_file():
        pytest.skip("the shared robot files are not here")
    ours, theirs = read_robot("rx90"), read_robot(path)
    assert [(j.R, j.p) for j in ours.joints] == [(j.R, j.p) for j in theirs.joints]
