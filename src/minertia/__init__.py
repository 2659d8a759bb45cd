"""minertia: robot dynamic modelling and identification.

Three steps, with `import minertia as mi`:

    robot = mi.read_robot("arm.urdf")                   # also MJCF, TOML, or a bundled name: mi.list_robots()
    mi.excite(robot).save("motion.csv")                 # an exciting motion, to be run on the robot
    result = mi.identify(mi.Campaign(robot, "run.csv")) # the log of it to a model, with a verdict

Functions take a robot, a path or a bundled name. help(mi.identify) documents one, dir(mi) lists all names:

    robots        read_robot write_robot check_robot list_robots Robot to_mujoco to_pinocchio calibrate
    models        base_parameters BaseParameters inverse_dynamics forward_dynamics generate compile
    motions       excite motion_limits rehearse Excitation Trajectory
    logs          read_recording audit Recording Campaign Log read_campaign write_campaign draft_campaign
    identify      identify (= build_problem solve judge) validate compare significance identify_payload identify_gains
                  wrench solve_many
    results       Problem Identification IdentifiedModel read_model write_model show; errors: MinertiaError

    as mi.PART    dynamics base codegen excitation identification simulation calibration watch fleet report options
"""

from minertia.io.names import RENAMED, lazy_names
from minertia.version import __version__ as __version__

__getattr__, __dir__ = lazy_names(__name__, RENAMED)
