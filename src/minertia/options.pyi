"""Options of the verbs: frozen values that check themselves."""

from minertia.codegen.options import Arithmetic, CodeModel, CodeSearch
from minertia.excitation.options import MotionSearch, Optimality, RecordedMotions
from minertia.fleet.drift import DriftOptions
from minertia.fleet.fit import FitOptions
from minertia.identification.campaigns.campaign import Repairs
from minertia.identification.campaigns.command import Command
from minertia.identification.campaigns.elastic import ElasticJoints
from minertia.identification.campaigns.floor import Floor
from minertia.identification.loads.load import Load
from minertia.identification.logs.columns import ColumnMap
from minertia.identification.logs.drive import Drive
from minertia.identification.online.levels import WatchOptions
from minertia.identification.signals.evaluation import Evaluation
from minertia.identification.signals.filtering import Filter
from minertia.simulation.rehearsed import RehearsalOptions

__all__ = [
    "Arithmetic",
    "CodeModel",
    "CodeSearch",
    "ColumnMap",
    "Command",
    "DriftOptions",
    "Drive",
    "ElasticJoints",
    "Evaluation",
    "Filter",
    "FitOptions",
    "Floor",
    "Load",
    "MotionSearch",
    "Optimality",
    "RecordedMotions",
    "RehearsalOptions",
    "Repairs",
    "WatchOptions",
]
