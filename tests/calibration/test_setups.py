"""Set-ups of our own: right ones are good, wrong ones are not, and are named where a change of columns mends them."""

import pytest

import minertia as mi
from tests.calibration.drawn import RIGHT, WRONG, campaign, planted_arm

QUICK = ("degrees for radians", "quaternions with w first", "another robot")


@pytest.mark.parametrize(
    ("name", "measure"),
    [pytest.param(*case, marks=[] if k % 5 == 0 else pytest.mark.slow) for k, case in enumerate(RIGHT)],
)
def test_a_right_set_up_is_good(name, measure, tmp_path):
    k = RIGHT.index((name, measure))
    found = mi.identify(campaign(tmp_path, planted_arm(name, k), measure, k))
    assert found.verdict.is_good, found.verdict.reasons
    assert found.validation[0].rms < 1e-4


@pytest.mark.parametrize("what", [pytest.param(w, marks=[] if w in QUICK else pytest.mark.slow) for w in WRONG])
def test_a_wrong_set_up_is_not_good_and_named(what, tmp_path):
    check, fault = WRONG[what]
    k = list(WRONG).index(what)
    found = mi.identify(fault(tmp_path, planted_arm(("ur10e", "puma560")[k % 2], k)))
    assert found.verdict.grade == "not good", found.verdict.reasons
    assert (found.verdict.suspicions[0].check == check) if check else not found.verdict.suspicions


def test_one_posture_again_and_again_is_refused(tmp_path):
    made = planted_arm("ur10e", 0)
    made.q[:], made.tool[:] = made.q[0], made.tool[0]
    with pytest.raises(mi.MinertiaError, match="1 posture, measured repeatedly"):
        mi.identify(campaign(tmp_path, made, "points", 0))
