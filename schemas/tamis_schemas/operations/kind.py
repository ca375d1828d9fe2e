"""The base of operations: which values include a record, what a human may decide, how a report names it."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, ClassVar, Protocol, TypeGuard

from pydantic import ConfigDict

from ..errors import InvalidParameters
from ..values.checked_generic import V_co
from ..values.frozen import Frozen

YES, NO = ("include", "true", "yes", "y", "1"), ("exclude", "false", "no", "n", "0")


class OperationKind(Frozen):
    """The base of every operation: one that decides nothing about records, whose results no human overrides.

    Whoever handles operations alike (reports, summaries, reviews, overrides) asks the class, which `kind_of` finds by
    its name; a new operation says here what is different about it.
    """

    model_config = ConfigDict(extra="forbid")

    report_noun: ClassVar[str] = "screening"  # what it does to a record, in a report
    includes: ClassVar[str | bool | None] = None  # the value that passes a record; None: no value decides about it
    excludes: ClassVar[str | bool | None] = None  # the value that leaves it out; any other is uncertain
    unsure: ClassVar[str | None] = None  # the value of a record that a human leaves to others; None: there is none
    excluded_because: ClassVar[str | None] = None  # the reason of every exclusion; None: each result has its own
    few_values: ClassVar[bool] = False  # a summary counts them one by one, as it does where values decide
    needs_record: ClassVar[bool] = True  # an item that shows a model nothing is an error, not a question
    reads_chunks: ClassVar[bool] = False  # its values are taken from an item's chunks, and metrics say how well
    stage_field: ClassVar[str | None] = None  # the field of a review's stage that narrows down what goes on
    example: ClassVar[Mapping[str, Any]] = {}  # parameters of a short question about a trial, as `tamis doctor` asks it

    @classmethod
    def decides(cls) -> bool:
        """True where its values include and exclude records."""
        return cls.includes is not None

    def value_type(self) -> type[Any]:
        """Return the type of its values, where it gives one: bool, float, str, or dict for fields."""
        return str

    @classmethod
    def verdict(cls, value: object) -> bool | None:
        """True of the value that includes, False of the one that excludes, None of any other."""
        if cls.decides() and _same(value, cls.includes):
            return True
        return False if cls.decides() and _same(value, cls.excludes) else None

    def goes_on(self, value: object, narrowed: Any) -> bool:
        """True where a record with this value goes on to a review's next stage.

        `narrowed` is what the stage has in the operation's `stage_field`; None without one.
        """
        return not self.decides() or self.verdict(value) is True

    def checked_value(self, value: object) -> Any:
        """A human's decision as it is kept.

        Raises `InvalidParameters`: the operation could not have given it, or is none whose results a human decides.
        """
        if not self.decides():
            raise InvalidParameters(
                f"results of {operation_name(type(self))} are no decisions on a record: they cannot be overridden. "
                "Correct the record's own result instead, in the batch that it is of"
            )
        included = self.verdict(value)
        if included is None:
            raise InvalidParameters(f"{value!r} is no decision: a human says {self.includes} or {self.excludes}")
        return self.includes if included else self.excludes

    def value_of_text(self, text: str) -> Any:
        """Return the checked value of a person's words, on a command line or in a table; raises as `checked_value`."""
        word = text.strip()
        if not self.decides():
            return self.checked_value(word)
        return yes_or_no(word) if isinstance(self.includes, bool) else self.checked_value(word.lower())

    def result_words(self, value: object, confidence: float) -> str:
        """Return a result in a few words, for monitors of the queue: `include 0.92`, `a value 0.80`.

        A value is named only where it is one of a few that the operation itself has: others are the record's content.
        """
        if self.decides() or self.few_values:
            return f"{str(value).lower()} {confidence:.2f}"
        return f"{'no value' if value is None else 'a value'} {confidence:.2f}"


class TypedOperation(Protocol[V_co]):
    """An operation as a type checker reads it: what its values are, results of its batches have."""

    def value_type(self) -> type[V_co]:
        """Return the type of its values."""


def operation_name(kind: type[OperationKind]) -> str:
    """The name under which an operation travels: filter, inclusion, ..."""
    return str(kind.model_fields["operation"].default)


def yes_or_no(text: str) -> bool:
    """include, true, yes, y, 1 and their opposites, in any case. Raises `InvalidParameters` for anything else."""
    word = text.strip().lower()
    if word in YES:
        return True
    if word in NO:
        return False
    raise InvalidParameters(f"{text!r} is no decision: write include or exclude, or yes or no")


def is_number(value: object) -> TypeGuard[int | float]:
    """True of finite numbers; a boolean is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def number_of(text: str) -> float:
    """The number that a text says. Raises `InvalidParameters` where it says none."""
    try:
        return float(text)
    except ValueError as error:
        raise InvalidParameters(f"{text.strip()!r} is no number") from error


def _same(value: object, named: object) -> bool:
    return isinstance(value, type(named)) and value == named  # 1 is not True
