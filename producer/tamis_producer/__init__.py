"""Enqueue batches of records for LLM evaluation, and read the results back."""

from .async_client import AsyncClient
from .batch import Batch
from .client import Client
from .conversion import to_item
from .evaluation_service import AIEvaluationService, get_ai_evaluation_service
from .iterative_answer import IterativeAnswerService
from .settings import ProducerSettings
from .view import BatchView

__all__ = [
    "AIEvaluationService",
    "AsyncClient",
    "Batch",
    "BatchView",
    "Client",
    "IterativeAnswerService",
    "ProducerSettings",
    "get_ai_evaluation_service",
    "to_item",
]
