"""Screening: people's work on the batches of a review. Functions take a batch; for an existing audit, the client."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
