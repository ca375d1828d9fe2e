"""The producer's side of the ledger: write a batch, read how it stands, stream what came out."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
