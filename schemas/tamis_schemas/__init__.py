"""The nouns of Tamis, shared by whoever enqueues and whoever works."""

from typing import TYPE_CHECKING

from .lazy import exports

__all__ = [
    "NO_STEERING",
    "AllowanceSpent",
    "Answer",
    "AnswerEvaluation",
    "AnswerResult",
    "Audit",
    "AuditItem",
    "BatchEvent",
    "BatchFilterResult",
    "BatchPaused",
    "BatchStatus",
    "BrokerUnavailable",
    "Callback",
    "Chunk",
    "ConfidenceDistribution",
    "ConfigurationError",
    "Cost",
    "Counts",
    "Criterion",
    "CriterionVerdict",
    "Cut",
    "Difference",
    "ErrorKind",
    "Evaluation",
    "EvaluationResult",
    "EvidenceType",
    "Exclusion",
    "Extract",
    "ExtractFields",
    "Extraction",
    "ExtractionDetail",
    "FieldExtractions",
    "FieldsResult",
    "Filter",
    "FilterResult",
    "FilterRule",
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
    "IterationData",
    "Judge",
    "Judgement",
    "LedgerUnavailable",
    "MetricFigures",
    "ModelPrice",
    "NotAllowed",
    "Operation",
    "OperationFailed",
    "Override",
    "PaperData",
    "Pause",
    "PauseKind",
    "PossiblyUnbilled",
    "PriceTable",
    "Prices",
    "Priority",
    "Proportion",
    "Provenance",
    "Quote",
    "QuoteState",
    "RecallAnswer",
    "RejectedPaper",
    "Retrieval",
    "Retrieved",
    "RetryBias",
    "ReviewPlan",
    "ReviewStage",
    "Score",
    "SearchCriteria",
    "Source",
    "Steering",
    "SteeringView",
    "Stratum",
    "Summary",
    "TamisError",
    "Tier",
    "TierFallback",
    "TierPrice",
    "Unavailable",
    "UncertainReason",
    "UnclearPolicy",
    "UnknownBatch",
    "UnverifiedPolicy",
    "Usage",
    "Verdict",
    "WaitTimeout",
    "WorkedExample",
    "cost_words",
    "dollars",
    "packaged_prices",
    "parse_operation",
    "possibly_unbilled_cost",
    "resolve_item_id",
    "tier_name",
    "wilson",
]

if TYPE_CHECKING:  # the same names as in the table below, which a test holds to these
    from .audit import Audit, AuditItem, Stratum
    from .callback import BatchEvent, Callback
    from .chunk import Chunk, Retrieval, Retrieved
    from .criteria import Criterion, SearchCriteria, WorkedExample
    from .errors import (
        AllowanceSpent,
        BatchPaused,
        BrokerUnavailable,
        ConfigurationError,
        ErrorKind,
        IdempotencyConflict,
        IllegalTransition,
        InputError,
        InvalidParameters,
        InvalidRequest,
        LedgerUnavailable,
        NotAllowed,
        OperationFailed,
        TamisError,
        Unavailable,
        UnknownBatch,
        WaitTimeout,
    )
    from .evaluation import Evaluation
    from .exclusion import Exclusion
    from .extraction import Extraction, ExtractionDetail, FieldExtractions, RecallAnswer
    from .filter_result import BatchFilterResult, FilterResult, FilterRule, RejectedPaper
    from .item import Item, resolve_item_id
    from .iterations import AnswerEvaluation, AnswerResult, IterationData
    from .judgement import EvidenceType, Judgement
    from .money import Cost, cost_words, dollars
    from .operations import (
        Answer,
        Extract,
        ExtractFields,
        Filter,
        Inclusion,
        Judge,
        Operation,
        Score,
        UnclearPolicy,
        UnverifiedPolicy,
        parse_operation,
    )
    from .override import Override
    from .paper import PaperData
    from .pause import Pause, PauseKind
    from .prices import ModelPrice, Prices, PriceTable, TierPrice, packaged_prices, tier_name
    from .priority import Priority
    from .proportion import Proportion, wilson
    from .results import (
        CriterionVerdict,
        Cut,
        Difference,
        EvaluationResult,
        FieldsResult,
        InclusionDecision,
        InclusionStatus,
        ItemResult,
        Provenance,
        Quote,
        QuoteState,
        UncertainReason,
        Usage,
        Verdict,
    )
    from .retry_bias import RetryBias
    from .review_plan import ReviewPlan, ReviewStage
    from .source import Source
    from .status import BatchStatus, ItemStatus
    from .steering import NO_STEERING, Steering, SteeringView, Tier, TierFallback
    from .summary import ConfidenceDistribution, Counts, MetricFigures, Summary
    from .unbilled import PossiblyUnbilled, possibly_unbilled_cost
else:
    __getattr__ = exports(
        __name__,
        {
            "audit": "Audit AuditItem Stratum",
            "callback": "BatchEvent Callback",
            "chunk": "Chunk Retrieval Retrieved",
            "criteria": "Criterion SearchCriteria WorkedExample",
            "errors": (
                "AllowanceSpent BatchPaused BrokerUnavailable ConfigurationError ErrorKind IdempotencyConflict "
                "IllegalTransition InputError InvalidParameters InvalidRequest LedgerUnavailable NotAllowed "
                "OperationFailed TamisError Unavailable UnknownBatch WaitTimeout"
            ),
            "evaluation": "Evaluation",
            "exclusion": "Exclusion",
            "extraction": "Extraction ExtractionDetail FieldExtractions RecallAnswer",
            "filter_result": "BatchFilterResult FilterResult FilterRule RejectedPaper",
            "item": "Item resolve_item_id",
            "iterations": "AnswerEvaluation AnswerResult IterationData",
            "judgement": "EvidenceType Judgement",
            "money": "Cost cost_words dollars",
            "operations": (
                "Answer Extract ExtractFields Filter Inclusion Judge Operation Score UnclearPolicy UnverifiedPolicy "
                "parse_operation"
            ),
            "override": "Override",
            "paper": "PaperData",
            "pause": "Pause PauseKind",
            "prices": "ModelPrice Prices PriceTable TierPrice packaged_prices tier_name",
            "priority": "Priority",
            "proportion": "Proportion wilson",
            "results": (
                "CriterionVerdict Cut Difference EvaluationResult FieldsResult InclusionDecision InclusionStatus "
                "ItemResult Provenance Quote QuoteState UncertainReason Usage Verdict"
            ),
            "retry_bias": "RetryBias",
            "review_plan": "ReviewPlan ReviewStage",
            "source": "Source",
            "status": "BatchStatus ItemStatus",
            "steering": "NO_STEERING Steering SteeringView Tier TierFallback",
            "summary": "ConfidenceDistribution Counts MetricFigures Summary",
            "unbilled": "PossiblyUnbilled possibly_unbilled_cost",
        },
    )
