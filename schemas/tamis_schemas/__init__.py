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
    from .answers.audit import Audit, AuditItem, Stratum
    from .answers.evaluation import Evaluation
    from .answers.exclusion import Exclusion
    from .answers.extraction import Extraction, ExtractionDetail, FieldExtractions, RecallAnswer
    from .answers.filter_result import BatchFilterResult, FilterResult, FilterRule, RejectedPaper
    from .answers.iterations import AnswerEvaluation, AnswerResult, IterationData
    from .answers.judgement import EvidenceType, Judgement
    from .answers.override import Override
    from .answers.results import (
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
    from .batches.callback import BatchEvent, Callback
    from .batches.priority import Priority
    from .batches.retry_bias import RetryBias
    from .batches.review_plan import ReviewPlan, ReviewStage
    from .batches.status import BatchStatus, ItemStatus
    from .batches.steering import NO_STEERING, Steering, SteeringView, Tier, TierFallback
    from .batches.summary import ConfidenceDistribution, Counts, MetricFigures, Summary
    from .costs.prices import ModelPrice, Prices, PriceTable, TierPrice, packaged_prices, tier_name
    from .costs.unbilled import PossiblyUnbilled, possibly_unbilled_cost
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
    from .operations.criteria import Criterion, SearchCriteria, WorkedExample
    from .pause import Pause, PauseKind
    from .records.chunk import Chunk, Retrieval, Retrieved
    from .records.item import Item, resolve_item_id
    from .records.paper import PaperData
    from .records.source import Source
    from .values.money import Cost, cost_words, dollars
    from .values.proportion import Proportion, wilson
else:
    __getattr__ = exports(
        __name__,
        {
            "answers.audit": "Audit AuditItem Stratum",
            "batches.callback": "BatchEvent Callback",
            "records.chunk": "Chunk Retrieval Retrieved",
            "operations.criteria": "Criterion SearchCriteria WorkedExample",
            "errors": (
                "AllowanceSpent BatchPaused BrokerUnavailable ConfigurationError ErrorKind IdempotencyConflict "
                "IllegalTransition InputError InvalidParameters InvalidRequest LedgerUnavailable NotAllowed "
                "OperationFailed TamisError Unavailable UnknownBatch WaitTimeout"
            ),
            "answers.evaluation": "Evaluation",
            "answers.exclusion": "Exclusion",
            "answers.extraction": "Extraction ExtractionDetail FieldExtractions RecallAnswer",
            "answers.filter_result": "BatchFilterResult FilterResult FilterRule RejectedPaper",
            "records.item": "Item resolve_item_id",
            "answers.iterations": "AnswerEvaluation AnswerResult IterationData",
            "answers.judgement": "EvidenceType Judgement",
            "values.money": "Cost cost_words dollars",
            "operations": (
                "Answer Extract ExtractFields Filter Inclusion Judge Operation Score UnclearPolicy UnverifiedPolicy "
                "parse_operation"
            ),
            "answers.override": "Override",
            "records.paper": "PaperData",
            "pause": "Pause PauseKind",
            "costs.prices": "ModelPrice Prices PriceTable TierPrice packaged_prices tier_name",
            "batches.priority": "Priority",
            "values.proportion": "Proportion wilson",
            "answers.results": (
                "CriterionVerdict Cut Difference EvaluationResult FieldsResult InclusionDecision InclusionStatus "
                "ItemResult Provenance Quote QuoteState UncertainReason Usage Verdict"
            ),
            "batches.retry_bias": "RetryBias",
            "batches.review_plan": "ReviewPlan ReviewStage",
            "records.source": "Source",
            "batches.status": "BatchStatus ItemStatus",
            "batches.steering": "NO_STEERING Steering SteeringView Tier TierFallback",
            "batches.summary": "ConfidenceDistribution Counts MetricFigures Summary",
            "costs.unbilled": "PossiblyUnbilled possibly_unbilled_cost",
        },
    )
