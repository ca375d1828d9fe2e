"""Enqueue batches of records for LLM evaluation, and read the results back."""

from .async_client import AsyncClient
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

__all__ = [
    "AIEvaluationService",
    "AsyncClient",
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
