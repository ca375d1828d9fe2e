"""The operations on records. Each operation's module has its messages, and the schema and parser of its answers."""

from collections.abc import Callable

from tamis_schemas import Answer, Extract, ExtractFields, Filter, Inclusion, Item, Judge, Operation, Score
from tamis_schemas.operations import OperationKind, panel_of
from tamis_schemas.records.item import shown_fields

from ..evaluation import RECALL_THRESHOLD
from . import answer, extract, extract_fields, inclusion, judge, score
from . import filter as filter_
from .answer_model import Decided, Failure, InvalidAnswer
from .panel import panel_program
from .program import OperationProgram
from .prompt import Fitted, chunks_as_fields, fitted, retrieved_for

__all__ = ["Decided", "Failure", "Fitted", "InvalidAnswer", "fitted", "lacks_content", "may_ask_again", "program_of"]

# The program of each operation for an item; the first argument is the operation itself.
PROGRAMS: dict[type[OperationKind], Callable[..., OperationProgram]] = {
    Filter: filter_.program,
    Score: score.program,
    Extract: extract.program,
    ExtractFields: extract_fields.program,
    Inclusion: inclusion.program,
    Judge: judge.program,
    Answer: answer.program,
}
PROGRAMS_OVER_CHUNKS: dict[type[OperationKind], Callable[..., OperationProgram]] = {  # with `reads_chunks`
    Extract: extract.program_over_chunks,
    ExtractFields: extract_fields.program_over_chunks,
}


def lacks_content(operation: Operation, item: Item) -> bool:
    """Return True if a model must see the item, but the item has nothing to show."""
    return operation.needs_record and not shown_fields(item)


def may_ask_again(operation: Operation, item: Item) -> bool:
    """Return True if a model's first answers about an item may lead to further questions."""
    return isinstance(operation, Answer) or retrieved_for(operation, item) is not None


def program_of(
    operation: Operation, item: Item, *, shown: Item | None = None, recall_threshold: float = RECALL_THRESHOLD
) -> OperationProgram:
    """Return the program of an operation for one item: a generator that yields questions and evaluates the answers.

    `shown` is the item as sent to the model, perhaps shortened. If `shown` is None, the whole item is sent. The model's
    quotes are always looked up in the whole item. If the item has chunks, each value has an estimated recall: how much
    of the needed information the chunks hold. Below `recall_threshold`, a model judges the recall instead.
    """
    retrieved = retrieved_for(operation, item)
    if retrieved is not None:
        sent = chunks_as_fields(item, retrieved) if shown is None else shown
        return PROGRAMS_OVER_CHUNKS[type(operation)](operation, retrieved, sent, recall_threshold=recall_threshold)
    program = PROGRAMS[type(operation)](operation, item, shown=item if shown is None else shown)
    panel = panel_of(operation)
    if panel is None:
        return program
    (question,) = next(program)  # an operation with a panel asks one question
    program.close()
    return panel_program(operation, panel, question)
