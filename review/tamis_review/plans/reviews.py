"""The functions with which programs submit, watch and control a review."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from uuid import UUID

from sqlalchemy import Connection, select

from tamis_producer import ledger
from tamis_producer.client.batch import Batch, watch_to_end
from tamis_producer.client.client import Client
from tamis_producer.client.session import Session
from tamis_producer.ledger.batch_view import ReviewView
from tamis_producer.process import tracing
from tamis_producer.submission.bounds import SubmissionBounds
from tamis_producer.submission.budget import budget_of
from tamis_producer.submission.frames import DataFrame
from tamis_producer.submission.new_batch import NewBatch, as_sources, parameters, rows_of
from tamis_schemas import (
    NO_STEERING,
    BatchStatus,
    Callback,
    Exclusion,
    IllegalTransition,
    Item,
    Priority,
    ReviewPlan,
    Source,
    Steering,
)
from tamis_schemas.ledger import batches, reviews
from tamis_schemas.operations import models_of

from .stages import Begun, begin, begin_next


class Review:
    """A handle on a review in the ledger. Any number of handles may exist for a review, in any process."""

    def __init__(self, session: Session, review_id: UUID, *, replayed: bool = False) -> None:
        self.session = session  # of the client
        self.uuid = review_id
        self.replayed = replayed  # whether plan and records were submitted before

    @property
    def id(self) -> str:
        """Return the review's id, a UUID as text."""
        return str(self.uuid)

    def status(self) -> ReviewView:
        """Return the review's current state, with all stages at the same moment. May raise `LedgerUnavailable`."""
        with self.session.snapshot() as connection:
            return ledger.read_reviews(connection, review_id=self.uuid)[0]

    def stages(self) -> list[Batch]:
        """Return the batches of the begun stages, in order. May raise `LedgerUnavailable`."""
        return [Batch(self.session, UUID(view.id)) for view in self.status().stages]

    def watch(self, timeout: float | None = None) -> Iterator[ReviewView]:
        """Yield the review's state until nothing more happens: at first at short intervals, later every second.

        Raises:
            BatchPaused: the current stage waits until a person corrects something.
            WaitTimeout: `timeout` seconds have passed; the review continues.
            LedgerUnavailable: the ledger does not answer.
        """
        return watch_to_end(
            self.session,
            self.status,
            timeout,
            stage=lambda view: view.stages[-1],
            late=lambda view: (
                f"review {self.id} is still in stage {len(view.stages)} of {len(view.planned)} after {timeout:g} s. "
                f"It continues: `tamis review status {self.id} --watch` follows it"
            ),
        )

    def wait(self, timeout: float | None = None) -> ReviewView:
        """Wait until nothing more happens, and return the last state. Raise the errors of `watch`."""
        return deque(self.watch(timeout), maxlen=1).pop()

    def pause(self) -> None:
        """Pause the review's current stage. Raise the errors of `Batch.pause`."""
        self._in_stage("pause", Batch.pause)

    def resume(self, max_cost: Decimal | None = None) -> None:
        """Resume the paused stage. `max_cost`: a new budget in dollars. Raise the errors of `Batch.resume`."""
        self._in_stage("resume", lambda batch: batch.resume(max_cost))

    def cancel(self) -> None:
        """Cancel the review's current stage. No later stage begins. Raise the errors of `Batch.cancel`."""
        self._in_stage("cancel", Batch.cancel)

    def set_priority(self, priority: Priority | str) -> None:
        """Set the priority of the current stage and all later stages. Raise the errors of `Batch.set_priority`."""
        self._in_stage("prioritise", lambda batch: batch.set_priority(priority))

    def _in_stage(self, verb: str, act: Callable[[Batch], None]) -> None:
        while True:
            stage = self._stage(verb)
            try:
                act(Batch(self.session, stage))
                return
            except IllegalTransition:
                if self._stage(verb) == stage:
                    raise  # else the stage has just completed, and the review is in the next stage

    def _stage(self, verb: str) -> UUID:
        with self.session.writing() as connection:
            stage = _current_stage(connection, self.uuid)
        if stage is None:
            raise IllegalTransition(
                f"review {self.uuid} is finished: there is nothing to {verb}; `tamis review status {self.uuid}` shows "
                "its outcome"
            )
        return stage


def submit_review(
    client: Client,
    plan: ReviewPlan,
    items: Iterable[Item] | DataFrame,
    *,
    label: str,
    use_cache: bool = True,
    exclusions: Mapping[int, Exclusion] | None = None,
    source: Source | Sequence[Source] | None = None,
    updates: str | None = None,
    again: bool = False,
    priority: Priority = Priority.NORMAL,
    steering: Steering = NO_STEERING,
    callback: Callback | None = None,
    api_key_id: str | None = None,
) -> Review:
    """Write a review and its first stage to the ledger, and return the review. The workers begin each later stage.

    If the same plan with the same records was submitted before, the existing review is returned, in any state. With
    `again`, a new review always begins. A stage without a model uses the model of the settings or, if the settings have
    none, the workers' model. `steering` overrides the steering of every stage. Other arguments and errors are as in
    `Client.submit`.
    """
    settings = client.settings
    plan = plan.asking(settings.batch_model).steered(steering).with_operations(client.with_examples)
    plan.each(lambda stage: budget_of(stage.max_cost, models_of(stage.operation, stage.model), settings.prices))
    bounds = SubmissionBounds.of(settings)
    params, *_ = plan.each(lambda stage: parameters(stage.operation, bounds=bounds))
    operations = [stage.operation for stage in plan.stages]
    sources = as_sources(source)
    begun: list[Begun] = []

    def insert(connection: Connection, first: NewBatch, submitted: tracing.Span) -> UUID:
        begun.append(begin(connection, plan, first, label=label, again=again))
        submitted.set({"tamis.review_id": str(begun[-1].review_id)})
        return begun[-1].batch_id

    first = NewBatch(
        operation=params["operation"],
        params=params,
        model=plan.stages[0].asked_of,
        items=rows_of(items, exclusions, sources=sources, bounds=bounds, operations=operations, waiting=client.waiting),
        shard_size=settings.shard_size,
        window=settings.shard_window,
        label=f"{label}: {plan.stages[0].name}",
        use_cache=use_cache,
        sources=sources,
        updates=None if updates is None else client.first_batch(updates).uuid,
        priority=Priority(priority),
        max_cost=plan.stages[0].max_cost,
        steering=plan.stages[0].steering,
        callback=callback,
        api_key_id=api_key_id,
    )
    batch: Batch = client.write(first, insert)
    return Review(client, begun[-1].review_id, replayed=batch.replayed)


def find_review(client: Session, review_id: str) -> Review:
    """Return the only review whose id begins with `review_id`. May raise `LedgerUnavailable`.

    Raises `UnknownBatch` if there is no such review, and `InvalidRequest` if there are several.
    """
    with client.reading() as connection:
        return Review(client, ledger.find_review(connection, review_id))


def list_reviews(client: Session, limit: int = 20) -> list[ReviewView]:
    """Return the latest reviews, newest first. May raise `LedgerUnavailable`."""
    with client.snapshot() as connection:
        return ledger.read_reviews(connection, limit=limit)


def find_batch_or_review(client: Session, prefix: str) -> Batch | Review:
    """Return the only batch or review whose id begins with `prefix`. May raise `LedgerUnavailable`.

    Raises `UnknownBatch` if there is none, and `InvalidRequest` if there are several.
    """
    with client.reading() as connection:
        match = ledger.find_either(connection, prefix)
    if match.review_id is not None:
        return Review(client, match.review_id)
    assert match.batch_id is not None  # noqa: S101 - either is set
    return Batch(client, match.batch_id)


def _current_stage(connection: Connection, review_id: UUID) -> UUID | None:
    """Return a review's current batch, or None if the review is finished.

    If the last begun stage is completed, begin the next stage.
    """
    latest = (
        select(batches.c.id, batches.c.state, reviews.c.finished_at)
        .join(reviews, reviews.c.id == batches.c.review_id)
        .where(reviews.c.id == review_id)
        .order_by(batches.c.stage.desc())
        .limit(1)
    )
    stage = connection.execute(latest).one()
    latest_begun = UUID(str(stage.id))
    if stage.finished_at is not None:
        return None
    return begin_next(connection, latest_begun) if stage.state == BatchStatus.COMPLETED else latest_begun
