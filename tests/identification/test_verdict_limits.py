"""A verdict from both sides of what decides it: rivals, sizes, joints, values that are poorly known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.left_out import NOTHING_LEFT_OUT, LeftOut
from minertia.identification.evidence.parameters import ParameterEvidence
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.evidence.verdict import Verdict, verdict


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
        (0.10, 0.09, True, "comparable with"),  # not a quarter more
        (0.10, 0.075, False, "worse than"),
        (0.10, 0.104, True, "comparable with"),
        (0.10, 0.106, True, "better than"),
        (0.006, 0.002, True, "comparable with"),  # three times as much, of nearly nothing
        (0.009, 0.003, False, "worse than"),
    ],
)
def test_a_rival_decides_where_it_is_clearly_better(own, rival, is_good, word):
    found = judged(own, rival, training=own)
    assert found.is_good == is_good
    assert found.reasons[0] == f"on 1 unseen log the residual is {100 * own:.3g} % of the effort"
    assert f"{word} the nominal model there ({100 * rival:.3g} %)" in found.reasons


@pytest.mark.parametrize(("rival", "is_praised"), [(0.45, True), (0.55, False), (3.0, False)])
def test_a_rival_that_leaves_half_of_the_effort_is_none(rival, is_praised):
    found = judged(0.1, rival, training=0.1)
    assert any(reason.startswith("better than") for reason in found.reasons) == is_praised
    assert any("leaves" in reason for reason in found.reasons) != is_praised


def test_the_mean_over_unseen_logs_is_compared():
    """One log worse, one better than a rival: what counts is both together."""
    training = residuals(0.1, log="train")
    unseen = (residuals(0.05), residuals(0.15))
    for rivals, is_good in (((0.05, 0.15), True), ((0.05, 0.09), False), ((0.14, 0.05), True)):
        other = {"another": tuple(residuals(r) for r in rivals)}
        found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, unseen, other))
        assert found.is_good == is_good and found.reasons[0].startswith("on 2 unseen logs the residual is 10 %")


@pytest.mark.parametrize(("own", "is_told"), [(0.14, False), (0.16, True)])
def test_much_more_on_unseen_motion_is_told(own, is_told):
    found = judged(own, 0.3, training=0.1)
    told = [reason for reason in found.reasons if "times that of the training" in reason]
    assert found.is_good and bool(told) == is_told
    assert not told or told[0].startswith("the residual on unseen motion is 1.6 times")


@pytest.mark.parametrize(
    ("own", "is_good", "is_large"), [(0.19, True, False), (0.21, True, True), (0.32, True, True), (0.34, False, False)]
)
def test_sizes_that_are_told_and_that_decide(own, is_good, is_large):
    found = judged(own, 0.45, training=own)
    assert found.is_good == is_good
    assert any("a large part" in reason for reason in found.reasons) == is_large
    assert any("more than a third" in reason for reason in found.reasons) != is_good


@pytest.mark.parametrize(("worst", "half", "is_good"), [(0.45, False, True), (0.55, True, True), (1.2, False, False)])
def test_joints_that_are_not_explained(worst, half, is_good):
    """The worst of two logs counts for each joint."""
    training = residuals(0.05, (0.05, 0.05), (0.05, 0.05), log="train")
    unseen = (residuals(0.1, (0.1, worst), (0.1, worst), "a"), residuals(0.1, (0.1, 0.1), (0.1, 0.1), "b"))
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, unseen, {}))
    assert found.is_good == is_good
    assert any(reason == "more than half of the effort of j2 is left" for reason in found.reasons) == half
    assert any("joint j2: 120 % of its effort is left" in reason for reason in found.reasons) != is_good


@pytest.mark.parametrize(
    ("effort", "rmse", "is_idle"),
    [
        (0.09, 0.15, True),  # less effort than what the model leaves in training, and less than twice that is left
        (0.11, 0.15, False),  # it has an effort worth explaining
        (0.09, 0.25, False),  # it leaves far more than in training
    ],
)
def test_idle_joints_have_less_effort_than_the_model_leaves(effort, rmse, is_idle):
    training = residuals(0.1, (0.1, 0.1), (0.1, 0.1), log="train")
    unseen = residuals(0.1, (rmse / effort, 0.1), (rmse, 0.1))
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, (unseen,), {}))
    assert found.is_good == is_idle
    text = f"{100 * rmse / effort:.3g} % of i"
    assert any(text in reason and ("hardly any effort" in reason) == is_idle for reason in found.reasons)


def test_the_worst_log_of_a_joint_is_named():
    training = residuals(0.1, (0.1, 0.1), (0.1, 0.1), log="train")
    unseen = [residuals(0.1, (r, 0.1), (0.15, 0.1), log) for r, log in ((2.0, "a"), (4.0, "b"), (3.0, "c"))]
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, tuple(unseen), {}))
    (text,) = [reason for reason in found.reasons if "hardly any effort" in reason]
    assert "in b," in text and "400 % of it is left" in text


def test_a_joint_without_any_effort_is_nothing_to_judge_by():
    training = residuals(0.1, (0.1, np.inf), (0.1, 0.0), log="train")
    found = verdict(Evidence(training, (), (), NOTHING_LEFT_OUT, (residuals(0.1, (0.1, np.inf), (0.1, 0.0)),), {}))
    assert found.is_good and not any("joint j2" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("relative", "kind", "is_told"), [(0.25, "alone", False), (0.35, "alone", True), (9, "fixed", False)]
)
def test_values_that_are_poorly_known_are_counted(relative, kind, is_told):
    each = [
        ParameterEvidence(f"p{k}", 1.0, r, r, (0.0, 2.0), c)
        for k, (r, c) in enumerate([(0.01, "alone"), (relative, kind)])
    ]
    found = verdict(Evidence(residuals(0.1), (), tuple(each), NOTHING_LEFT_OUT, (residuals(0.1),), {}))
    assert found.is_good
    assert (
        any(reason.startswith("1 of 2 values are known to no better than 30 %") for reason in found.reasons) == is_told
    )


@pytest.mark.parametrize(("own", "is_told"), [(0.14, False), (0.16, True)])
def test_much_more_on_left_out_folds_is_told(own, is_told):
    folds = LeftOut(10 * np.array([own, own]), np.array([10.0, 10.0]), 100)
    found = verdict(Evidence(residuals(0.1), (), (), folds))
    assert found.is_good and any("1.6 times the residual of the training" in r for r in found.reasons) == is_told
    assert f"on left-out folds the residual is {100 * own:.3g} % of the effort" in found.reasons


def test_without_folds_or_unseen_logs_nothing_is_good():
    found = verdict(Evidence(residuals(0.1), (), (), NOTHING_LEFT_OUT))
    assert not found.is_good and any("too short for cross-validation" in reason for reason in found.reasons)


def test_a_fault_alone_makes_a_model_not_good():
    evidence = Evidence(residuals(0.1), (), (), NOTHING_LEFT_OUT, (residuals(0.1),), {}, faults=("a wrong unit",))
    found = verdict(evidence)
    assert not found.is_good and found.reasons[0] == "a wrong unit" and found.word == "not good"
