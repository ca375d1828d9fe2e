"""Enqueue batches of records for LLM evaluation, and read the results back."""

from .batch import Batch
from .client import Client
from .settings import ProducerSettings
from .view import BatchView

__all__ = ["Batch", "BatchView", "Client", "ProducerSettings"]
