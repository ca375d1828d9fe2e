"""The data that a stage or search of a review passes on to the next: known records, and items to judge."""

from collections.abc import Iterator

from tamis_producer import ledger, runs
from tamis_producer.client.batch import Batch
from tamis_producer.client.client import Client
from tamis_schemas import InvalidRequest, Item
from tamis_schemas.batches.wire import SHORT_ID

from .filter.known_records import KnownRecords
from .plans.judge_items import judge_item


def has_later_stage(batch: Batch) -> bool:
    """Return whether the next stage of the batch's review has begun. May raise `LedgerUnavailable`.

    After its beginning, that stage receives no further records, for example from a retry of this batch.
    """
    with batch.session.reading() as connection:
        return runs.later_stage(connection, batch.uuid)


def known_records(client: Client, of: str) -> KnownRecords:
    """Return the records of an earlier batch or review. The function `identify` excludes their copies from a new batch.

    Raises `UnknownBatch` and `LedgerUnavailable`.
    """
    first = client.first_batch(of)
    with client.reading() as connection:
        return KnownRecords(f"batch {first.id[:SHORT_ID]}", ledger.read_known_records(connection, first.uuid))


def judge_items(batch: Batch) -> Iterator[Item]:
    """Yield an item for each result with a reasoning. The operation `judge` judges the evidence behind such an item.

    A result is omitted if a human changed it, or if the model found no value in the record.

    Raises `InvalidRequest` if the batch is not finished or has no result to judge, and `LedgerUnavailable`.
    """
    view = batch.status()
    if not view.finished:
        raise InvalidRequest(
            f"batch {batch.id} is {view.state.value}: judge it when it is finished. "
            f"`tamis status {batch.id} --watch` follows it"
        )
    any_reasoning = False
    for row in batch.results():
        if (item := judge_item(row)) is not None:
            any_reasoning = True
            yield item
    if not any_reasoning:
        raise InvalidRequest(
            f"batch {batch.id} has no result with a reasoning: there is nothing to judge. "
            f"`tamis results {batch.id}` shows its results"
        )
