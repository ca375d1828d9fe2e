"""The nouns of Tamis, shared by whoever enqueues and whoever works."""

from .criteria import Criterion, SearchCriteria
from .errors import (
    BrokerUnavailable,
    ConfigurationError,
    ErrorKind,
    IdempotencyConflict,
    IllegalTransition,
    InputError,
    InvalidParameters,
    InvalidRequest,
    LedgerUnavailable,
    OperationFailed,
    TamisError,
    Unavailable,
    UnknownBatch,
    WaitTimeout,
)
from .item import Item, resolve_item_id
from .operations import Filter, Inclusion, Operation, parse_operation
from .proportion import Proportion, wilson
from .results import (
    EvaluationResult,
    InclusionDecision,
    InclusionStatus,
    ItemResult,
    Provenance,
    Usage,
    Verdict,
)
from .status import BatchStatus, ItemStatus
from .summary import ConfidenceDistribution, Counts, Summary

__all__ = [
    "BatchStatus",
    "BrokerUnavailable",
    "ConfidenceDistribution",
    "ConfigurationError",
    "Counts",
    "Criterion",
    "ErrorKind",
    "EvaluationResult",
    "Filter",
    "IdempotencyConflict",
    "IllegalTransition",
    "Inclusion",
    "InclusionDecision",
    "InclusionStatus",
    "InputError",
    "InvalidParameters",
    "InvalidRequest",
    "Item",
    "ItemResult",
    "ItemStatus",
    "LedgerUnavailable",
    "Operation",
    "OperationFailed",
    "Proportion",
    "Provenance",
    "SearchCriteria",
    "Summary",
    "TamisError",
    "Unavailable",
    "UnknownBatch",
    "Usage",
    "Verdict",
    "WaitTimeout",
    "parse_operation",
    "resolve_item_id",
    "wilson",
]
