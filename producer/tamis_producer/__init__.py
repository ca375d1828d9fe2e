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
    from .client.async_batch import AsyncBatch
    from .client.async_client import AsyncClient
    from .client.async_review import AsyncReview
    from .client.batch import Batch
    from .client.client import Client
    from .client.review import Review
    from .config.settings import ProducerSettings
    from .intake import read_records, write_records
    from .ledger.batch_view import BatchView, ReviewView
    from .screening.initial_filter import InitialFilter
    from .services.evaluation_service import AIEvaluationService, get_ai_evaluation_service
    from .services.inclusion_evaluator import InclusionEvaluator
    from .services.iterative_answer import IterativeAnswerService
    from .submission.item_conversion import to_item
else:
    __getattr__ = exports(
        __name__,
        {
            "client.async_batch": "AsyncBatch",
            "client.async_client": "AsyncClient",
            "client.async_review": "AsyncReview",
            "client.batch": "Batch",
            "client.client": "Client",
            "submission.item_conversion": "to_item",
            "services.evaluation_service": "AIEvaluationService get_ai_evaluation_service",
            "intake": "read_records write_records",
            "services.iterative_answer": "IterativeAnswerService",
            "client.review": "Review",
            "services.inclusion_evaluator": "InclusionEvaluator",
            "screening.initial_filter": "InitialFilter",
            "config.settings": "ProducerSettings",
            "ledger.batch_view": "BatchView ReviewView",
        },
    )
