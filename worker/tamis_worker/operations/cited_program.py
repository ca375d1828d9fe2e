"""The program of an extraction from chunks: the extraction, and where recall is in doubt a question about that."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tamis_schemas import (
    EvaluationResult,
    Extraction,
    ExtractionDetail,
    FieldExtractions,
    FieldsResult,
    Item,
    RecallAnswer,
    Retrieved,
)

from ..evaluation import grounding, of_item
from . import recall_question
from .answer_model import Decided
from .citing import TOKENS_OF_ANSWER, TOKENS_OF_VALUE, shown_chunks
from .program import Answered, OperationProgram, Question, Unanswered, answered, asked


@dataclass(frozen=True)
class Sourced:
    """A valid answer to an extraction from chunks."""

    result: EvaluationResult | FieldsResult
    extractions: Mapping[str, tuple[Extraction, ...]]  # by field; of one value under the empty name


@dataclass(frozen=True)
class Wanted:
    """What was asked for."""

    words: str  # the caller's
    fields: Mapping[str, str]  # what was said of each; of one value one field, of the empty name
    single: bool = False  # one value was asked for, not fields
    by_presence: frozenset[str] = frozenset()  # whose values need not stand in their evidence: of enums


def tokens(fields: int) -> int:
    """The tokens that an answer with the extractions for so many fields may need."""
    return TOKENS_OF_ANSWER + TOKENS_OF_VALUE * fields


def cited_program(
    question: Question[Sourced], wanted: Wanted, found: Retrieved, shown: Item, *, recall_threshold: float
) -> OperationProgram:
    """The extraction, its metrics, and the question about recall where they ask for it.

    No failure of that question touches the result. `shown` is the item as it is sent, with its chunks as fields.
    """
    sourced = yield from answered(question)
    passages = grounding.Passages(found.numbered)
    extractions = {
        name: tuple(passages.validated(one, by_value=name not in wanted.by_presence) for one in given)
        for name, given in sourced.extractions.items()
    }
    metrics = of_item.ItemMetrics(found, extractions)
    to_ask = metrics.to_ask(recall_threshold)
    answers: dict[str, RecallAnswer] = {}
    unanswered = ""
    if to_ask:
        fields = {name: wanted.fields[name] for name in to_ask}
        of_recall = recall_question.recall_question(
            wanted.words, fields, _values(sourced.result), shown_chunks(shown, found), single=wanted.single
        )
        (reading,) = yield from asked(of_recall)
        match reading:
            case Answered(value=value):
                answers = value
            case Unanswered(kind=kind):
                unanswered = f"the question was not answered: {kind.value}"
    return Decided(
        sourced.result,
        ExtractionDetail(
            fields={name: FieldExtractions(extractions=given) for name, given in extractions.items()},
            recall=answers,
        ),
        metrics.evaluations(answers, unanswered, to_ask),
    )


def _values(result: EvaluationResult | FieldsResult) -> Mapping[str, Any]:
    return result.fields or {} if isinstance(result, FieldsResult) else {"": result.value}
