"""A verdict from both sides of what decides it: rivals, sizes, joints, values that are poorly known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.left_out import NOTHING_LEFT_OUT, LeftOut
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.evidence.verdict import Verdict, grade_of, grade_sentence, verdict


def residuals(
    relative: float, joints: Sequence[float] = (), rmse: Sequence[float] = (), log: str = "unseen"
) -> Residuals:
    """Of two joints with efforts of size 1, unless said otherwise."""
    each = tuple(joints) or (relative, relative)
    return Residuals(log, relative, relative, ("j1", "j2"), each, tuple(rmse) or each)


def judged(own: float, rival: float, training: float = 0.02) -> Verdict:
    """A model beside one other on one unseen log."""
    return verdict(
        Evidence(
            residuals(training, log="train"),
            (),
            (),
            NOTHING_LEFT_OUT,
            (residuals(own),),
            {"the nominal model": (residuals(rival),)},
        )
    )


@pytest.mark.parametrize(
    ("own", "rival", "is_good", "word"),
    [
        (0.08, 0.072, True, "comparable with"),  # not a quarter more
        (0.08, 0.06, False, "worse than"),
        (0.08, 0.083, True, "comparable with"),
        (0.08, 0.085, True, "better than"),
        (0.006, 0.002, True, "comparable with"),  # three times as much, of nearly nothing
        (0.009, 0.003, False, "worse than"),
    ],
)
def test_a_rival_decides_where_it_is_clearly_better(own, rival, is_good, word):
    found = judged(own, rival, training=own)
    assert found.is_good == is_good
    assert found.reasons[0] == f"on 1 validation log the residual is {100 * own:.3g} % of the effort"
    assert f"{word} the nominal model there ({100 * rival:.3g} %)" in found.reasons


@pytest.mark.parametrize(("rival", "is_praised"), [(0.45, True), (0.55, False), (3.0, False)])
def test_a_rival_that_leaves_half_of_the_effort_is_none(rival, is_praised):
    found = judged(0.08, rival, training=0.08)
    assert any(reason.startswith("better than") for reason in found.reasons) == is_praised
    assert any("has a relative residual of" in reason for reason in found.reasons) != is_praised


def test_the_mean_over_unseen_logs_is_compared():
    """One log worse, one better than a rival: what counts is both together."""
    training = residuals(0.08, log="train")
    unseen = (residuals(0.04), residuals(0.12))
    for rivals, is_good in (((0.04, 0.12), True), ((0.04, 0.07), False), ((0.11, 0.04), True)):
        other = {"another": tuple(residuals(r) for r in rivals)}
        found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, unseen, other))
        assert found.is_good == is_good and found.reasons[0].startswith("on 2 validation logs the residual is 8 %")


@pytest.mark.parametrize(("own", "is_told"), [(0.07, False), (0.08, True)])
def test_much_more_on_unseen_motion_is_told(own, is_told):
    found = judged(own, 0.3, training=0.05)
    told = [reason for reason in found.reasons if "times that of the training" in reason]
    assert found.is_good and bool(told) == is_told
    assert not told or told[0].startswith("the residual on validation motion is 1.6 times")


@pytest.mark.parametrize(
    ("own", "friction", "grade"),
    [
        (0.09, 0.0, "good"),
        (0.11, 0.0, "not good"),  # no friction explains it
        (0.11, 0.3, "usable"),  # friction may leave as much, but joints are named
        (0.17, 0.3, "not good"),
        (0.23, 0.6, "usable"),  # a robot that is mostly friction
        (0.34, 1.0, "not good"),
    ],
)
def test_the_bound_follows_friction(own, friction, grade):
    found = verdict(Evidence(residuals(own), (), (), NOTHING_LEFT_OUT, (residuals(own),), friction=friction))
    assert found.grade == grade and found.to_dict()["grade"] == grade and found.to_dict()["good"] == (grade == "good")
    assert [limit.joint for limit in found.limits] == (["j1", "j2"] if grade == "usable" else [])
    assert any("beyond the noise of the log" in reason for reason in found.reasons) == (grade == "not good")


@pytest.mark.parametrize(("noise", "grade"), [(0.0, "not good"), (0.09, "usable"), (0.14, "good")])
def test_the_bound_follows_the_noise_of_the_log(noise, grade):
    """15 % are left, of which that much is noise: what is beyond it counts."""
    unseen = residuals(0.15, (0.15, 0.15), (0.15, 0.15)).with_noise((noise, noise))
    found = verdict(Evidence(residuals(0.15), (), (), NOTHING_LEFT_OUT, (unseen,), friction=0.25))
    assert unseen.beyond_noise == pytest.approx((0.15**2 - noise**2) ** 0.5)
    assert found.grade == grade


@pytest.mark.parametrize(("worst", "grade"), [(0.2, "good"), (0.3, "usable"), (0.796, "usable"), (1.2, "not good")])
def test_joints_that_are_not_explained(worst, grade):
    """The worst of two logs counts for each joint; a joint that is a limit is named with its figure."""
    training = residuals(0.05, (0.05, 0.05), (0.05, 0.05), log="train")
    unseen = (residuals(0.08, (0.08, worst), (0.08, worst), "a"), residuals(0.08, (0.08, 0.08), (0.08, 0.08), "b"))
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, unseen, {}))
    assert found.grade == grade
    if grade == "usable":
        (limit,) = found.to_dict()["limits"]
        assert limit["joint"] == "j2" and limit["figure"] == worst and "in a" in limit["what"]
        assert found.limits[0].sentence in found.reasons and "j2" in found.predicts
    assert any("joint j2: the relative residual of its effort is 120 %" in reason for reason in found.reasons) == (
        grade == "not good"
    )


def test_two_lines_say_what_a_model_predicts_and_what_it_knows():
    each = [ParameterEvidence(f"p{k}", 1.0, r, r, (0.0, 2.0), "alone") for k, r in enumerate([0.01, 0.03, 0.05, 0.4])]
    evidence = Evidence(residuals(0.05), (), tuple(each), NOTHING_LEFT_OUT, (residuals(0.06),), {})
    found = verdict(evidence)
    assert found.lines == (
        "predicts efforts: yes, relative residual 6 % on validation logs",
        "parameter accuracy: 3 of 4 known to 30 % or better, half of these to 3 %",
    )
    assert verdict(replace(evidence, faults=("a wrong unit",))).predicts.startswith(
        "predicts efforts: no, relative residual 6 %"
    )
    assert verdict(replace(evidence, parameters=())).knows == "parameter accuracy: no parameter was fitted"
    limited = replace(evidence, unseen=(residuals(0.06, (0.06, 0.5), (0.06, 0.5)),))
    assert (
        verdict(limited).predicts
        == "predicts efforts: with limits, relative residual 6 % on validation logs; limits at j2"
    )


def test_what_stands_against_a_model_is_said_wherever_it_is_used():
    limited = Evidence(residuals(0.05), (), (), NOTHING_LEFT_OUT, (residuals(0.06, (0.06, 0.5), (0.06, 0.5)),), {})
    assert grade_sentence(verdict(limited).to_dict()) == (
        "the model is usable with limits: joint j2: 50 % of its effort is not explained, beyond noise"
    )
    assert grade_sentence({"good": False, "reasons": ["a wrong unit"]}) == "the model is not good: a wrong unit"
    assert grade_sentence({"good": True}) == grade_sentence({}) == ""


def test_a_verdict_of_two_grades_is_read():
    assert [grade_of(v) for v in ({"good": True}, {"good": False}, {"good": False, "grade": "usable"})] == [
        "good",
        "not good",
        "usable",
    ]


@pytest.mark.parametrize(
    ("effort", "rmse", "is_idle"),
    [
        (0.09, 0.15, True),  # less effort than what the model leaves in training, and less than twice that is left
        (0.11, 0.15, False),  # it has an effort worth explaining
        (0.09, 0.25, False),  # it leaves far more than in training
    ],
)
def test_idle_joints_have_less_effort_than_the_model_leaves(effort, rmse, is_idle):
    training = residuals(0.08, (0.1, 0.08), (0.1, 0.08), log="train")
    unseen = residuals(0.08, (rmse / effort, 0.08), (rmse, 0.08))
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, (unseen,), {}))
    assert found.is_good == is_idle
    text = f"{100 * rmse / effort:.3g} %"
    assert any(
        text in reason and "joint" in reason and ("hardly any effort" in reason) == is_idle for reason in found.reasons
    )


def test_the_worst_log_of_a_joint_is_named():
    training = residuals(0.1, (0.1, 0.1), (0.1, 0.1), log="train")
    unseen = [residuals(0.1, (r, 0.1), (0.15, 0.1), log) for r, log in ((2.0, "a"), (4.0, "b"), (3.0, "c"))]
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, tuple(unseen), {}))
    (text,) = [reason for reason in found.reasons if "hardly any effort" in reason]
    assert "in b," in text and "its relative residual of 400 % is not meaningful" in text


def test_a_joint_without_any_effort_is_nothing_to_judge_by():
    training = residuals(0.08, (0.08, np.inf), (0.08, 0.0), log="train")
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, (residuals(0.08, (0.08, np.inf), (0.08, 0.0)),), {}))
    assert found.is_good and not any("joint j2" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("relative", "kind", "is_told"), [(0.25, "alone", False), (0.35, "alone", True), (9, "fixed", False)]
)
def test_values_that_are_poorly_known_are_counted(relative, kind, is_told):
    each = [
        ParameterEvidence(f"p{k}", 1.0, r, r, (0.0, 2.0), c)
        for k, (r, c) in enumerate([(0.01, "alone"), (relative, kind)])
    ]
    found = verdict(Evidence(residuals(0.08), (), tuple(each), NOTHING_LEFT_OUT, (residuals(0.08),), {}))
    assert found.is_good
    assert (
        any(reason.startswith("1 of 2 values are known to no better than 30 %") for reason in found.reasons) == is_told
    )


@pytest.mark.parametrize(("own", "is_told"), [(0.07, False), (0.08, True)])
def test_much_more_on_left_out_folds_is_told(own, is_told):
    folds = LeftOut(10 * np.array([own, own]), np.array([10.0, 10.0]), 100)
    found = verdict(Evidence(residuals(0.05), (), (), folds))
    assert found.is_good and any("1.6 times the residual of the training" in r for r in found.reasons) == is_told
    assert f"on held-out folds the residual is {100 * own:.3g} % of the effort" in found.reasons


def test_without_folds_or_unseen_logs_nothing_is_good():
    found = verdict(Evidence(residuals(0.1), (), (), NOTHING_LEFT_OUT))
    assert not found.is_good and any("too short for cross-validation" in reason for reason in found.reasons)
    assert not any("evaluated by cross-validation" in reason for reason in found.reasons)


def test_a_fault_alone_makes_a_model_not_good():
    evidence = Evidence(residuals(0.08), (), (), NOTHING_LEFT_OUT, (residuals(0.08),), {}, faults=("a wrong unit",))
    found = verdict(evidence)
    assert not found.is_good and found.reasons[0] == "a wrong unit" and found.word == "not good"


def test_a_joint_that_hardly_moved_is_a_limit_and_the_others_decide():
    """Unseen motion takes it where the fit knows nothing: that says nothing against the other joints."""
    left = residuals(0.4, (0.02, 0.57))
    rivals = {"the nominal model": (residuals(0.32, (0.3, 0.34)),)}
    evidence = Evidence(residuals(0.02, log="train"), (), (), NOTHING_LEFT_OUT, (left,), rivals)
    assert verdict(evidence).grade == "not good"
    found = verdict(replace(evidence, unmoved={"j2": 5.0}))
    assert found.grade == "usable" and [limit.joint for limit in found.limits] == ["j2"]
    assert "hardly moved in the training logs" in found.reasons[3] and "57 % of its effort" in found.reasons[3]
    assert "on 1 validation log the residual is 2 % of the effort" in found.reasons
    assert "these figures exclude j2" in found.reasons
    assert verdict(replace(evidence, unmoved={"j1": 5.0})).grade == "not good"
    usable = replace(evidence, unseen=(residuals(0.04, (0.02, 0.57)),))
    assert verdict(usable).grade == "usable" and "hardly moved" not in str(verdict(usable).limits)
    assert "hardly moved" in verdict(replace(usable, unmoved={"j2": 5.0})).limits[0].what
    assert verdict(replace(evidence, unmoved={"j1": 5.0, "j2": 5.0})).grade == "not good"
    assert verdict(replace(evidence, unmoved={"j2": 5.0}, faults=("units",))).grade == "not good"


def test_residuals_of_some_joints_are_theirs():
    whole = residuals(np.hypot(0.1, 0.4) / np.sqrt(2), (0.1, 0.4)).with_noise((0.05, 0.3))
    assert whole.of([0, 1]).relative == pytest.approx(whole.relative)
    alone = whole.of([1])
    assert alone.joints == ("j2",) and alone.relative == pytest.approx(0.4)
    assert alone.beyond_noise == pytest.approx(whole.structure[1])


def test_what_is_left_of_a_joint_in_training_is_a_limit():
    """Unseen motion that asks hardly any effort of it says nothing of it."""
    training = residuals(0.07, (0.005, 0.3), (0.005, 0.3), log="training")
    unseen = residuals(0.01, (0.005, 0.45), (0.005, 0.09))
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, (unseen,)))
    assert found.grade == "usable" and [limit.joint for limit in found.limits] == ["j2"]
    assert "30 % of its effort is not explained in training" in found.limits[0].what


@pytest.mark.parametrize(("left", "is_usable"), [(0.65, True), (0.75, False)])
def test_logs_that_are_mostly_noise_show_no_model(left, is_usable):
    """Whatever noise excuses: where half of the power is left, nothing was predicted."""
    unseen = residuals(left).with_noise((left, left))
    found = verdict(Evidence(unseen, (), (), NOTHING_LEFT_OUT, (unseen,), {}))
    assert found.is_good == is_usable
    assert any("even if all of this is noise" in reason for reason in found.reasons) != is_usable
