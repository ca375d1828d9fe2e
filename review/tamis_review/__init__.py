"""Screening: people's work on the batches of a review. Each function takes a batch, or the client for an audit."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
