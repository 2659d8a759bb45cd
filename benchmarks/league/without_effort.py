"""Without effort measurements: mujoco.sysid on the same planted truth and log."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.league.environments import Unavailable, data, python_of, run, with_ours
from benchmarks.league.rows import Row

NOTES = {
    "minertia": "MuJoCo's integrator and step, start values as the other's",
    "minertia, delay fitted": "own integrator, one delay more to fit: half a step of MuJoCo looks like one",
    "mujoco.sysid 4.0.0": "its own optimiser with bounds, default settings",
    "planted values": "what the noise of 1 mrad leaves",
}


def rows() -> Iterator[Row | Unavailable]:
    """36 values of 12 joints from 6 s of commands and positions."""
    try:
        file = data("robots") / "go2.mjcf.xml"
        found = run(python_of("sysid"), ["-m", "benchmarks.league.rivals.go2", str(file)], with_ours("sysid"))
    except Unavailable as err:
        yield err
        return
    for who, (seconds, level, rotor, viscous, coulomb) in found.items():
        errors = {"rotor [%]": rotor, "viscous [%]": viscous, "Coulomb [%]": coulomb}
        figures = {"residual in MuJoCo [mrad]": level, **errors, "seconds": seconds}
        yield Row("Go2 on a stand", who, "planted in MuJoCo", figures, NOTES[who])
    if not any("sysid" in who for who in found):
        yield Unavailable("mujoco.sysid cannot be imported from its environment")
