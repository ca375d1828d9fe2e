"""The records of a batch: the history of a record, the failures, and the results as a data frame."""

from typing import Any

from tamis_producer.client.batch import Batch
from tamis_producer.results.result_frames import FrameLibrary, frame_of
from tamis_producer.runs.retry_bias import read_retry_bias
from tamis_schemas import RetryBias

from .decisions.visibility import check_record, visible
from .explanation import Explanation, read_explanation


def explain(batch: Batch, index: int) -> Explanation:
    """Return the whole history of an item: prompts, answers, rules and formulas, human decisions, and costs.

    Args:
        batch: the batch.
        index: the item's place in the batch, from 0.

    Raises:
        InvalidParameters: the batch has no such item.
        Blinded: a decision on the record is hidden from the client's user.
        LedgerUnavailable: the ledger does not answer.
    """
    with batch.session.snapshot() as connection:
        seen = check_record(connection, batch, index)
        story = read_explanation(connection, batch.uuid, index)
    return story if seen.audits else story.model_copy(update={"audits": ()})


def read_failures(batch: Batch) -> RetryBias:
    """Return the number of failures in each round, and whether failures depend on traits of the records.

    Each retry of a batch begins a new round. Traits that depend on decisions are omitted while a decision is hidden
    from the client's user. May raise `LedgerUnavailable`.
    """
    with batch.session.snapshot() as connection:
        return read_retry_bias(connection, batch.uuid, decisions=not visible(connection, batch).hidden)


def results_frame(batch: Batch, library: FrameLibrary | None = None) -> Any:
    """Return a data frame with a row for each item, in order, and the columns of the command `tamis results`.

    The columns `value` and `final_value` have the type of the operation's values. The fields of an extraction are JSON
    text. `library`: `pandas`, `polars` or `arrow` (a `pyarrow.Table`). None: the first of these that is installed.

    Raises `InvalidParameters` for another library, `ConfigurationError` if the library is not installed, and
    `LedgerUnavailable`.
    """
    return frame_of(batch.results(), batch.operation(), library)
