"""The producer's side of the ledger: write a batch, read its state, stream its results."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
