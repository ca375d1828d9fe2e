"""Score: a number on a scale."""

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AllowInfNan, Strict, StrictBool, model_validator

from ..errors import InvalidParameters
from ..values.words import Words
from .kind import OperationKind, is_number, number_of

Number = Annotated[float, Strict(), AllowInfNan(False)]  # an integer becomes a float; text and booleans are refused

TOLERANCE = 1e-9  # relative: the rounding of decimal fractions as floats
MAX_STEPS = 1_000_000  # in a scale; with more, TOLERANCE could not distinguish neighbouring steps


class Score(OperationKind):
    """Rate the item on a scale from `min_value` to `max_value`, both included; the value is always a float.

    With an interval, only `min_value + k * interval` are values, and `max_value` is the last of them.
    """

    report_noun: ClassVar[str] = "rating"
    stage_field: ClassVar[str] = "at_least"
    example: ClassVar[Mapping[str, Any]] = {"criteria": "How well is the intervention described?"}

    operation: Literal["score"] = "score"
    criteria: Words
    min_value: Number = 0.0
    max_value: Number = 1.0
    interval: Number | None = None
    include_reasoning: StrictBool = True

    @model_validator(mode="after")
    def _checked(self) -> Self:
        low, high, interval = self.min_value, self.max_value, self.interval
        if low == high:
            raise ValueError(f"max_value equals min_value ({low!r}): a scale needs two ends")
        if low > high:
            raise ValueError(f"max_value {high!r} is below min_value {low!r}: swap them")
        if not isfinite(high - low):
            raise ValueError(f"max_value {high!r} is too far from min_value {low!r}")
        if interval is not None:
            self._check_interval(interval)
        return self

    def _check_interval(self, interval: float) -> None:
        if interval <= 0:
            raise ValueError(f"interval {interval!r} must be greater than 0; omit it to allow any value in the range")
        steps = (self.max_value - self.min_value) / interval
        if not steps <= MAX_STEPS:
            raise ValueError(f"interval {interval!r} makes more than {MAX_STEPS} steps: omit it to allow any value")
        if round(steps) < 1 or abs(steps - round(steps)) > TOLERANCE * steps:
            raise ValueError(
                f"interval {interval!r} does not divide the range from min_value {self.min_value!r} to max_value "
                f"{self.max_value!r}: it fits {steps:.6g} times, but must fit a whole number of times"
            )
        if self.grid_value(1) == self.min_value or self.grid_value(round(steps) - 1) == self.max_value:
            raise ValueError(f"interval {interval!r} is too small to distinguish values at {self.max_value!r}")

    @property
    def steps(self) -> int | None:
        """The number of intervals in the range; None without an interval."""
        return None if self.interval is None else round((self.max_value - self.min_value) / self.interval)

    def grid_value(self, k: int) -> float:
        """Return `min_value + k * interval`, computed exactly and rounded once.

        On a scale from 0 to 1 by 0.1, `k` = 3 gives 0.3. Without an interval, the whole range is one step.
        """
        low, high = Fraction(repr(self.min_value)), Fraction(repr(self.max_value))
        return float(low + (high - low) * k / (self.steps or 1))

    def on_grid(self, value: float) -> float | None:
        """Return the scale's value that equals a number, apart from rounding; None if there is no such value.

        Without an interval, return the number itself.
        """
        if self.steps is None:
            return value
        span = self.max_value - self.min_value
        nearest = self.grid_value(round((value - self.min_value) / span * self.steps))
        return nearest if abs(value - nearest) <= TOLERANCE * span else None

    def value_type(self) -> type[float]:
        """Return the type of the operation's values."""
        return float

    def goes_on(self, value: object, narrowed: Any) -> bool:
        """Return whether the score is at least `narrowed`, the stage's lowest passing score. None: any score passes."""
        return isinstance(value, int | float) and (narrowed is None or value >= narrowed)

    def checked_value(self, value: object) -> float:
        """Return a person's score. Raises `InvalidParameters` if it is not a value of the scale."""
        if not is_number(value):
            raise InvalidParameters(f"{value!r} is not a number")
        if not self.min_value <= value <= self.max_value:
            raise InvalidParameters(f"{value!r} is outside the scale from {self.min_value!r} to {self.max_value!r}")
        on_grid = self.on_grid(float(value))
        if on_grid is None:
            raise InvalidParameters(
                f"{value!r} is not a value of the scale, which goes from {self.min_value!r} by {self.interval!r}"
            )
        return on_grid

    def value_of_text(self, text: str) -> float:
        """Return the score in a person's text. Raises `InvalidParameters` if it is not a value of the scale."""
        return self.checked_value(number_of(text))

    def result_words(self, value: object, confidence: float) -> str:
        """Return a result in a few words: `7 of 10`."""
        return f"{value:g} of {self.max_value:g}" if is_number(value) else super().result_words(value, confidence)
