"""Parts and results of identifications beside the verbs at the top of minertia."""

from minertia.identification.bands import LogBands, predict_bands
from minertia.identification.closed_loop.actuators import to_isaac_lab, to_position_mjcf
from minertia.identification.comparison import ModelComparison
from minertia.identification.estimators.estimate import Estimate, EstimateSet
from minertia.identification.evidence.residuals import Residuals
from minertia.identification.loads.gains import DriveGains
from minertia.identification.loads.payload import Payload
from minertia.identification.logs.readers import iter_blocks as read_blocks
from minertia.identification.logs.repair import repaired as repair_log
from minertia.identification.result import LoopIdentification
from minertia.identification.samples import Samples, read_samples
from minertia.identification.sampling import sample_model
from minertia.identification.score import Score, score_model
from minertia.identification.signals.filtering import prepared as filter_log
from minertia.identification.significance import SignificantParameters
from minertia.identification.wrench.model import WrenchModel

__all__ = [
    "DriveGains",
    "Estimate",
    "EstimateSet",
    "LogBands",
    "LoopIdentification",
    "ModelComparison",
    "Payload",
    "Residuals",
    "Samples",
    "Score",
    "SignificantParameters",
    "WrenchModel",
    "filter_log",
    "predict_bands",
    "read_blocks",
    "read_samples",
    "repair_log",
    "sample_model",
    "score_model",
    "to_isaac_lab",
    "to_position_mjcf",
]
