"""Identification from a log in Python, with evidence; then a payload, and generated code."""

import numpy as np

import minertia as mi

robot = mi.read_robot("puma560_physical")
limits = mi.motion_limits(robot, velocity=1.5, acceleration=4.0)
motion = mi.excite(robot, mi.excitation.Fourier(8.0), limits=limits, search=mi.options.MotionSearch(starts=1))

# simulated arm: with a tool that is not in its file, and 1 % torque noise
rng = np.random.default_rng(0)
arm = robot.with_payload(1.5, com=(0.0, 0.0, 0.1))


def recorded(arm: mi.Robot, run: mi.Trajectory, name: str) -> mi.Recording:
    """Return the log that a controller would record."""
    tau = mi.inverse_dynamics(arm, run.q, run.qd, run.qdd)
    tau = tau + 0.01 * tau.std(axis=0) * rng.normal(size=tau.shape)
    return mi.Recording(run.t, run.q, tau, source=name)


run = motion.trajectory
slower = mi.Trajectory(1.3 * run.t, run.q, run.qd / 1.3, run.qdd / 1.3**2)
campaign = mi.Campaign(
    robot,
    train=recorded(arm, run, "fast run"),
    validate=recorded(arm, slower, "slow run"),
    effects=["rotor", "viscous", "coulomb", "offset"],  # without this line the friction model is chosen
)
result = mi.identify(campaign)
print(repr(result))
print(f"{result.verdict.word}: {result.verdict.reasons[0]}")
for p in sorted(result.parameters, key=lambda p: p.relative_deviation)[:3]:
    print(f"{p.name} = {p.value:.4g}, 95 % interval {p.interval[0]:.4g} to {p.interval[1]:.4g}")

model = result.model()  # with masses and inertias that a robot can have
model.save("model.toml")

load = mi.identify_payload(model, recorded(arm.with_payload(2.0), run, "loaded run"))
print(f"the hand carries {load.mass:.2f} kg, with a deviation of {load.mass_deviation:.2g} kg")

code = mi.generate(model.to_robot(), "code")
print(code)
