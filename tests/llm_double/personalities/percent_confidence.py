"""Writes a confidence in percent: 85 instead of 0.85."""

from dataclasses import dataclass
from typing import Any

from ..asked import Asked
from ..strictness import follows
from .behaviour import Behaviour, Shape


@dataclass(frozen=True)
class PercentConfidence(Behaviour):
    """A hundred times each number under a key that speaks of confidence.

    Where the endpoint enforces a schema that does not allow that (an enum, a maximum), the value stays as it is.
    """

    key: str = "confidence"

    def value(self, asked: Asked, value: Any, shape: Shape) -> Any:
        """The value with its confidences in percent, if it may be so."""
        changed = self._changed(value)
        return changed if shape.enforced is None or follows(changed, shape.enforced) else value

    def _changed(self, value: Any, *, confident: bool = False) -> Any:
        match value:
            case dict():
                return {name: self._changed(part, confident=self.key in name.lower()) for name, part in value.items()}
            case list():
                return [self._changed(part) for part in value]
            case int() | float() if confident and not isinstance(value, bool):
                return round(value * 100)
            case _:
                return value
