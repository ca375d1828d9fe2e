"""Explanation: the full history of one record, for people who must justify the decision on it."""

from .document import Explanation
from .reading import read_explanation

__all__ = ["Explanation", "read_explanation"]
