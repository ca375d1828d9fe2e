"""The quality of a batch's decisions, measured against human ones: pure statistics, without a server."""

from .agreement import Agreement, agreement
from .certificate import Certificate, Price, Reading, Verdict, certify, price_list, records_needed
from .estimator import missed_recall_p
from .exact import interval, lower_bound, upper_bound
from .expected_finds import ExpectedFinds, expected_from_probabilities, expected_from_yield
from .figure import Figure
from .gold_evaluation import GoldEvaluation, evaluate
from .gold_labels import GoldLabel, GoldLabels, read_labels
from .matching import match
from .pilot import Calibration, calibrate
from .reader_errors import DoubleRead
from .sampling_frame import SPENDING, Frame
from .threshold import Threshold, choose_threshold, includes_needed

__all__ = [
    "SPENDING",
    "Agreement",
    "Calibration",
    "Certificate",
    "DoubleRead",
    "ExpectedFinds",
    "Figure",
    "Frame",
    "GoldEvaluation",
    "GoldLabel",
    "GoldLabels",
    "Price",
    "Reading",
    "Threshold",
    "Verdict",
    "agreement",
    "calibrate",
    "certify",
    "choose_threshold",
    "evaluate",
    "expected_from_probabilities",
    "expected_from_yield",
    "includes_needed",
    "interval",
    "lower_bound",
    "match",
    "missed_recall_p",
    "price_list",
    "read_labels",
    "records_needed",
    "upper_bound",
]
