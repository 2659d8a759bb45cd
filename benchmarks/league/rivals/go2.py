"""A Go2 on a stand, fitted here and by mujoco.sysid to one log that MuJoCo made: `python -m ... GO2.xml`."""

from __future__ import annotations

import contextlib
import json
import sys

from threadpoolctl import threadpool_limits

from benchmarks.output_error import Go2Plant, go2_by_sysid, go2_here


def main(file: str) -> dict[str, list[float]]:
    """{entry: seconds, residual in MuJoCo [mrad], median errors of rotor, viscous and Coulomb values [%]}."""
    plant = Go2Plant(file)
    fits = {
        "minertia, delay fitted": go2_here(plant, "delay free", "?"),
        "minertia": go2_here(plant, "with its integrator", 0.0, integrator="euler", step=1e-3),
        "mujoco.sysid 4.0.0": go2_by_sysid(plant),
        "planted values": (plant.planted, 0.0),
    }
    found = {}
    for name, fit in fits.items():
        if fit is not None:
            level, errors = plant.figures(fit[0])
            found[name] = [fit[1], 1e3 * float(level), *map(float, errors)]
    return found


if __name__ == "__main__":
    with threadpool_limits(1), contextlib.redirect_stdout(sys.stderr):
        result = main(sys.argv[1])
    print(json.dumps(result))
