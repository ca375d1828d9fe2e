"""Answer: the model generates, evaluates and refines an answer, until it is good enough."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator

from ..values.whole_number import WholeNumber
from ..values.words import Words
from .kind import OperationKind


class Answer(OperationKind):
    """Generate, evaluate and refine an answer. The value is the best answer, and the confidence is the answer's score.

    The detail is an `AnswerResult`. The prompt shows an item's fields as source data. The model also answers if an item
    has no fields.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    report_noun: ClassVar[str] = "answering"
    needs_record: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {
        "instruct": "Name the study's question.",
        "resp_format": "One sentence",
        "eval_crit": "True to the record",
    }

    operation: Literal["answer"] = "answer"
    instruct: Words
    resp_format: Words
    eval_crit: Words
    iter_max: WholeNumber = Field(default=3, ge=1, le=10)
    score_threshold: float = Field(
        default=0.8, strict=True
    )  # score of an accepted answer; 0.0 accepts every evaluated answer
    parallel_attempts: WholeNumber = Field(default=1, ge=1, le=10)  # answers in parallel in every iteration

    def value_type(self) -> type[str]:
        """Return the type of the operation's values."""
        return str

    @field_validator("score_threshold")
    @classmethod
    def _a_share(cls, threshold: float) -> float:
        if not 0 <= threshold <= 1:
            raise ValueError(f"score_threshold must be from 0 to 1, not {threshold!r}: write 0.8 for 80 %")
        return threshold
