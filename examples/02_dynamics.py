"""Torques, mass matrix, energies and forward dynamics along a motion, all from one recursion."""

import numpy as np

import minertia as mi

robot = mi.read_robot("puma560_physical")
t = np.linspace(0, 2, 401)[:, None]
phase = np.arange(robot.n)
q, qd, qdd = np.sin(2 * t + phase), 2 * np.cos(2 * t + phase), -4 * np.sin(2 * t + phase)

tau = mi.inverse_dynamics(robot, q, qd, qdd)
print("torques, samples first:", tau.shape, "largest [N m]:", np.abs(tau).max(axis=0).round(1))

# forward dynamics is the inverse of inverse dynamics
error = np.abs(mi.forward_dynamics(robot, q, qd, tau) - qdd).max()
print("accelerations come back to", f"{error:.0e}")

# tau = D qdd + velocity torques + gravity torques (plus friction and offsets)
D = mi.dynamics.mass_matrix(robot, q, rotors=False)
parts = (
    np.einsum("nij,nj->ni", D, qdd) + mi.dynamics.velocity_torques(robot, q, qd) + mi.dynamics.gravity_torques(robot, q)
)
links = mi.dynamics.torque_regressor(robot, q, qd, qdd) @ robot.parameter_vector()
print("sum of the parts:", f"{np.abs(parts - links).max():.0e}")

# kinetic energy is half of qd' D qd
energy = mi.dynamics.kinetic_energy(robot, q, qd)
print("energy:", f"{np.abs(energy - 0.5 * np.einsum('ni,nij,nj->n', qd, D, qd)).max():.0e}")

# a payload at the end-effector adds to the last link
loaded = robot.with_payload(2.0, com=(0, 0, 0.1))
extra = mi.dynamics.gravity_torques(loaded, np.zeros(6)) - mi.dynamics.gravity_torques(robot, np.zeros(6))
print("2 kg in the hand [N m]:", extra.round(2))
