"""The nouns of Tamis, shared by whoever enqueues and whoever works."""

from .lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
