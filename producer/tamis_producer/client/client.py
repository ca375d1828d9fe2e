"""The client: submit a batch, find one again.

What reads and writes the ledger is imported when the ledger is first used: to import the client takes no SQLAlchemy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from uuid import UUID

from tamis_schemas import (
    NO_STEERING,
    Callback,
    ErrorKind,
    Exclusion,
    Inclusion,
    InvalidParameters,
    InvalidRequest,
    Item,
    Operation,
    Priority,
    Source,
    Steering,
)
from tamis_schemas.operations import Panel, models_of
from tamis_schemas.values.checked_generic import V_co

from .. import ledger, runs
from ..config.settings import ProducerSettings
from ..ledger.batch_view import BatchView, ServiceTraffic
from ..ledger.pool_kinds import CLIENT, PoolKind
from ..ledger.worker_view import WorkerView
from ..process import tracing
from ..process.forks import begin_anew_after_a_fork
from ..submission.asked_models import batch_model, with_panel
from ..submission.bounds import SubmissionBounds
from ..submission.budget import budget_of
from ..submission.new_batch import NewBatch, as_sources, parameters, rows_of, sent_on_completion
from ..submission.worked_examples import with_examples
from .batch import Batch
from .session import Session

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tamis_schemas.operations import TypedOperation

    from ..calls.single_calls import SingleCalls
    from ..submission.frames import DataFrame

log = logging.getLogger(__name__)


Retriable = TypeVar("Retriable")


@dataclass(frozen=True)
class Retried(Generic[Retriable]):
    """The outcome of retrying a batch together with others."""

    batch: Retriable
    items: int  # asked about again
    refused: str | None = None  # why there are none


class Client(Session):
    """Enqueues batches and reads them back; holds connections until `close`.

    Thread-safe. One that was made before a fork works in the parent and in every child.

    >>> with Client() as client:
    ...     batch = client.submit(Filter(criteria="Is this about oncology?"), items)
    ...     batch.wait(timeout=600)
    """

    def __init__(self, settings: ProducerSettings | None = None, *, pool: PoolKind = CLIENT) -> None:
        """Raises `ConfigurationError` where no broker or ledger is named; connects on first use."""
        super().__init__(settings, pool=pool)
        self._calls: SingleCalls | None = None
        begin_anew_after_a_fork(self)

    def submit(
        self,
        operation: TypedOperation[V_co],
        items: Iterable[Item] | DataFrame,
        *,
        model: str | None = None,
        panel: Panel | None = None,
        idempotency_key: str | None = None,
        label: str | None = None,
        use_cache: bool = True,
        shard_size: int | None = None,
        window: int | None = None,
        exclusions: Mapping[int, Exclusion] | None = None,
        source: Source | Sequence[Source] | None = None,
        updates: str | None = None,
        priority: Priority = Priority.NORMAL,
        max_cost: Decimal | None = None,
        steering: Steering = NO_STEERING,
        callback: Callback | None = None,
        on_complete: Mapping[str, Any] | None = None,
        api_key_id: str | None = None,
        service: str | None = None,
    ) -> Batch[V_co]:
        """The batch, once it is in the ledger as a whole; its first shards are dispatched.

        Args:
            operation: what to ask of every item.
            items: dicts of JSON values, or a data frame of pandas, Polars or Arrow; their order is the order of the
                results. An iterator is read once, and to its end before anything is written: it may be slow, and larger
                than memory.
            model: the model to ask; None: the one of the settings, else the workers' own.
            panel: the models to ask in the place of one, and how one decision is made of their words: of an `Inclusion`
                or a `Filter`, whose own `panel` it sets.
            idempotency_key: submitting the same key again returns the first batch of this `api_key_id`.
            label: what people call the batch, for example a file's name.
            use_cache: take answers to the same questions from the ledger, at no cost. Without it every question is
                asked anew; the new answers are kept in the place of older ones.
            shard_size: items of one shard; None: as in the settings.
            window: shards in flight at once, so `shard_size * window` items at most; None: as in the settings.
            exclusions: the places, from 0, of items that no model is asked about, and why (duplicates, tier 1). They
                stand in the batch all the same, as `excluded_by_filter`.
            source: the database, register or other place from which the items come. Of several the items stand in the
                order of the sources, from each as many as its `records`.
            updates: the batch, or the review, whose search this one brings up to date; reports count what both found.
            priority: who goes first where several batches wait.
            max_cost: dollars that the batch may cost; the workers pause it before a call that could cost more than is
                left, and what is not asked by then stays pending. None: no budget.
            steering: reasoning effort, further fields and headers, and the tier, over what the workers are set to.
                It is kept in the ledger, values of headers too: secrets belong into the workers' settings.
            callback: whom to tell of its end; None: nobody.
            on_complete: a Celery signature that names its queue, in the place of a callback: the task is sent once the
                batch is complete, or cancelled and at its end, with what came of it as its first argument.
            api_key_id: the gateway's key on whose behalf it is submitted; None: no key.
            service: whose single calls the batch holds; such batches are shown together. None: one that people follow.

        Where the broker does not answer, the batch is in the ledger all the same and the workers dispatch it later.

        Raises:
            InvalidParameters: an item that JSON or Postgres cannot hold, items or parameters larger than the settings
                allow, no item at all, an exclusion of an item that is not there, several sources that do not say whose
                the items are, a shard size or window below 1, a budget for a model whose price is not known, or a
                panel beside a model, or for an operation that decides nothing.
                Nothing is written.
            IdempotencyConflict: the key was used for other content, or for a batch that may cost more than `max_cost`.
            NotAllowed: `api_key_id` may not ask this model, or has no money left this month. Nothing is written.
            InputError: TAMIS_PRICES names a file that cannot be read.
            ConfigurationError: the folder for temporary files is full. Nothing is written.
            LedgerUnavailable: the ledger does not answer. Nothing is written.
        """
        if idempotency_key is not None and not idempotency_key.strip():
            raise InvalidParameters("idempotency_key: it is blank; leave it out or give it a name")
        bounds = SubmissionBounds.of(self.settings)
        if callback is not None and on_complete is not None:
            raise InvalidParameters("on_complete: there is a callback, too; of the two a batch has one")
        asked = with_panel(self.with_examples(cast(Operation, operation)), panel)
        asked_of = batch_model(asked, model, self.settings.batch_model)
        params = parameters(asked, bounds=bounds)
        sources = as_sources(source)
        batch = NewBatch(
            operation=params["operation"],
            params=params,
            model=asked_of,
            shard_size=_at_least_one("shard_size", shard_size, self.settings.shard_size),
            window=_at_least_one("window", window, self.settings.shard_window),
            label=label,
            idempotency_key=idempotency_key,
            use_cache=use_cache,
            sources=sources,
            updates=None if updates is None else self.first_batch(updates).uuid,
            priority=Priority(priority),
            max_cost=budget_of(max_cost, models_of(asked, asked_of), self.settings.prices),
            steering=steering,
            callback=callback if on_complete is None else sent_on_completion(on_complete, bounds=bounds),
            api_key_id=api_key_id,
            service=service,
            items=rows_of(  # last: it takes a while
                items, exclusions, sources=sources, bounds=bounds, operations=[asked], waiting=self.waiting
            ),
        )
        return self.write(batch, lambda connection, traced, _: ledger.insert_batch(connection, traced))

    def write(self, batch: NewBatch, insert: Callable[[Connection, NewBatch, tracing.Span], UUID]) -> Batch[V_co]:
        """Return the batch that `insert` writes, within the span of its submission; its first shards are dispatched.

        `insert` runs in a transaction. Raises what it raises, and `LedgerUnavailable`.
        """
        about: dict[str, str | int] = {"tamis.operation": batch.operation, "tamis.items": len(batch.items)}
        # The root of the batch's trace, unless the caller has one that it belongs to.
        with batch.items, tracing.span("tamis.submit", about, kind=tracing.SpanKind.PRODUCER) as submitted:
            with self.writing() as connection:
                batch_id = insert(connection, replace(batch, traceparent=tracing.traceparent()), submitted)
            submitted.set({"tamis.batch_id": str(batch_id)})
            self.dispatch(batch_id)
        return Batch(self, batch_id, replayed=batch_id != batch.id)

    def first_batch(self, of: str) -> Batch:
        """Return the batch of this id, or the first stage of the review. Raises `UnknownBatch`, `LedgerUnavailable`."""
        with self.reading() as connection:
            return Batch(self, ledger.find_first_batch(connection, of))

    def with_examples(self, operation: Operation) -> Operation:
        """An inclusion that names a batch to take examples from, with them; any other operation as it is.

        Submitting does it too, and what is submitted keeps its examples, whatever people decide later.

        Raises:
            UnknownBatch: there is no such batch.
            InvalidParameters: it is no inclusion of the same question, or nobody included one of its records and
                excluded another; or the criteria bring examples of their own.
            LedgerUnavailable: the ledger does not answer.
        """
        if not isinstance(operation, Inclusion) or operation.examples_from is None:
            return operation
        batch = self.batch(operation.examples_from)
        with self.reading() as connection:
            places = {override.index for override in ledger.read_overrides(connection, batch.uuid)}
        return with_examples(operation, batch.operation(), batch.id, batch.results(places))

    def batch(self, batch_id: str) -> Batch:
        """The batch of this id, or of the only id that begins so. Raises `UnknownBatch`, `LedgerUnavailable`."""
        with self.reading() as connection:
            return Batch(self, ledger.find_batch(connection, batch_id))

    def batches(self, limit: int = 20) -> list[BatchView]:
        """The latest batches, newest first, without those of services. Raises `LedgerUnavailable`."""
        with self.reading() as connection:
            return ledger.read_views(connection, limit=limit)

    def service_traffic(self, hours: int = 24) -> list[ServiceTraffic]:
        """The single calls of services in the last hours, counted by service and hour. Raises `LedgerUnavailable`."""
        with self.reading() as connection:
            return ledger.read_service_traffic(connection, hours=hours)

    @property
    def calls(self) -> SingleCalls:
        """The single calls of this client; a caller that only submits need not wait for asyncio to be imported."""
        with self._lock:
            if self._calls is None:
                from ..calls.single_calls import SingleCalls

                self._calls = SingleCalls(self.settings, self.submit)
            return self._calls

    def retryable(self, kinds: Collection[ErrorKind | str] | None = None) -> list[runs.Retryable]:
        """Every completed batch with failed items, of these kinds where some are given; the oldest first.

        Without those of services, whose callers have had their errors.
        Raises `InvalidParameters` for an unknown kind, and `LedgerUnavailable`.
        """
        with self.reading() as connection:
            return runs.find_retryable(connection, kinds)

    def retry_all_failed(self, kinds: Collection[ErrorKind | str] | None = None) -> list[Retried[Batch]]:
        """A new round of every completed batch with failed items, of these kinds where some are given.

        What refuses (a budget that is used up, a batch that somebody else retried meanwhile) says why, and does not
        stop the others. Raises `InvalidParameters` for an unknown kind, and `LedgerUnavailable`.
        """
        done = []
        for candidate in self.retryable(kinds):
            batch = Batch(self, candidate.batch_id)
            try:
                done.append(Retried(batch, batch.retry(kinds)))
            except InvalidRequest as refused:
                done.append(Retried(batch, 0, str(refused)))
        return done

    def workers(self) -> list[WorkerView]:
        """The workers that are there, the longest there first; while the ledger is away, as they say in Redis.

        Raises `LedgerUnavailable` where neither answers.
        """
        return runs.read_workers(self.engine, self._broker)

    def close(self) -> None:
        """Give every connection back."""
        with self._lock:
            calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()
        super().close()

    def forget(self) -> object:
        """Begin anew with connections of its own, in the child of a fork; returns what is the parent's."""
        calls, self._calls = self._calls, None
        return (calls, super().forget())


def _at_least_one(name: str, value: int | None, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameters(f"{name}: {value!r} is no whole number from 1")
    return value
