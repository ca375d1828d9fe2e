"""Screening: people's work on the batches of a review. Most functions take a batch."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
