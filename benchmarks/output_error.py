"""Output error without efforts: carried derivatives against batched differences, and the fit against `mujoco.sysid`.

    python -m benchmarks.output_error             # derivatives of the PUMA 560's motion
    python -m benchmarks.output_error GO2.xml     # and a fit of a Go2 on a stand, whose log MuJoCo makes

Both sides of a comparison run in one process, one after the other, with one thread of BLAS; times are those of the
processor, which other work on the machine hardly lengthens.  `mujoco.sysid` needs its own extra.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from minertia import Campaign, read_robot
from minertia.identification.closed_loop.build import loop_model
from minertia.identification.closed_loop.fit import output_error
from minertia.identification.closed_loop.logs import LoopLog, made_log
from minertia.identification.closed_loop.simulate import simulated
from minertia.identification.logs.recording import Recording
from minertia.options import Command
from minertia.robot.formats.mjcf.write import to_mjcf

REPEATS = 3
PLANTED = {"IA": (0.005, 0.02), "FV": (0.1, 0.4), "FC": (0.1, 0.4)}
START = {"IA": 0.01, "FV": 0.1, "FC": 0.2}


def commands(t, n, seed, top=3.0, size=0.4):
    """Sums of sines that begin at rest."""
    rng = np.random.default_rng(seed)
    f, phase = rng.uniform(0.2, top, (8, n)), rng.uniform(0, 2 * np.pi, (8, n))
    u = sum(np.sin(2 * np.pi * a * t[:, None] + b) / a**0.5 for a, b in zip(f, phase, strict=True))
    return size * u / np.abs(u).max(axis=0) * np.minimum(t / 0.5, 1.0)[:, None] ** 2


def quickest(work):
    """The shortest of a few times [s]."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def derivatives():
    """Seconds for all derivatives of 15 s of the PUMA 560 under its loop, carried and by central differences."""
    robot = read_robot("puma560_physical")
    kp, kd = (4000.0, 6000.0, 2500.0, 400.0, 400.0, 300.0), (250.0, 350.0, 120.0, 12.0, 12.0, 8.0)
    campaign = Campaign(robot, command=Command(kp=kp, kd=kd, delay=0.0), links="physical")
    model = loop_model(campaign, 0.002)
    t = 0.002 * np.arange(7500)
    u = commands(t, 6, 0)
    log = LoopLog("puma", None, 0.002, np.zeros_like(u), u, None, u[0], np.zeros(6), 0.0, 0)
    theta = np.array([dict(zip(model.linear.names, model.linear.nominal(), strict=True))[n] for n in model.names])
    for k, name in enumerate(model.names):
        if name[:2] in ("FV", "FC", "IA") and theta[k] <= 0:
            theta[k] = 0.5

    def differences():
        for k in range(model.count):
            for step in (1e-6, -1e-6):
                moved = theta.copy()
                moved[k] += step
                assert simulated(model, moved, log, 2, slopes=False) is not None

    carried = quickest(lambda: simulated(model, theta, log, 2))
    batched = quickest(differences)
    print(f"PUMA 560, {model.count} unknowns, 15 s at 1 ms: carried {carried:.3f} s, central differences "
          f"{batched:.3f} s, {batched / carried:.1f} times")  # fmt: skip


class Go2Plant:
    """A Go2 on a stand in MuJoCo at 1 ms, its log of 6 s under commands, and the 36 values planted in it."""

    def __init__(self, file):
        import mujoco

        robot = read_robot(file, base="fixed")
        self.bare = robot.without_effects(tuple(robot.effect_values))
        self.names = [f"{s}{j + 1}" for s in PLANTED for j in range(12)]
        rng = np.random.default_rng(1)
        self.planted = np.array([rng.uniform(*PLANTED[name[:2]]) for name in self.names])
        drives = "".join(f'<position joint="{j}" kp="20" kv="1.5"/>' for j in robot.coordinate_names)
        text = to_mjcf(self.bare.numeric).replace("</mujoco>", f"<actuator>{drives}</actuator></mujoco>")
        self.plant = mujoco.MjModel.from_xml_string(text)
        self.plant.opt.timestep = 1e-3
        self.plant.dof_solref[:] = (0.002, 1.0)
        self.dofs = [mujoco.mj_name2id(self.plant, mujoco.mjtObj.mjOBJ_JOINT, j) for j in robot.coordinate_names]
        self.t = 1e-3 * np.arange(6001)
        self.u = np.tile([0.0, 0.8, -1.6], 4) + commands(self.t, 12, 2, top=4.0, size=0.3)
        self.q = self.run(self.planted) + 1e-3 * rng.normal(size=self.u.shape)

    def run(self, values):
        """Positions of the joints with these values."""
        import mujoco
        from mujoco import rollout

        plant, dofs, kind = self.plant, self.dofs, mujoco.mjtState.mjSTATE_FULLPHYSICS
        plant.dof_armature[dofs], plant.dof_damping[dofs], plant.dof_frictionloss[dofs] = values.reshape(3, 12)
        mujoco.mj_setConst(plant, data := mujoco.MjData(plant))
        mujoco.mj_resetData(plant, data)
        data.qpos[dofs] = self.u[0]
        state = np.empty(mujoco.mj_stateSize(plant, kind))
        mujoco.mj_getState(plant, data, state, kind)
        control = np.empty((1, len(self.t) - 1, plant.nu))
        control[0] = self.u[:-1]
        states, _ = rollout.rollout(plant, data, state[None], control)
        return np.concatenate([self.u[:1], states[0][:, 1:][:, dofs]])

    def figures(self, x):
        """Residual in MuJoCo [rad], and median errors of IA, FV and FC [%]."""
        level = np.sqrt(np.mean((self.q - self.run(x)) ** 2))
        return level, [100 * np.median(np.abs(x / self.planted - 1)[k : k + 12]) for k in (0, 12, 24)]

    def tell(self, name, x, seconds):
        """Time, residual in MuJoCo and errors of values, in a line."""
        level, errors = self.figures(x)
        print(f"{name}: {seconds:.2f} s; residual in MuJoCo {1e3 * level:.5f} mrad; median error of IA, FV, FC "
              f"{errors[0]:.2g}, {errors[1]:.2g}, {errors[2]:.2g} %", flush=True)  # fmt: skip


def go2_here(go2, name, delay, **more):
    """A fit with one integrator."""
    command = Command(kp=20.0, kd=1.5, delay=delay, **more)
    campaign = Campaign(go2.bare, command=command, effects=("rotor", "viscous", "coulomb"))
    model = loop_model(campaign, 1e-3)
    log = made_log(campaign, "go2", Recording(t=go2.t, q=go2.q, channels={"command": go2.u}))
    first = np.array([START.get(name[:2], 0.0) for name in model.names])
    begin = time.process_time()
    fit = output_error(model, [log], first)
    seconds = time.process_time() - begin
    begin = time.process_time()
    output_error(model, [log], fit.theta, steps=fit.steps, iterate=False)  # intervals and residuals of values found
    intervals = time.process_time() - begin
    own = np.array([model.names.index(name) for name in go2.names])
    go2.tell(f"here, {name}", fit.theta[own], seconds)
    level = 1e3 * np.sqrt(np.mean(fit.sigma**2))
    told = f"   {intervals:.2f} s of it for the intervals; own residual {level:.5f} mrad, {fit.iterations} iterations"
    print(told + (f", delay {1e3 * fit.theta[-1]:.3f} ms (half a step of MuJoCo is 0.5)" if delay == "?" else ""))
    return fit.theta[own], seconds


def go2_by_sysid(go2):
    """The same by `mujoco.sysid`."""
    try:
        from mujoco.sysid._src import optimize, parameter
    except ImportError as err:
        print(f"mujoco.sysid is not complete here ({err}): pip install 'mujoco[sysid]'")
        return None
    start = np.array([START[name[:2]] for name in go2.names])
    params = parameter.ParameterDict()
    params.add(parameter.Parameter("x", nominal=start, min_value=np.full(36, 1e-6), max_value=np.full(36, 5.0)))
    calls = [0]

    def residual(x, _):
        columns = np.atleast_2d(np.asarray(x).T) if np.ndim(x) > 1 else [np.asarray(x)]
        calls[0] += len(columns)
        rest = [(go2.run(np.asarray(c, float)) - go2.q).ravel() for c in columns]
        return [np.stack(rest, axis=1) if np.ndim(x) > 1 else rest[0]], None, None

    begin = time.process_time()
    found, _ = optimize.optimize(params, residual, optimizer="mujoco", verbose=False)
    seconds = time.process_time() - begin
    go2.tell(f"mujoco.sysid ({calls[0]} rollouts)", np.asarray(found.as_vector()), seconds)
    return np.asarray(found.as_vector()), seconds


def go2(file):
    """A fit of 36 values to a log that MuJoCo made, here and by `mujoco.sysid`."""
    plant = Go2Plant(file)
    plant.tell("planted values", plant.planted, 0.0)
    go2_here(plant, "delay free", "?")
    go2_here(plant, "with its integrator", 0.0, integrator="euler", step=1e-3)
    go2_by_sysid(plant)


if __name__ == "__main__":
    with threadpool_limits(1):
        derivatives()
        if len(sys.argv) > 1:
            go2(sys.argv[1])
