"""Runs: the changes to a batch between its submission and its end."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
