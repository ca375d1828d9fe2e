"""The nine metrics of spec 4: what retrieval, extraction and agreement are worth. Pure: nothing here asks anything.

Each takes models or dicts with their fields, and returns an `Evaluation`: a value, or the reason why there is none.
"""

from .metrics import (
    RECALL_THRESHOLD,
    aggregated_confidence,
    agreement_pattern,
    context_precision,
    context_recall_heuristic,
    context_recall_llm,
    context_relevance,
    escalates,
    multi_source_agreement,
    recall_warning,
    semantic_validation,
)

__all__ = [
    "RECALL_THRESHOLD",
    "aggregated_confidence",
    "agreement_pattern",
    "context_precision",
    "context_recall_heuristic",
    "context_recall_llm",
    "context_relevance",
    "escalates",
    "multi_source_agreement",
    "recall_warning",
    "semantic_validation",
]
