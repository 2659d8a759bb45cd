"""Base parameters of a bundled robot: relations in letters, the certificate, and a page to read."""

import minertia as mi

robot = mi.read_robot("puma560")
print(robot)

base = mi.base_parameters(robot)
print(base)

# what of the sixty standard parameters can be seen
classes = base.classes()
for kind in ("alone", "combination", "none"):
    print(f"{kind}: {' '.join(name for name, found in classes.items() if found == kind)}")

# the same torques from 36 numbers as from 60
beta = base.values()
q, qd, qdd = [0.1, -0.4, 0.7, 0.2, 0.5, -0.3], [1, -1, 2, 0.5, -2, 1], [3, 1, -2, 4, 1, -1]
from_base = base.regressor(q, qd, qdd) @ beta
from_all = mi.dynamics.torque_regressor(robot, q, qd, qdd) @ robot.parameter_vector()
print("largest difference [N m]:", f"{abs(from_base - from_all).max():.1e}")

# other choices: rotor inertias and friction too, kept as representatives where there is a choice
full = mi.base_parameters(robot, rotors=True, friction=True, keep=("IA1", "IA2"))
print(full.count, "with rotor inertias, friction and offsets")

# the minimal linear combinations of composite bodies span the same space
combinations = mi.base_parameters(robot, "mlc")
T = base.conversion_to(combinations)
print("converted:", f"{abs(T @ beta - combinations.values()).max():.1e}")
