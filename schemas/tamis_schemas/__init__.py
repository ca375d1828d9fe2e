"""The data models of Tamis, shared by clients and workers."""

from .lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
