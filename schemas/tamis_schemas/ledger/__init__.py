"""The ledger: the Postgres tables that hold the truth about every item, and their migrations."""

from ..lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
