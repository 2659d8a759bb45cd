"""The public names: this stub is the one list of them, for type checkers and for `lazy.py`."""

from minertia import (
    base,
    calibration,
    codegen,
    dynamics,
    excitation,
    fleet,
    identification,
    options,
    report,
    simulation,
    watch,
)
from minertia.base.derive import base_parameters
from minertia.base.grouping import BaseParameters
from minertia.calibration.calibrate import calibrate
from minertia.codegen.compiled import compile
from minertia.codegen.generate import generate
from minertia.dynamics.model import forward_dynamics, inverse_dynamics
from minertia.excitation.excite import excite
from minertia.excitation.limits import motion_limits
from minertia.excitation.result import Excitation
from minertia.excitation.trajectory import Trajectory
from minertia.identification.audits.audit import audit
from minertia.identification.campaigns.campaign import Campaign, Log
from minertia.identification.campaigns.new import new_campaign as draft_campaign
from minertia.identification.campaigns.read import read_campaign
from minertia.identification.campaigns.write import write_campaign
from minertia.identification.comparison import compare_models as compare
from minertia.identification.identify import build_problem, identify, judge, solve, solve_many
from minertia.identification.kind import Problem
from minertia.identification.logs.readers import read_recording
from minertia.identification.logs.recording import Recording
from minertia.identification.model import IdentifiedModel
from minertia.identification.model_file import read_model, write_model
from minertia.identification.payload import identify_gains, identify_payload
from minertia.identification.result import Identification
from minertia.identification.significance import significance
from minertia.identification.validate import validate
from minertia.identification.weigh import wrench
from minertia.io.errors import MinertiaError
from minertia.report.show import show
from minertia.robot.check import check_robot
from minertia.robot.files import bundled_robots as list_robots
from minertia.robot.files import read_robot, write_robot
from minertia.robot.robot import Robot
from minertia.simulation.engines import to_mujoco, to_pinocchio
from minertia.simulation.rehearsal import rehearse
from minertia.version import __version__

__all__ = [
    "BaseParameters",
    "Campaign",
    "Excitation",
    "Identification",
    "IdentifiedModel",
    "Log",
    "MinertiaError",
    "Problem",
    "Recording",
    "Robot",
    "Trajectory",
    "__version__",
    "audit",
    "base",
    "base_parameters",
    "build_problem",
    "calibrate",
    "calibration",
    "check_robot",
    "codegen",
    "compare",
    "compile",
    "dynamics",
    "excitation",
    "excite",
    "fleet",
    "forward_dynamics",
    "generate",
    "identification",
    "identify",
    "identify_gains",
    "identify_payload",
    "inverse_dynamics",
    "judge",
    "list_robots",
    "draft_campaign",
    "motion_limits",
    "options",
    "read_campaign",
    "read_model",
    "read_recording",
    "read_robot",
    "rehearse",
    "report",
    "show",
    "significance",
    "solve",
    "solve_many",
    "to_mujoco",
    "to_pinocchio",
    "validate",
    "simulation",
    "watch",
    "write_campaign",
    "write_model",
    "wrench",
    "write_robot",
]
