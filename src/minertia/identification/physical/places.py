"""Warnings on centres of mass outside their links."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from minertia.identification.physical.consistency import PhysicalSpace
from minertia.robot.shapes import link_reach

Array = NDArray[np.float64]
NOTABLE = 0.01  # m outside a box that are worth a remark
BEYOND = 0.2  # of the robot's longest link: links that no frame shows the length of


def misplaced(space: PhysicalSpace, x: Array) -> tuple[str, ...]:
    """Warnings on centres of mass that the data place outside the shapes of their links."""
    found = []
    for link in space.bounded:
        ten = x[space.links[link]]
        off = space.extents[link].outside(ten[6:9] / ten[9])
        if off > NOTABLE:
            found.append(
                f"the centre of mass of link {link} is {off:.2g} m outside the shapes of the robot file, and "
                "constraining it to them would raise the residual; check for a payload or part that the file "
                "does not contain"
            )
    return tuple(found)


def unplaced(space: PhysicalSpace, x: Array) -> tuple[str, ...]:
    """Warnings on centres of mass beyond the reach of their link, for links without shapes in the file."""
    robot = space.model.robot.numeric
    reaches = [link_reach(robot, j) for j in range(robot.n_joints)]
    longest, found = max(reaches, default=0.0), []
    for link, columns in space.links.items():
        if link in space.extents or not 1 <= link <= robot.n_joints or not longest:
            continue
        ten = x[columns]
        away, reach = float(np.linalg.norm(ten[6:9] / ten[9])), max(reaches[link - 1], BEYOND * longest)
        if away > 1.5 * reach:
            found.append(
                f"the centre of mass of link {link} is {away:.2g} m from its joint, but the next frames are at "
                f"most {reaches[link - 1]:.2g} m away; the robot file has no shapes that could constrain it"
            )
    return tuple(found)
