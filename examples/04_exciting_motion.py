"""An optimal excitation trajectory of an arm within its limits, and the predicted standard deviations."""

import minertia as mi

robot = mi.read_robot("puma560_physical")
limits = mi.motion_limits(robot, velocity=1.5, acceleration=4.0, effort=True)  # positions and efforts of its file

rigid = mi.options.Optimality(rotors=False, friction=False)  # what is to be identified, by the condition number
series = mi.excitation.Fourier(duration=8.0, harmonics=4)
found = mi.excite(robot, series, limits=limits, optimality=rigid, search=mi.options.MotionSearch(starts=1))
print(f"condition number {found.condition:.0f} for {found.base.count} base parameters")
print(f"largest use of any limit: {100 * found.margins.worst:.0f} %")

# predicted deviations from 200 samples with 1 % effort noise
relative = dict(zip(found.base.names, found.relative_deviations, strict=True))
for name in sorted(relative, key=relative.get)[:3]:
    print(f"{name}: predicted deviation {100 * relative[name]:.1f} %")

found.save("motion.csv")  # t, q, qd, qdd for the controller
