"""The client: submits a batch and finds it again.

The ledger's code is imported on first use, so importing the client does not import SQLAlchemy.
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
    """The outcome for one batch, when several batches are retried together."""

    batch: Retriable
    items: int  # items in the new round
    refused: str | None = None  # reason why the batch has no new round


class Client(Session):
    """A client that submits batches and reads them. It holds connections until `close`.

    It is thread-safe. A client made before a fork works in the parent and in every child.

    >>> with Client() as client:
    ...     batch = client.submit(Filter(criteria="Is this about oncology?"), items)
    ...     batch.wait(timeout=600)
    """

    def __init__(self, settings: ProducerSettings | None = None, *, pool: PoolKind = CLIENT) -> None:
        """Prepare the client, which connects on first use.

        Raise `ConfigurationError` if no broker or ledger is configured.
        """
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
        """Write a whole batch to the ledger, dispatch its first shards (parts of the batch), and return the batch.

        Args:
            operation: the question about every item.
            items: dicts of JSON values, or a data frame of pandas, Polars or Arrow. Results have the same order. An
                iterator may be slow, and larger than memory. It is read to its end before anything is written.
            model: the model to ask. None: the model of the settings, else the workers' model.
            panel: several models and the rule that combines their answers, instead of `model`. Only an `Inclusion` or a
                `Filter` can have a panel.
            idempotency_key: submitting again with the same key and `api_key_id` returns the first batch.
            label: a name for people to read, for example a file's name.
            use_cache: reuse answers to the same questions from the ledger, at no cost. If False, every question is
                asked again, and the new answers replace older answers.
            shard_size: items of one shard. None: as in the settings.
            window: shards in flight at once, so at most `shard_size * window` items. None: as in the settings.
            exclusions: the reason for each item that no model is asked about, by the item's place from 0. These items
                are part of the batch, with the state `excluded_by_filter`.
            source: the database, register or other source of the items. With several sources, the items come in the
                order of the sources, `records` items from each.
            updates: the batch or review whose search this batch updates; reports count the records of both.
            priority: the batch's rank among the waiting batches.
            max_cost: budget in dollars. Workers pause the batch before a call that could exceed the rest of the budget.
                None: no budget.
            steering: reasoning effort, service tier, and further fields and headers of the requests. It overrides the
                workers' settings. The ledger stores the headers' values, so put secrets into the workers' settings.
            callback: the URL that receives the batch's events, such as its end. None: no callback.
            on_complete: a Celery signature that names its queue, instead of a callback. When the batch has ended, the
                task is sent with the outcome as its first argument.
            api_key_id: the gateway's key that submits the batch. None: no key.
            service: the service whose single calls the batch holds; such batches are shown together. None: a batch that
                people follow.

        If the broker does not answer, the batch is still in the ledger, and the workers dispatch it later.

        Raises:
            InvalidParameters: an item, an operation or an option is invalid or too large; the message names it. Also
                raised without any item, for a budget if a model's price is unknown, and for both a panel and a model.
                Nothing is written.
            IdempotencyConflict: the key was used for other content, or for a batch that may cost more than `max_cost`.
            NotAllowed: `api_key_id` may not ask this model, or has no money left this month. Nothing is written.
            InputError: TAMIS_PRICES names a file that cannot be read.
            ConfigurationError: the folder for temporary files is full, or Redis is a Redis Cluster. Nothing is written.
            LedgerUnavailable: the ledger does not answer. Nothing is written.
        """
        if idempotency_key is not None and not idempotency_key.strip():
            raise InvalidParameters("idempotency_key: it is blank; omit it or give it a name")
        bounds = SubmissionBounds.of(self.settings)
        if callback is not None and on_complete is not None:
            raise InvalidParameters("on_complete: a batch has a callback or on_complete, not both")
        question = with_panel(self.with_examples(cast(Operation, operation)), panel)
        models = batch_model(question, model, self.settings.batch_model)
        params = parameters(question, bounds=bounds)
        sources = as_sources(source)
        batch = NewBatch(
            operation=params["operation"],
            params=params,
            model=models,
            shard_size=_at_least_one("shard_size", shard_size, self.settings.shard_size),
            window=_at_least_one("window", window, self.settings.shard_window),
            label=label,
            idempotency_key=idempotency_key,
            use_cache=use_cache,
            sources=sources,
            updates=None if updates is None else self.first_batch(updates).uuid,
            priority=Priority(priority),
            max_cost=budget_of(max_cost, models_of(question, models), self.settings.prices),
            steering=steering,
            callback=callback if on_complete is None else sent_on_completion(on_complete, bounds=bounds),
            api_key_id=api_key_id,
            service=service,
            items=rows_of(  # last, because reading the items takes a while
                items, exclusions, sources=sources, bounds=bounds, operations=[question], waiting=self.waiting
            ),
        )
        return self.write(batch, lambda connection, traced, _: ledger.insert_batch(connection, traced))

    def write(self, batch: NewBatch, insert: Callable[[Connection, NewBatch, tracing.Span], UUID]) -> Batch[V_co]:
        """Write a batch by calling `insert` in a transaction, dispatch its first shards, and return the batch.

        A trace span covers the writing and the dispatch. Raises the errors of `insert`, and `LedgerUnavailable`.
        """
        about: dict[str, str | int] = {"tamis.operation": batch.operation, "tamis.items": len(batch.items)}
        self.ready()
        # A new trace, unless the caller already has one.
        with batch.items, tracing.span("tamis.submit", about, kind=tracing.SpanKind.PRODUCER) as submitted:
            with self.writing() as connection:
                batch_id = insert(connection, replace(batch, traceparent=tracing.traceparent()), submitted)
                first = self._take_first(connection, batch_id)
            submitted.set({"tamis.batch_id": str(batch_id)})
            self._dispatch(batch_id, first=first)
        return Batch(self, batch_id, replayed=batch_id != batch.id)

    def first_batch(self, of: str) -> Batch:
        """Return the batch with this id or, for a review's id, the first batch of the review.

        May raise `UnknownBatch` and `LedgerUnavailable`.
        """
        with self.reading() as connection:
            return Batch(self, ledger.find_first_batch(connection, of))

    def with_examples(self, operation: Operation) -> Operation:
        """Return an inclusion with people's decisions from the batch `examples_from` as examples for the model.

        Return any other operation, and an inclusion without `examples_from`, unchanged.

        `submit` does this too. A submitted batch keeps its examples, even if people later change their decisions.

        Raises:
            UnknownBatch: there is no such batch.
            InvalidParameters: the named batch asks another question, has no record that people included, or has no
                record that people excluded. Also raised if the criteria have examples already.
            Blinded: a decision in the named batch is hidden from the client's user.
            LedgerUnavailable: the ledger does not answer.
        """
        if not isinstance(operation, Inclusion) or operation.examples_from is None:
            return operation
        batch = self.batch(operation.examples_from)
        with self.reading() as connection:
            places = {override.index for override in ledger.read_overrides(connection, batch.uuid)}
        return with_examples(operation, batch.operation(), batch.id, batch.results(places))

    def batch(self, batch_id: str) -> Batch:
        """Return the batch with this id, or with this unique prefix. Raises `UnknownBatch`, `LedgerUnavailable`."""
        with self.reading() as connection:
            return Batch(self, ledger.find_batch(connection, batch_id))

    def batches(self, limit: int = 20) -> list[BatchView]:
        """Return the latest batches, newest first. May raise `LedgerUnavailable`.

        Batches that hold the single calls of services are omitted.
        """
        with self.reading() as connection:
            return ledger.read_views(connection, limit=limit)

    def service_traffic(self, hours: int = 24) -> list[ServiceTraffic]:
        """Return services' single calls of the last `hours` hours, added up by service and hour.

        May raise `LedgerUnavailable`.
        """
        with self.reading() as connection:
            return ledger.read_service_traffic(connection, hours=hours)

    @property
    def calls(self) -> SingleCalls:
        """The maker of calls about single items. It is created on first use, so submitting does not import asyncio."""
        with self._lock:
            if self._calls is None:
                from ..calls.single_calls import SingleCalls

                self._calls = SingleCalls(self.settings, self.submit, self._find_call)
            return self._calls

    def _find_call(self, call_id: UUID) -> tuple[UUID, int] | None:
        with self.reading() as connection:
            return ledger.find_call(connection, call_id)

    def retryable(self, kinds: Collection[ErrorKind | str] | None = None) -> list[runs.Retryable]:
        """Return the completed batches with items that failed with these `kinds` of error (None: any), oldest first.

        Services' batches are omitted, because their callers have received the errors. Raises `InvalidParameters` for an
        unknown kind, and `LedgerUnavailable`.
        """
        with self.reading() as connection:
            return runs.find_retryable(connection, kinds)

    def retry_all_failed(self, kinds: Collection[ErrorKind | str] | None = None) -> list[Retried[Batch]]:
        """Retry every batch that `retryable` returns, and return the outcome for each.

        If a batch cannot be retried, for example because its budget is used up, its outcome has the reason. The other
        batches are still retried. Raises `InvalidParameters` for an unknown kind, and `LedgerUnavailable`.
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
        """Return the live workers, longest running first. If the ledger does not answer, read their reports from Redis.

        Raises `LedgerUnavailable` if neither answers.
        """
        return runs.read_workers(self.engine, self._broker)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()
        super().close()

    def forget(self) -> object:
        """Start with new connections in the child of a fork; return the parent's connections."""
        calls, self._calls = self._calls, None
        return (calls, super().forget())


def _at_least_one(name: str, value: int | None, default: int) -> int:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameters(f"{name}: {value!r} is not a whole number from 1")
    return value
