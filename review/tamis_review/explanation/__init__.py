"""Explanation: the full history of one record, for the people who must justify its decision."""

from .document import Explanation
from .reading import read_explanation

__all__ = ["Explanation", "read_explanation"]
