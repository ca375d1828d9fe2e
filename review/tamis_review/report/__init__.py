"""The report of a batch or a review: PRISMA 2020 flow, figures, every decision and methods."""

from tamis_schemas.lazy import exports

__getattr__, __all__ = exports(__name__, __file__)
