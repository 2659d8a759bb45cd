"""A motion that lets the inertial parameters of an arm be told apart, inside its limits, and what it promises."""

import minertia as mi
from minertia.excitation.excite import excite
from minertia.excitation.limits import motion_limits

robot = mi.read_robot("puma560_physical")
limits = motion_limits(robot, velocity=1.5, acceleration=4.0, effort=True)  # positions and efforts of its file

found = excite(robot, duration=8.0, harmonics=4, limits=limits, starts=1, friction=False, rotors=False)
print(f"condition number {found.condition:.0f} for {found.base.count} base parameters")
print(f"largest use of any limit: {100 * found.margins.worst:.0f} %")

# what 200 samples with 1 % noise on the efforts would give
relative = dict(zip(found.base.names, found.relative_deviations, strict=True))
for name in sorted(relative, key=relative.get)[:3]:
    print(f"{name}: predicted deviation {100 * relative[name]:.1f} %")

found.save("motion.csv")  # t, q, qd, qdd for the controller
