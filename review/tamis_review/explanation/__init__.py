"""Explanation: the whole story of one record, for whoever has to answer for its decision."""

from .document import Explanation
from .reading import read_explanation

__all__ = ["Explanation", "read_explanation"]
