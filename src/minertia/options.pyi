"""Options of the verbs: frozen values that check themselves."""

from minertia.codegen.options import Arithmetic, CodeModel, CodeSearch
from minertia.excitation.options import MotionSearch, Optimality
from minertia.excitation.trajectory import RecordedMotions
from minertia.fleet.options import DriftOptions, FitOptions
from minertia.identification.campaigns.options import (
    Command,
    ContactOptions,
    ElasticJoints,
    FloatingOptions,
    Floor,
    Repairs,
    SensorOptions,
    WrenchOptions,
)
from minertia.identification.loads.load import Load
from minertia.identification.logs.options import ColumnMap, Drive
from minertia.identification.online.options import WatchOptions
from minertia.identification.posterior.options import SampleOptions
from minertia.identification.signals.options import Evaluation, Filter
from minertia.simulation.options import RehearsalOptions

__all__ = [
    "Arithmetic",
    "CodeModel",
    "CodeSearch",
    "ColumnMap",
    "Command",
    "ContactOptions",
    "DriftOptions",
    "Drive",
    "ElasticJoints",
    "Evaluation",
    "Filter",
    "FitOptions",
    "FloatingOptions",
    "Floor",
    "Load",
    "MotionSearch",
    "Optimality",
    "RecordedMotions",
    "RehearsalOptions",
    "Repairs",
    "SampleOptions",
    "SensorOptions",
    "WatchOptions",
    "WrenchOptions",
]
