"""Enqueue batches of records for LLM evaluation, and read the results back."""

from typing import TYPE_CHECKING

from tamis_schemas.lazy import exports

__all__ = [
    "AIEvaluationService",
    "AsyncBatch",
    "AsyncClient",
    "AsyncReview",
    "Batch",
    "BatchView",
    "Client",
    "InclusionEvaluator",
    "InitialFilter",
    "IterativeAnswerService",
    "ProducerSettings",
    "Review",
    "ReviewView",
    "get_ai_evaluation_service",
    "read_records",
    "to_item",
    "write_records",
]

if TYPE_CHECKING:  # the same names as in the table below, which a test holds to these
    from .async_batch import AsyncBatch
    from .async_client import AsyncClient
    from .async_review import AsyncReview
    from .batch import Batch
    from .client import Client
    from .conversion import to_item
    from .evaluation_service import AIEvaluationService, get_ai_evaluation_service
    from .intake import read_records, write_records
    from .iterative_answer import IterativeAnswerService
    from .review import Review
    from .screening.inclusion_evaluator import InclusionEvaluator
    from .screening.initial_filter import InitialFilter
    from .settings import ProducerSettings
    from .view import BatchView, ReviewView
else:
    __getattr__ = exports(
        __name__,
        {
            "async_batch": "AsyncBatch",
            "async_client": "AsyncClient",
            "async_review": "AsyncReview",
            "batch": "Batch",
            "client": "Client",
            "conversion": "to_item",
            "evaluation_service": "AIEvaluationService get_ai_evaluation_service",
            "intake": "read_records write_records",
            "iterative_answer": "IterativeAnswerService",
            "review": "Review",
            "screening.inclusion_evaluator": "InclusionEvaluator",
            "screening.initial_filter": "InitialFilter",
            "settings": "ProducerSettings",
            "view": "BatchView ReviewView",
        },
    )
