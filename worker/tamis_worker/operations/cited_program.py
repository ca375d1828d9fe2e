"""The program of an extraction from chunks: the extraction, and where recall is in doubt a question about that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
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
from tamis_schemas.operations import operation_name

from ..evaluation import grounding
from ..evaluation.item_metrics import ItemMetrics
from ..llm.chat import Message, Schema
from .answer_model import Decided
from .citing import TOKENS_OF_ANSWER, TOKENS_OF_VALUE, shown_chunks
from .program import Answered, Asking, OperationProgram, Question, Unanswered, ask, ask_one
from .recall_question import recall_question


@dataclass(frozen=True)
class SourcedResult:
    """A valid answer to an extraction from chunks."""

    result: EvaluationResult | FieldsResult
    extractions: Mapping[str, tuple[Extraction, ...]]  # by field; of one value under the empty name


@dataclass(frozen=True)
class ExtractionRequest:
    """The words of the caller that say what to extract."""

    instruction: str
    fields: Mapping[str, str]  # the instruction for each; of one value one field, of the empty name
    single: bool = False  # one value was asked for, not fields
    by_presence: frozenset[str] = frozenset()  # whose values need not stand in their evidence: of enums


def asks_over_chunks(
    messages: Callable[..., tuple[Message, ...]],
    response_schema: Callable[..., Schema],
    parse: Callable[[Asking, Retrieved, object], SourcedResult],
    request: Callable[[Asking], ExtractionRequest],
) -> Callable[..., OperationProgram]:
    """The program of an extraction from an item with chunks. It is asked to cite them: `cites=True`."""

    def program(operation: Asking, retrieved: Retrieved, shown: Item, *, recall_threshold: float) -> OperationProgram:
        requested = request(operation)
        question = Question(
            messages(operation, shown, cites=True),
            operation_name(type(operation)),
            response_schema(operation, cites=True),
            partial(parse, operation, retrieved),
            tokens=TOKENS_OF_ANSWER + TOKENS_OF_VALUE * len(requested.fields),
        )
        return cited_program(question, requested, retrieved, shown, recall_threshold=recall_threshold)

    return program


def cited_program(
    question: Question[SourcedResult],
    request: ExtractionRequest,
    retrieved: Retrieved,
    shown: Item,
    *,
    recall_threshold: float,
) -> OperationProgram:
    """The extraction, its metrics, and the question about recall where they ask for it.

    No failure of that question touches the result. `shown` is the item as it is sent, with its chunks as fields.
    """
    sourced = yield from ask_one(question)
    passages = grounding.Passages(retrieved.numbered)
    extractions = {
        field: tuple(passages.validated(each, by_value=field not in request.by_presence) for each in cited)
        for field, cited in sourced.extractions.items()
    }
    metrics = ItemMetrics(retrieved, extractions)
    in_doubt = metrics.in_doubt(recall_threshold)
    answers: dict[str, RecallAnswer] = {}
    unanswered = ""
    if in_doubt:
        fields = {name: request.fields[name] for name in in_doubt}
        values, chunks = _values(sourced.result), shown_chunks(shown, retrieved)
        (recall,) = yield from ask(recall_question(request.instruction, fields, values, chunks, single=request.single))
        match recall:
            case Answered(value=value):
                answers = value
            case Unanswered(kind=kind):
                unanswered = f"the question was not answered: {kind.value}"
    fields_cited = {field: FieldExtractions(extractions=cited) for field, cited in extractions.items()}
    return Decided(
        sourced.result,
        ExtractionDetail(fields=fields_cited, recall=answers),
        metrics.evaluations(answers, unanswered, in_doubt),
    )


def _values(result: EvaluationResult | FieldsResult) -> Mapping[str, Any]:
    return result.fields or {} if isinstance(result, FieldsResult) else {"": result.value}
