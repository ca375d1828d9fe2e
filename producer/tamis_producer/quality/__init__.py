"""The quality of a batch's decisions, measured against human ones: pure statistics, without a server."""

from .agreement import Agreement, agreement
from .exact import interval, lower_bound, upper_bound
from .figure import Figure
from .gold_evaluation import GoldEvaluation, evaluate
from .gold_labels import GoldLabel, GoldLabels, read_labels
from .matching import match
from .pilot import Calibration, calibrate
from .threshold import Threshold, choose_threshold, includes_needed

__all__ = [
    "Agreement",
    "Calibration",
    "Figure",
    "GoldEvaluation",
    "GoldLabel",
    "GoldLabels",
    "Threshold",
    "agreement",
    "calibrate",
    "choose_threshold",
    "evaluate",
    "includes_needed",
    "interval",
    "lower_bound",
    "match",
    "read_labels",
    "upper_bound",
]
