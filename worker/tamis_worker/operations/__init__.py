"""The operations: one pure module each, with its messages, its response schema and how its answer is read."""

from functools import partial

from tamis_schemas import (
    Answer,
    Extract,
    ExtractFields,
    Filter,
    Inclusion,
    Item,
    Judge,
    Operation,
    Score,
)
from tamis_schemas.records.item import shown_fields

from ..evaluation.recall import RECALL_THRESHOLD
from . import answer, citing, extract, extract_fields, inclusion, judge, score
from . import filter as filter_
from .answer_model import Decided, Failure, InvalidAnswer
from .dialogue import Course, single
from .fitting import Fitted, fitted

__all__ = ["Decided", "Failure", "Fitted", "InvalidAnswer", "course", "fitted", "lacks_content", "may_ask_again"]


def lacks_content(operation: Operation, item: Item) -> bool:
    """True where there is nothing to ask: the item holds nothing that a model could be shown, and must."""
    return not isinstance(operation, Answer) and not shown_fields(item)


def may_ask_again(operation: Operation, item: Item) -> bool:
    """True where further questions may follow from the first answers."""
    return isinstance(operation, Answer) or citing.retrieved(operation, item) is not None


def course(
    operation: Operation, item: Item, *, shown: Item | None = None, recall_threshold: float = RECALL_THRESHOLD
) -> Course:
    """The questions to ask about one item, and what their answers come to.

    `shown` is the item as it is sent, see `fitted`; None: whole. Answers are read against the item itself. Of an item
    with chunks a model is asked about the recall of a value where an estimate of it is under the threshold.
    """
    found = citing.retrieved(operation, item)
    if found is not None:
        sent = citing.chunks_as_fields(item, found) if shown is None else shown
        match operation:
            case Extract():
                return extract.course_over_chunks(operation, found, sent, recall_threshold=recall_threshold)
            case ExtractFields():
                return extract_fields.course_over_chunks(operation, found, sent, recall_threshold=recall_threshold)
    whole, item = item, item if shown is None else shown
    match operation:
        case Filter():
            shape = filter_.response_schema(operation)
            parse = partial(filter_.parse, operation)
            return single(filter_.messages(operation, item), operation.operation, shape, parse)
        case Score():
            shape = score.response_schema(operation)
            parse = partial(score.parse, operation)
            return single(score.messages(operation, item), operation.operation, shape, parse)
        case Extract():
            shape = extract.response_schema(operation)
            parse = partial(extract.parse, operation)
            return single(extract.messages(operation, item), operation.operation, shape, parse)
        case ExtractFields():
            shape = extract_fields.response_schema(operation)
            parse = partial(extract_fields.parse, operation)
            return single(extract_fields.messages(operation, item), operation.operation, shape, parse)
        case Inclusion():
            shape = inclusion.response_schema(operation)
            parse = partial(inclusion.parse, operation, whole)
            tokens = inclusion.answer_tokens(operation)
            return single(inclusion.messages(operation, item), operation.operation, shape, parse, tokens=tokens)
        case Judge():
            return judge.course(operation, whole, shown=item)
        case Answer():
            return answer.course(operation, item)
