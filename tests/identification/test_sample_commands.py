"""Robots and servos drawn from fits of commands."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import minertia as mi
from minertia.cli.sample import SAME_LINKS, _say
from minertia.identification import sampling
from minertia.identification.bands import predict_bands, summary
from minertia.identification.campaigns.campaign import Campaign
from minertia.identification.campaigns.options import Command
from minertia.identification.posterior.draw import NotMixedError
from minertia.identification.posterior.options import SampleOptions
from minertia.identification.samples import Samples, read_samples
from minertia.identification.sampling import sample_model, with_kept_links
from minertia.robot.inertia import impossible
from minertia.simulation.sample_mjx import mjx_arrays
from tests.identification.test_commands import ARM, BODIES, GAINS, TRUE, recorded
from tests.shared import SHARED, needs_shared

FILE = ARM.with_parameters(dict(BODIES))
PLANTED = Campaign(FILE, command=Command(**GAINS, delay=0.0075), links="robot")
ASKED = Command(kp="?", kd="?", delay="?")


@cache
def samples() -> Samples:
    """Links of the file, with servos and friction to find."""
    campaign = replace(PLANTED, command=ASKED, train=[recorded(PLANTED, seed=0)])
    return mi.identify(campaign).sample(150)


def test_links_stay_where_the_chains_do_not_mix(capsys, monkeypatch):
    """Draws, equations and what is said are then those of exact links."""
    asked, known = SampleOptions(n=150), samples().model
    mixes = sampling.draw

    def draw(density, *given):
        if len(density.space.links):
            raise NotMixedError("no")
        return mixes(density, *given)

    monkeypatch.setattr(sampling, "draw", draw)
    found = sample_model(known, asked)
    _say(found)
    said = capsys.readouterr().out
    assert SAME_LINKS in " ".join(said.split()) and "links within" not in said
    assert found.prior["links"] == 0 and found.far_masses == []
    assert np.allclose(found.tens[:, 0, 9], 2.0) and np.ptp(found.tens, axis=0).max() == 0


def test_intervals_hold_servos_of_a_robot_with_other_masses_than_its_file():
    """The masses of the file are the scale of a fit without known gains, and only as certain as the prior of links."""
    wrong = {name: value * (1.25 if name.endswith("1") else 0.85) for name, value in BODIES.items()}
    campaign = replace(PLANTED, robot=ARM.with_parameters(wrong), command=ASKED, train=[recorded(PLANTED, seed=0)])
    found = mi.identify(campaign).sample(150)
    names = [name for name in TRUE if name in found.names and name[:2] in ("KP", "KD", "FC", "IA")]
    assert len(names) == 8
    low, high = np.quantile([found.values(name) for name in names], [0.025, 0.975], axis=1)
    truth = np.array([TRUE[name] for name in names])
    assert np.all((low < truth) & (truth < high)), dict(zip(names, zip(low, truth, high, strict=True), strict=True))
    assert all(impossible(ten) is None and ten[9] > 0 for row in found.tens for ten in row.tolist())


def test_predictions_lie_about_those_of_the_links_of_the_file():
    """Their bands are those of samples whose links are exact; the values vary with the links."""
    found = samples()
    kept = with_kept_links(found, 150)
    assert kept.prior["links"] == 0 and with_kept_links(kept, 150) is kept
    log = recorded(PLANTED, seed=1)
    (own,), (exact,) = (predict_bands(one, [log]) for one in (found, kept))
    for end in ("lower", "upper"):
        assert np.allclose(getattr(own.bands["prediction"], end), getattr(exact.bands["prediction"], end), atol=2e-6)
    wide, narrow = (np.mean(one.bands["values"].upper - one.bands["values"].lower) for one in (own, exact))
    assert wide > narrow


def test_servos_are_drawn(tmp_path, capsys):
    found = samples()
    _say(found)
    assert "links within 0.3" in " ".join(capsys.readouterr().out.split())
    servos = found.servos()
    for key, names in (("kp", ("KP1", "KP2")), ("kd", ("KD1+FV1", "KD2+FV2"))):
        truth = [TRUE[name] for name in names]
        spread = servos[key].std(axis=0)
        assert np.all(spread > 0) and np.all(
            np.abs(servos[key].mean(axis=0) - truth) < 4 * spread + 0.01 * np.array(truth)
        )
    assert servos["delay"].std() > 0 and np.all(servos["delay"] >= 0)
    found.save(tmp_path / "samples.npz")
    assert np.array_equal(read_samples(tmp_path).servos()["kp"], servos["kp"])


def test_bands_of_simulated_positions_hold_an_unseen_log():
    whole = summary(predict_bands(samples(), [recorded(PLANTED, seed=3)]))
    assert whole["prediction"]["covered"] > 0.85
    assert whole["values"]["width"] < whole["prediction"]["width"]


def test_mjx_arrays_have_the_gains_of_each_robot():
    pytest.importorskip("mujoco")
    text, arrays = mjx_arrays(samples())
    assert "<position" in text
    assert np.allclose(arrays["actuator_gainprm"][:, :, 0], samples().servos()["kp"])
    assert np.allclose(arrays["actuator_biasprm"][:, :, 2], -samples().servos()["kd"])


@pytest.mark.slow
def test_fitted_links_are_drawn_as_possible_bodies():
    campaign = replace(
        PLANTED, links="physical", command=Command(**GAINS, delay="?"), train=[recorded(PLANTED, seed=0)]
    )
    found = mi.identify(campaign).sample(150)
    assert found.tens.std(axis=0).max() > 0
    assert all(impossible(ten) is None and ten[9] > 0 for row in found.tens for ten in row.tolist())


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(("fitted", "kept"), [("[:14]", "[14:]"), ("[10:]", "[:10]")])
def test_a_real_quadruped_stays_in_its_band(fitted, kept):
    """Twelve joints, no more than a factor wider than the narrowest band that covers."""
    robot = mi.read_robot(SHARED / "robots" / "go2.mjcf.xml", base="fixed")
    log = SHARED / "data" / "go2_iit" / "go2_middle.csv.gz"
    found = mi.identify(Campaign(robot, f"{log}{fitted}", command=Command(kp=20.0, kd=1.5))).sample(200)
    (bands,) = predict_bands(found, [f"{log}{kept}"])
    own = bands.bands["prediction"]
    off = np.abs(bands.measured - (own.lower + own.upper) / 2)
    narrowest = 2 * np.quantile(off, 0.95, axis=0).mean()
    covered, width = (summary([bands])["prediction"][key] for key in ("covered", "width"))
    print(fitted, covered, width / narrowest)
    assert 0.92 <= covered <= 0.98 and width < 1.3 * narrowest
