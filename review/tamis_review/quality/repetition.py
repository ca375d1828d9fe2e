"""Repetition: a random sample of a batch's records is asked again, and both answers of each record are compared.

If the same model answers, the differences are due to chance. If another snapshot of the model answers, they also show
how far decisions depend on the snapshot.
"""

from collections import Counter
from decimal import Decimal
from uuid import UUID

from sqlalchemy import Connection, select

from tamis_producer.client.batch import Batch
from tamis_producer.client.client import Client
from tamis_schemas import Inclusion, InvalidRequest, ItemResult, Proportion, Steering, wilson
from tamis_schemas.ledger import batches, results
from tamis_schemas.operations import panel_of
from tamis_schemas.records.random_order import check_draw, sample
from tamis_schemas.values.frozen import Frozen


class Repetition(Frozen):
    """Records with two answers: the models that answered, and the share of records whose two answers are equal."""

    first: str | None  # model of the first answers, as the endpoint names it
    again: str | None  # model of the second answers
    same: Proportion  # records with equal answers


def ask_again(client: Client, batch: Batch, n: int, *, seed: int, max_cost: Decimal | None = None) -> Batch:
    """Submit a random sample of `n` decided records as a new batch that uses no cached answers. Return the new batch.

    The new batch has the same question and the same request options (the steering). The same `n` and `seed` draw the
    same sample, and return the same new batch. `max_cost` is the new batch's budget in dollars.

    Raises:
        InvalidParameters: `n` is below 1, or the seed is invalid.
        InvalidRequest: no record is decided.
        IdempotencyConflict: this `n` and `seed` were used before, when other records were decided.
        LedgerUnavailable: the ledger does not answer.
    """
    operation = batch.operation()
    if isinstance(operation, Inclusion):  # its examples were chosen when it was submitted
        operation = operation.model_copy(update={"examples_from": None})
    with client.reading() as connection:
        places = _drawn(connection, batch.uuid, n, seed)
        row = connection.execute(
            select(batches.c.label, batches.c.model, batches.c.steering).where(batches.c.id == batch.uuid)
        ).one()
    if not places:
        raise InvalidRequest(f"batch {batch.id} has no decided record to ask about again")
    return client.submit(
        operation,
        [record.item for record in batch.results(places)],
        model=None if panel_of(operation) else row.model,
        idempotency_key=f"again:{batch.id}:{seed}:{n}",
        label=f"sample of {row.label or batch.id}",
        use_cache=False,
        max_cost=max_cost,
        steering=Steering.model_validate(row.steering or {}),
    )


def compare_again(batch: Batch, again: Batch, n: int, *, seed: int) -> list[Repetition]:
    """Return how many second answers equal the first answers, for each pair of a first and a second model.

    `again`: the batch that `ask_again` returned for the same `n` and `seed`. Records without a second answer are not
    counted. May raise `LedgerUnavailable`.
    """
    with batch.session.reading() as connection:
        places = _drawn(connection, batch.uuid, n, seed)
    both: Counter[tuple[str | None, str | None]] = Counter()
    same: Counter[tuple[str | None, str | None]] = Counter()
    for first, second in zip(batch.results(places), again.results(), strict=True):
        if second.result is not None and second.error is None:
            models = _model(first), _model(second)
            both[models] += 1
            same[models] += first.value == second.value
    return [
        Repetition(first=models[0], again=models[1], same=wilson(same[models], count))
        for models, count in both.most_common()
    ]


def _drawn(connection: Connection, batch_id: UUID, n: int, seed: int) -> list[int]:
    check_draw(n, seed)
    decided = select(results.c.idx).where(results.c.batch_id == batch_id, results.c.error_kind.is_(None))
    return sample(connection.execute(decided).scalars(), n, seed=seed)


def _model(row: ItemResult) -> str | None:
    return None if row.provenance is None else row.provenance.model
