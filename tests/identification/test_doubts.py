"""What a verdict weighs besides residuals, piece by piece."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.identification.evidence.changed import CarriedLoad, changed
from minertia.identification.evidence.doubts import doubts
from minertia.identification.evidence.evidence import Evidence
from minertia.identification.evidence.left_out import LeftOut
from minertia.identification.evidence.log_noise import white_noise
from minertia.identification.evidence.novelty import alike, other_combinations
from minertia.identification.evidence.overlap import copied_part, moves_alike, row_prints, shared_part
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.evidence.setups import _is_believed, suspicions
from minertia.identification.evidence.slides import slide_of
from minertia.identification.evidence.trial import Left, Setup, trial_of
from minertia.identification.evidence.verdict import verdict
from minertia.identification.logs.recording import Recording
from minertia.identification.problem.linear import linear_model
from minertia.robot.files import read_robot
from minertia.robot.inertia import from_com, to_com
from tests.identification.motions import Motion, fourier_motion, noisy
from tests.identification.otherwise import RODS, _of_rods
from tests.random_robots import random_robot

ROBOT = random_robot(5, n=3).with_gravity((0.0, 0.0, -9.81))


def motion(seed: int = 1) -> Motion:
    return noisy(fourier_motion(ROBOT, 1500, seed, duration=15.0), np.random.default_rng(seed), 0.01)


def tried(run: Motion):
    trial = trial_of(linear_model(ROBOT), [run])
    assert trial is not None
    return trial


def test_a_set_up_undoes_its_fault():
    """Read through the set-up that undoes a fault, the file's masses leave what they leave of the right log."""
    run = motion()
    usual = tried(run).masses_left()[0]
    order = [1, 0, 2]
    sign = np.array([1.0, -1.0, 1.0])
    every = {n: getattr(run, n) for n in ("q", "qd", "qdd", "tau")}
    faults = {
        "order": (replace(run, **{n: a[:, order] for n, a in every.items()}), Setup(order=(1, 0, 2))),
        "signs": (replace(run, **{n: a * sign for n, a in every.items()}), Setup(signs=(1, -1, 1))),
        "effort order": (replace(run, tau=run.tau[:, order]), Setup(effort_order=(1, 0, 2))),
        "unit": (
            replace(run, **{n: a * [1.0, 1.0, 180 / np.pi] for n, a in every.items() if n != "tau"}),
            Setup(units=(1.0, 1.0, np.pi / 180)),
        ),
        "effort": (replace(run, tau=run.tau * sign), Setup(effort_signs=(1, -1, 1))),
        "zero": (replace(run, q=run.q + [0, 0, 1.0]), Setup(offsets=(0, 0, -1.0))),
        "clock": (replace(run, qd=run.qd * 2, qdd=run.qdd * 4), Setup(clock=2.0)),
        "scale": (replace(run, tau=run.tau / 7), Setup(scales=(7.0, 7.0, 7.0))),
    }  # fmt: skip
    for fault, (wrong, setup) in faults.items():
        before, after = tried(wrong).masses_left([Setup(), setup])
        assert after == pytest.approx(usual, rel=1e-6), fault
        assert before > 4 * usual, fault
        assert tried(wrong).refit_left(setup) == pytest.approx(tried(run).refit_left(), rel=1e-3), fault


def test_a_part_that_was_simulated_with_the_file_is_named():
    """The robot has friction and other masses than its file; a part of its log has the efforts of the file alone."""
    heavier = tuple(tuple(1.3 * x for x in ten) for ten in ROBOT.links)
    real = replace(ROBOT, links=heavier, effects=({"FC": 4.0, "FV": 3.0},) * 3)
    runs = [fourier_motion(robot, 1500, 1, duration=15.0) for robot in (real, ROBOT)]
    measured, simulated = (noisy(run, np.random.default_rng(1), 0.003) for run in runs)
    part = (np.arange(1500) > 600)[:, None] & (np.arange(1500) < 1000)[:, None]
    mixed = replace(measured, tau=np.where(part, simulated.tau, measured.tau))
    (fault,) = doubts(tried(mixed), []).faults
    assert "% of the fitted samples" in fault and "seems to be simulated" in fault
    assert 20 < float(fault.split(" %")[0]) < 34
    for alike_throughout in (measured, simulated):
        assert doubts(tried(alike_throughout), []).faults == ()


def test_gravity_is_found_by_its_vector():
    run = motion()
    _, found = tried(run).inertia_and_gravity()
    assert found == pytest.approx([0, 0, -9.81], abs=0.2)


@pytest.mark.parametrize(
    ("gravity", "said"),
    [((3.2, -2.4, -8.96), "another direction, by 24 degrees"), ((0.0, 0.0, -2.94), "30 % of gravity")],
    ids=["a small slope", "partly compensated"],
)
def test_gravity_near_none_of_the_axes_is_fitted(gravity, said: str):
    """Nothing is nearer to it than no gravity at all, and neither is right."""
    moved = fourier_motion(ROBOT.with_gravity(gravity), 1500, 1, duration=15.0)
    first = suspicions(tried(noisy(moved, np.random.default_rng(1), 0.01)))[0]
    assert first.check == "gravity" and said in first.what
    assert first.after.masses is not None and first.after.masses < 0.1
    stated = [float(v) for v in first.change.split("[")[1].split("]")[0].split(",")]
    assert stated == pytest.approx(gravity, abs=0.3)


PORTAL = replace(random_robot(152, tree=True, n=3), effects=())  # a level slide, a vertical one, a joint that turns


def carried(robot=PORTAL, *, gains=(1.0, 1.0, 1.0), offset=(0.0, 0.0, 0.0)) -> Motion:
    """A motion of a robot like the portal, with friction and an offset [N] that its file does not have."""
    run = fourier_motion(replace(robot, effects=({"FC": 8.0, "FV": 5.0},) * 3), 1500, 2, duration=15.0, size=0.3)
    return noisy(replace(run, tau=(run.tau + np.array(offset)) * np.array(gains)), np.random.default_rng(1), 0.01)


def portal(run: Motion, robot=PORTAL):
    trial = trial_of(linear_model(robot), [run])
    assert trial is not None
    return trial


def test_the_weight_on_a_slide_tells_a_gain_from_an_offset():
    """Rotor and offset take all that a factor of this effort changes but its size against the weight in the file."""
    right, wrong = portal(carried()), portal(carried(gains=(1.0, 2.2, 1.0)))
    assert set(right.slides) == {0, 1} and suspicions(right) == () and doubts(right, []).faults == ()
    assert wrong.refit_left() == pytest.approx(right.refit_left(), rel=0.1)
    first = suspicions(wrong)[0]
    assert first.check == "scale" and "effort of joint 2 (j2) is 2.2 times" in first.what
    (less,) = doubts(portal(carried(gains=(1.0, 1.55, 1.0))), []).faults
    assert "constant effort of joint 2 (j2)" in less and "gains" in less and "gravity" in less


def test_a_tool_on_a_slide_is_no_wrong_gain():
    """Both make the same constant effort; a tool is felt by the other joints, too."""
    file = replace(_of_rods(read_robot("scara"), RODS["scara"]), effects=())
    mass, com, inertia = to_com(file.links[3])
    tool = from_com(mass + 1.2, com + np.array([0.06, -0.04, 0.0]), inertia + 0.01 * np.eye(3))

    def faults(robot, gain: float) -> tuple[str, ...]:
        run = fourier_motion(robot, 1500, 3, duration=15.0, size=0.3)
        run = replace(run, tau=run.tau * [1.0, 1.0, 1.0, gain])
        trial = trial_of(linear_model(file), [noisy(run, np.random.default_rng(1), 0.01)])
        assert trial is not None and set(trial.slides) == {3}
        return doubts(trial, []).faults

    heavier = 1 + 1.2 / mass
    assert faults(replace(file, links=(*file.links[:3], tool)), 1.0) == ()
    (told,) = faults(file, heavier)
    assert "constant effort of joint 4" in told and "load in [logs]" in told


@pytest.mark.parametrize("towards", [(1.0, 0.0), pytest.param((0.0, 1.0), marks=pytest.mark.slow)])
def test_a_slope_shows_in_the_weight_on_slides(towards):
    x, y = 9.81 * np.sin(0.6) * np.array(towards)
    first = suspicions(portal(carried(PORTAL.with_gravity((x, y, -9.81 * np.cos(0.6))))))[0]
    assert first.check == "gravity" and "another direction, by" in first.what
    stated = [float(v) for v in first.change.split("[")[1].split("]")[0].split(",")]
    assert stated == pytest.approx([x, y, -9.81 * np.cos(0.6)], abs=1.0)


@pytest.mark.slow
def test_usual_offsets_of_slides_are_no_evidence():
    """Some tenths of the weight may be wrong masses; more is evidence, unless the file states what balances it."""
    weight = portal(carried()).slides[1].weight
    assert doubts(portal(carried(offset=(20.0, 0.25 * weight, 0.0))), []).faults == ()
    balanced = carried(offset=(0.0, 0.8 * weight, 0.0))
    (told,) = (*(s.sentence for s in suspicions(portal(balanced))), *doubts(portal(balanced), []).faults)[:1]
    assert "joint 2" in told or "gravity" in told
    stated = replace(PORTAL, effects=({}, {"OFF": 0.8 * weight}, {}))
    assert doubts(portal(balanced, stated), []) == doubts(portal(carried()), [])


def test_a_portal_says_that_its_clock_is_not_judged():
    """Rotors take what another clock makes of constant inertia; a joint that turns shows it."""
    slides = replace(PORTAL, joints=PORTAL.joints[:2], links=PORTAL.links[:2])
    trial = trial_of(linear_model(slides), [noisy(fourier_motion(slides, 1500, 2), np.random.default_rng(0))])
    assert trial is not None
    (told,) = doubts(trial, []).not_judged
    assert "the clock" in told and "no joint's inertia varies" in told
    assert portal(carried()).shows_masses and tried(motion()).shows_masses


@pytest.mark.parametrize(("swing", "speed", "is_slide"), [(0.0, 1.0, True), (0.3, 1.0, False), (0.0, 2.5, False)])
def test_a_slide_is_judged_where_only_its_weight_is_constant(swing: float, speed: float, is_slide: bool):
    """Not where gravity along it varies with the motion, nor where it never turns back and friction is constant too."""
    t = np.linspace(0, 20, 400)
    along = np.column_stack([swing * np.sin(t), 0 * t, 2 + 0 * t])
    gravity = np.array([6.0, 0.0, -8.0])
    found = slide_of(along, gravity, np.sin(3 * t) + speed - 1, 5.0)
    assert (found is not None) == is_slide
    if found is not None:
        assert found.weight == pytest.approx(20.0) and found.asked == pytest.approx(-16.0)
        assert found.excess(5.0 + np.hypot(np.hypot(4.8, 2.0), 2.5) + 1.5, 10.0) == pytest.approx(1.5)
        assert found.excess(0.0, 10.0) == 0.0


@pytest.mark.parametrize(("refit", "is_believed"), [(0.033, True), (0.040, False)])
def test_masses_fitted_anew_must_not_contradict(refit: float, is_believed: bool):
    """Masses that are 30 % off look like a clock that is off; such a clock leaves masses fitted anew more."""
    before, after = Left(0.21, 0.031), Left(0.083, refit)
    assert _is_believed(before, after, "clock") == is_believed
    assert _is_believed(Left(0.21, 0.001), Left(0.083, 0.009), "clock"), "what filters leave is no contradiction"


def of_file(factors: tuple[float, ...]):
    """The usual motion, with a file whose links are so many times as heavy as the robot's."""
    links = tuple(tuple(f * v for v in ten) for f, ten in zip(factors, ROBOT.links, strict=True))
    trial = trial_of(linear_model(replace(ROBOT, links=links)), [motion()])
    assert trial is not None
    return trial


def test_links_that_are_as_far_off_as_a_file_may_be_speak_for_a_set_up():
    """Each link heavier or lighter on its own: the file's masses leave a lot of a right set-up, such links nothing."""
    trial = of_file((1.25, 0.8, 1.4))
    least = tried(motion()).within_left()
    assert trial.within_left() == pytest.approx(least, rel=0.02) and trial.masses_left()[0] > 3 * least
    assert trial.within_left(Setup(clock=1.3)) > 3 * least
    assert of_file((2.0, 2.0, 2.0)).within_left() > 5 * least


def test_two_set_ups_that_masses_within_a_file_s_errors_fit_alike_are_not_told_apart():
    before = Left(0.18, 0.029, 0.045)
    assert not _is_believed(before, Left(0.075, 0.033, 0.04), "clock")
    assert _is_believed(before, Left(0.075, 0.033, 0.034), "clock")
    assert _is_believed(Left(0.33, 0.015, 0.14), Left(0.23, 0.015, 0.03), "zeros")
    assert not _is_believed(Left(0.33, 0.015, 0.07), Left(0.23, 0.015, 0.03), "zeros")


def test_a_gain_is_weighed_on_its_own_joint():
    """Masses that are off on the others say nothing of it, as long as they explain its effort clearly."""
    run = motion()
    heavy = replace(ROBOT, links=(tuple(1.3 * v for v in ROBOT.links[0]), *ROBOT.links[1:]), effects=())
    wrong = replace(run, tau=run.tau * [1.0, 1.8, 1.0])
    trial = trial_of(linear_model(heavy), [wrong])
    assert trial is not None
    assert any(s.check == "scale" and "joint 2 (j2) is 1.8 times" in s.what for s in suspicions(trial))
    usual = trial_of(linear_model(heavy), [replace(run, tau=run.tau * [1.0, 1.5, 1.0])])
    assert usual is not None and not any(s.check == "scale" for s in suspicions(usual))


@pytest.mark.parametrize("clock", [0.7, *(pytest.param(clock, marks=pytest.mark.slow) for clock in (0.1, 12.0))])
def test_any_clock_is_found_by_inertia_beside_gravity(clock: float):
    run = motion()
    first = suspicions(tried(replace(run, qd=run.qd * clock, qdd=run.qdd * clock**2)))[0]
    assert first.check == "clock" and f"a second of the log is {clock:.3g} seconds" in first.what


def test_a_clock_is_believed_only_beside_gravity():
    """In a level plane all masses 30 % off are a clock that is off; gravity that varies tells them apart."""
    level = replace(read_robot("planar2r"), gravity=(0.0, 0.0, -9.81), links=random_robot(8, n=2).links, effects=())
    light = replace(level, links=tuple(tuple(0.66 * v for v in ten) for ten in level.links))
    run = noisy(fourier_motion(light, 1500, 1, duration=15.0), np.random.default_rng(1), 0.02)
    trial = trial_of(linear_model(level), [run])
    assert trial is not None and not trial.shows_gravity and tried(motion()).shows_gravity
    assert suspicions(trial) == ()
    late = trial_of(linear_model(level), [replace(run, qd=run.qd / 2, qdd=run.qdd / 4)])
    assert late is not None and {"clock", "scale"} <= {s.check for s in suspicions(late)}


def test_two_weaker_signs_say_what_one_alone_does_not():
    """The zero of a joint 0.4 rad off, under masses that are 30 % off: neither of the two is enough by itself."""
    before = Left(0.139, 0.075)
    assert _is_believed(before, Left(0.087, 0.047), "zeros")
    assert not _is_believed(before, Left(0.125, 0.047), "zeros") and not _is_believed(
        before, Left(0.087, 0.06), "zeros"
    )


def test_a_log_that_the_masses_explain_asks_for_nothing_else():
    assert suspicions(tried(motion())) == ()
    assert doubts(tried(motion()), []).faults == ()


def test_efforts_exchanged_and_a_joint_in_degrees_are_named():
    run = motion()
    first = suspicions(tried(replace(run, tau=run.tau[:, [0, 2, 1]])))[0]
    assert first.check == "order" and first.what.startswith("the efforts of joint 2 (j2) and joint 3 (j3)")
    factor = np.array([1.0, 180 / np.pi, 1.0])
    first = suspicions(tried(replace(run, q=run.q * factor, qd=run.qd * factor, qdd=run.qdd * factor)))[0]
    assert first.check == "units" and "joint 2 (j2) seems to be in degrees" in first.what


def late_by(run: Motion, seconds) -> Motion:
    """The motion with efforts that are so many seconds late, of all joints or each, at each instant."""
    at = run.t[:, None] - np.broadcast_to(seconds, run.tau.shape)
    tau = np.column_stack([np.interp(at[:, j], run.t, run.tau[:, j]) for j in range(run.tau.shape[1])])
    return replace(run, tau=tau)


def test_what_fits_alone_tell_is_named():
    """One joint's ratio, delay or motor, and clocks that drift apart: each leaves some per cent of the efforts."""
    run = motion()
    factor = np.array([1.0, 0.8, 1.0])
    geared = replace(run, q=run.q * factor, qd=run.qd * factor, qdd=run.qdd * factor, tau=run.tau / factor)
    (first, *_) = suspicions(tried(geared))
    assert first.check == "ratio" and "ratio of joint 2 (j2)" in first.what and "position is 1.2" in first.what
    (first, *_) = suspicions(tried(late_by(run, np.array([0.0, 0.0, 0.12]))))
    assert first.check == "late" and "effort of joint 3 (j3) alone seems to lag its position by 1" in first.what
    (first, *_) = suspicions(tried(late_by(run, 0.015 * run.t[:, None])))
    assert first.check == "drift" and "drift apart by 1" in first.what and "later" in first.what
    G = np.array([[1, 0, 0], [0, 1, 0], [0, 0.6, 1]])  # the motor of joint 3 turns with joint 2, too
    moved = {n: getattr(run, n) @ G.T for n in ("q", "qd", "qdd")}
    (first, *_) = suspicions(tried(replace(run, **moved, tau=run.tau @ np.linalg.inv(G))))
    assert first.check == "coupling" and "turns 0.6 times with the first" in first.what


def test_the_file_of_another_size_is_named():
    """All lengths a third longer: masses fitted anew follow most of it, and leave some per cent."""
    joints = tuple(replace(j, p=tuple(1.35 * float(v) for v in j.p)) for j in ROBOT.joints)
    run = noisy(fourier_motion(replace(ROBOT, joints=joints), 1500, 1, duration=15.0), np.random.default_rng(1), 0.01)
    assert tried(run).refit_left() < 0.15
    (first, *_) = suspicions(tried(run))
    assert first.check == "lengths" and "lengths between the joints seem to be 1.3" in first.what


def test_a_clock_that_is_slightly_off_is_named():
    """120 rows a second where 100 are meant: the file's masses, each 30 % off, could make up for it."""
    robot = random_robot(3, tree=True, n=4).with_gravity((0.0, 0.0, -9.81))
    run = noisy(fourier_motion(robot, 1500, 1, duration=15.0), np.random.default_rng(1), 0.01)
    slow = trial_of(linear_model(robot), [replace(run, qd=run.qd / 1.2, qdd=run.qdd / 1.44)])
    assert slow is not None
    found = suspicions(slow)
    assert found[0].check == "pace" and "a second of the log is 0.8" in found[0].what


def test_a_fault_that_one_joint_shows_is_not_lost_among_noisy_ones():
    before = Left(0.2, 0.0641, 0.1, (0.03, 0.02, 0.06, 0.11))
    assert not _is_believed(before, Left(0.18, 0.0638, 0.1, (0.026, 0.02, 0.06, 0.11)), "ratio")
    assert _is_believed(before, Left(0.18, 0.0631, 0.1, (0.015, 0.02, 0.06, 0.11)), "ratio")
    assert not _is_believed(before, Left(0.18, 0.0631, 0.1, (0.015, 0.03, 0.06, 0.11)), "ratio")
    assert not _is_believed(before, Left(0.18, 0.0631, 0.1, (0.018, 0.02, 0.06, 0.11)), "late")


def test_a_factor_of_one_effort_is_confirmed_by_the_others():
    run = motion()
    (first, *_) = suspicions(tried(replace(run, tau=run.tau * [1.0, 1.35, 1.0])))
    assert first.check == "gain" and "effort of joint 2 (j2) is 1.3" in first.what


def test_centres_that_are_off_are_no_wrong_set_up():
    """Two centimetres at the last link: the file's masses leave a lot of its joint, plausible centres nothing."""
    links = list(ROBOT.links)
    mass, com, inertia = to_com(links[2])
    links[2] = from_com(mass, com + np.array([0.02, -0.02, 0.015]), inertia)
    trial = trial_of(linear_model(replace(ROBOT, links=tuple(links))), [motion()])
    assert trial is not None and suspicions(trial) == ()
    assert trial.within_left() < 1.1 * tried(motion()).within_left() + 0.002
    far = from_com(mass, com + np.array([0.2, -0.2, 0.15]), inertia)
    assert of_links((*links[:2], far)).within_left() > 2 * trial.within_left()


def of_links(links):
    trial = trial_of(linear_model(replace(ROBOT, links=tuple(links))), [motion()])
    assert trial is not None
    return trial


def test_slides_in_millimetres_are_named():
    run, factor = carried(), np.array([1e3, 1e3, 1.0])
    first = suspicions(portal(replace(run, q=run.q * factor, qd=run.qd * factor, qdd=run.qdd * factor)))[0]
    assert first.check == "units" and "joint 1 (j1) and joint 2 (j2) seem to be in millimetres" in first.what


def test_three_joints_in_turn_are_found():
    run = motion()
    moved = replace(run, **{n: getattr(run, n)[:, [1, 2, 0]] for n in ("q", "qd", "qdd", "tau")})
    first = suspicions(tried(moved))[0]
    assert first.check == "order" and "three joints seem exchanged" in first.what
    assert first.after.masses == pytest.approx(tried(run).masses_left()[0], rel=1e-6)


def test_masses_that_nothing_mends_contradict_the_log():
    run = motion()
    noise = replace(run, tau=np.random.default_rng(0).normal(size=run.tau.shape))
    (fault,) = doubts(tried(noise), []).faults
    assert (
        "the file's masses with fitted friction have a relative residual of" in fault
        and "[columns] and [drive]" in fault
    )


def test_a_floating_base_is_not_judged():
    robot = random_robot(3, n=2, floating=True)
    assert trial_of(linear_model(robot), [motion()]) is None
    (told,) = doubts(None, []).not_judged
    assert "the base floats" in told


@pytest.mark.parametrize("phases", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_joints_on_one_sine_move_alike(phases: bool):
    robot = random_robot(105, n=5)
    t = np.arange(1500) / 100
    angle = 2 * np.pi * 0.3 * t[:, None] + (np.arange(5) if phases else np.zeros(5))
    size = np.linspace(0.5, 1.0, 5)
    q, w = size * np.sin(angle), 2 * np.pi * 0.3
    tau = np.random.default_rng(0).normal(size=q.shape)
    run = Motion(t, q, w * size * np.cos(angle), -(w**2) * q, tau)
    trial = trial_of(linear_model(robot), [run])
    rich = trial_of(linear_model(robot), [fourier_motion(robot, 1500, 1, duration=15.0)])
    assert trial is not None and rich is not None
    assert alike([trial]) > 0.999 and alike([rich]) < 0.9
    assert alike([trial, rich]) < 0.99  # another motion is evidence
    assert other_combinations(rich) < 3
    fault = doubts(trial, []).faults[-1]
    assert "the joints do not move independently" in fault and "the held-out folds move in the same way" in fault


def test_one_joint_has_no_combinations():
    robot = random_robot(4, n=1)
    trial = trial_of(linear_model(robot), [fourier_motion(robot, 500, 1)])
    assert trial is not None and other_combinations(trial) == 1.0 and alike([trial]) == 0.0


def test_shared_rows_are_found_however_a_log_was_cut():
    rng = np.random.default_rng(0)
    q, tau = rng.normal(size=(2, 400, 3))
    fitted = row_prints(q, tau)
    assert shared_part(row_prints(q[37:], tau[37:]), fitted) == 1.0
    assert shared_part(row_prints(q[::3], tau[::3]), fitted) == 1.0
    assert shared_part(row_prints(q, tau + 1e-12), fitted) == 0.0
    assert shared_part(fitted, row_prints(q[:100], tau[:100])) == pytest.approx(0.25)


def rows(seed: int, noise: float = 0.1, rate: float = 100.0) -> Recording:
    """A run of one programme, with noise of its own."""
    t = np.arange(round(20 * rate)) / rate
    angle = np.outer(t, [1.3, 2.1, 0.7]) + [0.0, 1.0, 2.0]
    tau = 5 * np.cos(angle) + 2 * np.tanh(20 * np.sin(angle))
    return Recording(t, np.sin(angle), tau + noise * np.random.default_rng(seed).normal(size=tau.shape))


def test_copies_are_told_by_their_noise():
    """Shifted in time, cut, rounded, thinned out or with some noise added: a copy is a copy."""
    log = rows(1)
    cut = Recording(log.t[300:1500] - 2.63, np.round(log.q[300:1500], 3), np.round(log.tau[300:1500], 1))
    noise = 0.05 * np.random.default_rng(3).normal(size=log.tau[::3].shape)
    thin = Recording(log.t[::3], log.q[::3], log.tau[::3] + noise)
    for copy in (cut, thin):
        assert shared_part(row_prints(copy.q, copy.tau), row_prints(log.q, log.tau)) < 0.1
        assert copied_part(copy, log) > 0.9 and moves_alike(copy, log)
    half = Recording(log.t, log.q, np.concatenate([log.tau[:1000], rows(2).tau[1000:]]))
    assert copied_part(half, log) == pytest.approx(0.5, abs=0.13)


def test_a_programme_that_is_run_again_is_no_copy():
    again, log = rows(2), rows(1)
    assert copied_part(again, log) < 0.1 and moves_alike(again, log)
    assert moves_alike(Recording(again.t[:900], again.q[700:1600], again.tau[700:1600]), log)
    other = replace(again, q=again.q[:, [1, 2, 0]])
    assert not moves_alike(other, log)
    assert copied_part(Recording(log.t[:50], log.q[:50], log.tau[:50]), log) == 0.0  # too short to tell


def test_two_logs_that_rest_are_no_copies() -> None:
    """At rest two motors tell the same few steps of their sensors; elsewhere the logs have noise of their own."""

    def rested(seed: int) -> Recording:
        rng, t = np.random.default_rng(seed), 0.002 * np.arange(5000)
        moving = (t < 4.0)[:, None]
        swing = np.sin((2 + seed) * t)[:, None] * [1.0, 0.4]
        tau = np.where(moving, swing + 0.05 * rng.normal(size=(5000, 2)), 0.001 * rng.normal(size=(5000, 2)))
        return Recording(t, np.where(moving, swing, 0.0), 0.003 * np.rint(tau / 0.003))

    assert copied_part(rested(1), rested(2)) < 0.05
    same = rested(1)
    assert copied_part(Recording(same.t, same.q, same.tau.round(2)), same) > 0.35  # of what moves: all of it


def test_noise_is_told_by_high_frequencies():
    """White noise beside a motion and a tone; what lies below 8 of 50 Hz is that part of its power."""
    t, rng = np.arange(4000) / 100, np.random.default_rng(0)
    tau = 30 * np.sin(2 * t)[:, None] + np.array([0.5, 2.0]) * rng.normal(size=(4000, 2)) + np.sin(250 * t)[:, None]
    assert white_noise(tau, 100.0, 8.0) == pytest.approx([0.5 * 0.144**0.5, 2.0 * 0.144**0.5], rel=0.1)
    assert not white_noise(tau, 20.0, 8.0).any()  # no room above the motion


def test_a_spike_is_no_noise():
    """One sample of a thousand times the effort passed for noise of all frequencies, which no model need explain."""
    t, rng = np.arange(4000) / 100, np.random.default_rng(0)
    tau = 30 * np.sin(2 * t)[:, None] + 0.5 * rng.normal(size=(4000, 1))
    tau[700] = 3e4
    assert white_noise(tau, 100.0, 8.0) == pytest.approx([0.5 * 0.144**0.5], rel=0.1)


def residuals(relative: float, log: str = "unseen") -> Residuals:
    return Residuals(log, relative, relative, ("j1", "j2"), (relative, relative), (relative, relative))


def test_a_load_is_named_where_it_explains_what_is_left():
    load = CarriedLoad(2.3, "hand", 0.1)
    told = changed(residuals(0.3), residuals(0.02, "training"), 0.0, load)
    assert told is not None and "15.0 times" in told and "2.3 kg at hand" in told and "load = { mass" in told
    lacks = changed(residuals(0.3), residuals(0.02), 0.0, replace(load, mass=-2.3))
    assert lacks is not None and "this one lacks" in lacks
    other = changed(residuals(0.3), residuals(0.02), 0.0, replace(load, falls=0.9))
    assert other is not None and "something changed between these logs" in other
    assert changed(residuals(0.3), residuals(0.15), 0.0, replace(load, falls=0.9)) is None  # twice is usual
    assert changed(residuals(0.3), residuals(0.02), 0.2, replace(load, falls=0.9)) is None  # values not known
    assert changed(residuals(0.05), residuals(0.001), 0.0, load) is None  # small all the same


def test_a_rival_that_explains_nothing_is_no_praise():
    evidence = Evidence(
        residuals(0.05, "training"), (), (), LeftOut(np.zeros(2), np.ones(2), 10), (residuals(0.05),),
        {"nominal with fitted friction": (residuals(1.38),), "published": (residuals(0.048),)},
    )  # fmt: skip
    reasons = verdict(evidence).reasons
    assert "nominal with fitted friction has a relative residual of 138 % there" in reasons
    assert "comparable with published there (4.8 %)" in reasons
    assert verdict(evidence).is_good
    worse = replace(evidence, rivals={"published": (residuals(0.03),)})
    assert not verdict(worse).is_good and "worse than published there (3 %)" in verdict(worse).reasons
