"""The base of operations: the values that include a record, the decisions open to people, the names in reports."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, ClassVar, Protocol, TypeGuard

from pydantic import ConfigDict

from ..errors import InvalidParameters
from ..values.checked_generic import V_co
from ..values.frozen import Frozen

YES, NO = ("include", "true", "yes", "y", "1"), ("exclude", "false", "no", "n", "0")


class OperationKind(Frozen):
    """The base of every operation.

    By default, an operation's values neither include nor exclude records, and people cannot override its results.
    """

    model_config = ConfigDict(extra="forbid")

    report_noun: ClassVar[str] = "screening"  # noun for the step in a report
    includes: ClassVar[str | bool | None] = None  # value that passes a record; None: no value decides about it
    excludes: ClassVar[str | bool | None] = None  # value that excludes a record; any other value is uncertain
    unsure: ClassVar[str | None] = None  # value of a record that a human leaves to others; None: there is none
    excluded_because: ClassVar[str | None] = None  # reason of every exclusion; None: each result has its own reason
    few_values: ClassVar[bool] = False  # True: a summary counts each value, as for deciding operations
    needs_record: ClassVar[bool] = True  # True: an item without fields for a model is an error, not a question
    reads_chunks: ClassVar[bool] = False  # True: the values come from an item's chunks, and metrics rate them
    stage_field: ClassVar[str | None] = None  # field of a review's stage that narrows down which records continue
    example: ClassVar[Mapping[str, Any]] = {}  # parameters of a short question about a trial, for `tamis doctor`

    @classmethod
    def decides(cls) -> bool:
        """Return whether the operation's values include and exclude records."""
        return cls.includes is not None

    def value_type(self) -> type[Any]:
        """Return the type of the operation's values: bool, float, str, or dict for fields."""
        return str

    @classmethod
    def verdict(cls, value: object) -> bool | None:
        """Return True for the value that includes, False for the value that excludes, None for any other value."""
        if cls.decides() and _same(value, cls.includes):
            return True
        return False if cls.decides() and _same(value, cls.excludes) else None

    def goes_on(self, value: object, narrowed: Any) -> bool:
        """Return whether a record with this value continues to a review's next stage.

        `narrowed`: the stage's value for the operation's `stage_field`; None if the operation has no such field.
        """
        return not self.decides() or self.verdict(value) is True

    def checked_value(self, value: object) -> Any:
        """Return a person's decision in its stored form.

        Raises `InvalidParameters` if the value is not possible, or if people cannot override this operation's results.
        """
        if not self.decides():
            raise InvalidParameters(
                f"results of {operation_name(type(self))} are not decisions on a record, so they cannot be overridden. "
                "Override the record's result in its own batch instead"
            )
        included = self.verdict(value)
        if included is None:
            raise InvalidParameters(f"{value!r} is not a decision: use {self.includes} or {self.excludes}")
        return self.includes if included else self.excludes

    def value_of_text(self, text: str) -> Any:
        """Return the value of a text that a person gave on the command line or in a table.

        Raises `InvalidParameters` if the value is not possible, or if people cannot override this operation's results.
        """
        word = text.strip()
        if not self.decides():
            return self.checked_value(word)
        return yes_or_no(word) if isinstance(self.includes, bool) else self.checked_value(word.lower())

    def result_words(self, value: object, confidence: float) -> str:
        """Return a result in a few words, for monitors of the queue: `include 0.92`, `a value 0.80`.

        A value is named only if it is one of the operation's own words, not the record's content.
        """
        return f"{self.value_label(value) or ('no value' if value is None else 'a value')} {confidence:.2f}"

    def value_label(self, value: object) -> str | None:
        """Return a value as a word if the operation defines its values. Return None for the record's content."""
        return str(value).lower() if self.decides() or self.few_values else None


class TypedOperation(Protocol[V_co]):
    """An operation as type checkers see it: `V_co` is the type of its values."""

    def value_type(self) -> type[V_co]:
        """Return the type of the operation's values."""


def operation_name(kind: type[OperationKind]) -> str:
    """Return the name of an operation in messages: filter, inclusion, ..."""
    return str(kind.model_fields["operation"].default)


def yes_or_no(text: str) -> bool:
    """Return True for include, true, yes, y or 1, and False for their opposites, in upper or lower case.

    Raises `InvalidParameters` for any other text.
    """
    word = text.strip().lower()
    if word in YES:
        return True
    if word in NO:
        return False
    raise InvalidParameters(f"{text!r} is not a decision: write include or exclude, or yes or no")


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether the value is a finite number, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def number_of(text: str) -> float:
    """Return the number in a text. Raises `InvalidParameters` if there is none."""
    try:
        return float(text)
    except ValueError as error:
        raise InvalidParameters(f"{text.strip()!r} is not a number") from error


def _same(value: object, named: object) -> bool:
    return isinstance(value, type(named)) and value == named  # 1 is not True
