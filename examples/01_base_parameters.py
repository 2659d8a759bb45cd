"""Base parameters of a bundled robot: symbolic relations, the rank certificate, and an HTML page."""

import minertia as mi

robot = mi.read_robot("puma560")
print(robot)

base = mi.base_parameters(robot)
print(base)

# class of each of the sixty standard parameters: alone, combination or none
classes = base.classes()
for kind in ("alone", "combination", "none"):
    print(f"{kind}: {' '.join(name for name, found in classes.items() if found == kind)}")

# 36 base parameters give the same torques as 60 standard parameters
beta = base.values()
q, qd, qdd = [0.1, -0.4, 0.7, 0.2, 0.5, -0.3], [1, -1, 2, 0.5, -2, 1], [3, 1, -2, 4, 1, -1]
from_base = base.regressor(q, qd, qdd) @ beta
from_all = mi.dynamics.torque_regressor(robot, q, qd, qdd) @ robot.parameter_vector()
print("largest difference [N m]:", f"{abs(from_base - from_all).max():.1e}")

# with rotor inertia and friction; preferred representatives where there is a choice
full = mi.base_parameters(robot, rotors=True, friction=True, keep=("IA1", "IA2"))
print(full.count, "with rotor inertias, friction and offsets")

# the minimal linear combinations of composite bodies span the same space
combinations = mi.base_parameters(robot, "mlc")
T = base.conversion_to(combinations)
print("converted:", f"{abs(T @ beta - combinations.values()).max():.1e}")
