"""A figure with its interval, or the reason why there is none."""

from tamis_schemas import wilson
from tamis_schemas.values.frozen import Frozen

LEVEL = 0.95


class Figure(Frozen):
    """A number between the ends of its interval; what cannot be computed is None, and `reason` says why."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL  # of the interval
    count: int | None = None  # of a proportion: so many
    total: int | None = None  # of a proportion: out of so many
    reason: str | None = None  # why there is no value, or no interval around it

    def without_interval(self, reason: str) -> "Figure":
        """The value alone; of a figure without one, itself."""
        if self.value is None:
            return self
        return self.model_copy(update={"low": None, "high": None, "level": LEVEL, "reason": reason})


def proportion(count: int, total: int, nothing: str, level: float = LEVEL) -> Figure:
    """A share with its Wilson interval; of nothing it is None, and `nothing` is the reason."""
    share = wilson(count, total, level)
    return Figure(
        value=share.estimate,
        low=share.low,
        high=share.high,
        level=share.level,
        count=share.count,
        total=share.total,
        reason=nothing if share.estimate is None else None,
    )
