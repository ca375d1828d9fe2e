"""The doctor: looks at everything that Tamis needs, and says how to mend what is wrong.

Each part reads first and judges then; what judges is pure.
"""

from .examination import examine
from .finding import Finding, Level

__all__ = ["Finding", "Level", "examine"]
