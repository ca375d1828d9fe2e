"""Runs: what is done with a batch after its submission, until it ends."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
