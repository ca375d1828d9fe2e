"""The nine metrics of spec 4: what retrieval, extraction and agreement are worth. Pure: nothing here asks anything.

Each takes models or dicts with their fields, and returns an `Evaluation`: a value, or the reason why there is none.
"""

from .agreement import agreement_pattern, multi_source_agreement
from .extraction import aggregated_confidence, semantic_validation
from .precision import context_precision
from .recall import RECALL_THRESHOLD, context_recall_heuristic, context_recall_llm, escalates, recall_warning
from .relevance import context_relevance

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
