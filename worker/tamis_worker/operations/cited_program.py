"""The program of an extraction from the chunks that a search retrieved from a document.

First the model extracts the values. If the chunks may lack needed information, the model then names what is missing.
"""

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
from tamis_schemas.records.item import one_line, shown_value

from ..evaluation import ItemMetrics, grounding
from ..llm.chat import Message, Schema
from .answer_model import Decided, InvalidAnswer, StrictAnswer, UnitInterval, object_schema, validated
from .citing import TOKENS_OF_ANSWER, TOKENS_OF_VALUE
from .program import Answered, Asking, OperationProgram, Question, Unanswered, ask, ask_one
from .prompt import DATA_RULE, escape_headings, shown_chunks, source_data, two_messages

SHOWN = 10  # chunks, the first ones (spec 4)
VALUE_LENGTH = 300  # characters of a shown value
MISSING, MISSING_LENGTH = 5, 200  # missing parts, and characters of each
TOKENS, TOKENS_OF_FIELD = 200, 250  # that an answer may need

SYSTEM = f"""\
You are a retrieval evaluator. A search retrieved the numbered chunks of the source data from a document, and values
were extracted from them. The document may hold more than these chunks.
Judge whether the chunks hold all the information that is needed to answer what was asked for. Judge the chunks, not the
extracted values.
First name what is missing, in a few words each; nothing where nothing is. Then give a score:
- 1.0: the chunks hold everything that is needed
- 0.5: they hold a part of it
- 0.0: they hold none of it

{DATA_RULE}"""

_SCHEMA: Schema = object_schema(
    {
        "missing": {
            "type": "array",
            "items": {"type": "string", "maxLength": MISSING_LENGTH},
            "maxItems": MISSING,
        },
        "score": {"type": "number", "minimum": 0, "maximum": 1},
    }
)


class _Answer(StrictAnswer):
    missing: list[str]
    score: UnitInterval


class _Answers(StrictAnswer):
    fields: dict[str, _Answer]


def recall_question(
    instruction: str, fields: Mapping[str, str], values: Mapping[str, Any], chunks: Item, *, single: bool
) -> Question[dict[str, RecallAnswer]]:
    """Return the question whether the chunks contain all that each field needs. The answer has a part for each field.

    `fields` has each field's instruction by the field's name, and `values` has the extracted values by the same names.
    `chunks` are in the form that the model saw. If `single` is True, one value was requested: its field has the empty
    name.
    """
    shown = dict(list(chunks.items())[:SHOWN])
    for name in fields:
        value = values.get(name)
        extracted = "nothing was found" if value is None else shown_value(value)[:VALUE_LENGTH]
        shown[f"extracted value of {one_line(name)}" if name else "extracted value"] = extracted
    section = f"## Instruction\n{escape_headings(instruction)}"
    lines = [f"- {one_line(f'{name}: {words}' if words else name)}" for name, words in fields.items()]
    parts = ["\n".join(["## Fields", *lines])] if not single else []
    return Question(
        two_messages(SYSTEM, source_data(shown), section, *parts),
        schema_name="context_recall",
        schema=_SCHEMA if single else object_schema({"fields": object_schema(dict.fromkeys(fields, _SCHEMA))}),
        parse=lambda data: {"": _kept(validated(_Answer, data))} if single else _of_fields(set(fields), data),
        tokens=TOKENS + TOKENS_OF_FIELD * len(fields),
    )


def _of_fields(names: set[str], data: object) -> dict[str, RecallAnswer]:
    """Return the answer about each field. Raise `InvalidAnswer` if the answered fields are not exactly `names`."""
    answers = validated(_Answers, data).fields
    if set(answers) != names:
        raise InvalidAnswer(f"fields: given for {sorted(answers)}, asked for {sorted(names)}")
    return {name: _kept(answer) for name, answer in answers.items()}


def _kept(answer: _Answer) -> RecallAnswer:
    missing = tuple(part[:MISSING_LENGTH] for part in answer.missing if part.strip())
    return RecallAnswer(score=answer.score, missing=missing[:MISSING])


@dataclass(frozen=True)
class SourcedResult:
    """The values that a model extracted from chunks, with the chunks that state each value."""

    result: EvaluationResult | FieldsResult
    extractions: Mapping[str, tuple[Extraction, ...]]  # by field; the field of a single value has the empty name


@dataclass(frozen=True)
class ExtractionRequest:
    """The caller's instructions for an extraction."""

    instruction: str
    fields: Mapping[str, str]  # instruction for each field; a single value is a field with the empty name
    single: bool = False  # True: one value was requested, not fields
    by_presence: frozenset[str] = frozenset()  # enum fields: their evidence need not contain the value


def asks_over_chunks(
    messages: Callable[..., tuple[Message, ...]],
    response_schema: Callable[..., Schema],
    parse: Callable[[Asking, Retrieved, object], SourcedResult],
    request: Callable[[Asking], ExtractionRequest],
) -> Callable[..., OperationProgram]:
    """Return a function that makes the program of an extraction from chunks. Each value must cite its chunks.

    The four arguments are functions. For an operation, they return the messages to the model, the schema of the answer,
    the values in the answer, and the caller's instructions.
    """

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
    """Extract values, compute their metrics, and ask about recall if the estimated recall is low.

    Recall is the share of the needed information that the chunks hold. If the question about recall fails, the
    extracted values stay valid. `shown` is the item as sent to the model, with its chunks as fields.
    """
    sourced = yield from ask_one(question)
    passages = grounding.Passages(retrieved.numbered)
    extractions = {
        field: tuple(passages.validated(extraction, by_value=field not in request.by_presence) for extraction in cited)
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
