"""Judge: the kind and strength of the evidence behind a classification."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, StringConstraints, field_validator

from ..values.words import Words
from .kind import OperationKind

Noun = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40)]


class Judge(OperationKind):
    """Judge the evidence behind an item, which is a classification.

    A result's value is the type of the evidence, and its detail is a `Judgement`.

    An item holds the classification's `value`, `confidence` (0 to 1), `reasoning` and `context` (the classified text).
    The item may also hold `cited` or `email_numbers` (the emails that the reasoning cites) and `batch_size` (the number
    of emails).
    """

    model_config = ConfigDict(allow_inf_nan=False)

    report_noun: ClassVar[str] = "judgement of evidence"
    few_values: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "guidelines": "Only words of the abstract itself are evidence.",
        "noun": "Abstract",
    }

    operation: Literal["judge"] = "judge"
    guidelines: Words  # valid evidence for these values
    noun: Noun = "Email"  # noun for numbered references: "Email 3", "Abstract 3"
    plural: Noun | None = None  # None: the noun in lower case, with an s
    block_threshold: float = Field(default=0.15, strict=True)  # evidence of lower quality blocks the classification

    def value_type(self) -> type[str]:
        """Return the type of the operation's values."""
        return str

    @field_validator("noun", "plural")
    @classmethod
    def _in_words(cls, noun: str | None) -> str | None:
        if noun is not None and (not noun.isprintable() or noun[-1].isdigit()):
            raise ValueError(f"{noun!r} is not a noun for numbered things, such as 'Email'")
        return noun

    @field_validator("block_threshold")
    @classmethod
    def _a_share(cls, threshold: float) -> float:
        if not 0 <= threshold <= 1:
            raise ValueError(f"block_threshold must be from 0 to 1, not {threshold!r}: write 0.15 for 15 %")
        return threshold
