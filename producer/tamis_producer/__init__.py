"""Enqueue batches of records for LLM evaluation, and read the results back."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
