"""minertia: robot dynamic modelling and identification."""

from minertia.errors import MinertiaError
from minertia.robot.read import bundled_robots, read_robot
from minertia.robot.robot import Robot

__version__ = "0.1.0"
__all__ = ["MinertiaError", "Robot", "bundled_robots", "read_robot"]
