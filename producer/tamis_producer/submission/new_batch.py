"""A batch before it is in the ledger: its operation, its items as JSON text, and what identifies its content."""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import accumulate
from typing import Any
from uuid import UUID, uuid4

from tamis_schemas import (
    NO_STEERING,
    Callback,
    Exclusion,
    InvalidParameters,
    Item,
    Operation,
    Pause,
    Priority,
    Retrieved,
    Source,
    Steering,
    resolve_item_id,
)
from tamis_schemas.batches.callback import OnComplete
from tamis_schemas.operations import OPERATIONS, as_asked_for
from tamis_schemas.records.item import ID_FIELDS
from tamis_schemas.values.unstorable import UNSTORABLE, to_json

from ..process.waiting import ON_THREAD, Waiting
from .bounds import LONGEST_ID, SubmissionBounds
from .frames import DataFrame, items_of
from .spool import Spool

SHOWN_ID = 80  # characters of an id in a message


@dataclass(frozen=True)
class NewItem:
    """One row to be written: the payload is JSON text."""

    item_id: str
    payload: str
    exclusion: Exclusion | None = None  # why no model is asked about it; None: one is
    origin: int | None = None  # in a later stage of a review: the record's place in the first one
    source: int | None = None  # place among the batch's sources, from 0; None: it has no more than one

    @classmethod
    def of(
        cls,
        item: Item,
        *,
        exclusion: Exclusion | None = None,
        origin: int | None = None,
        source: int | None = None,
    ) -> "NewItem":
        """The row of an item. Raises `ValueError` for what JSON or Postgres cannot hold."""
        return cls(resolve_item_id(item), to_json(item), exclusion, origin, source)


@dataclass(frozen=True)
class Stage:
    """A batch's place in a review."""

    review_id: UUID
    number: int  # from 0


@dataclass(frozen=True)
class NewBatch:
    """A batch as it is submitted."""

    operation: str
    params: dict[str, Any]
    model: str | None
    items: Spool[NewItem]
    shard_size: int
    window: int
    label: str | None = None
    idempotency_key: str | None = None
    use_cache: bool = True
    sources: tuple[Source, ...] = ()
    updates: UUID | None = None  # the batch whose search it brings up to date; None: none
    stage: Stage | None = None
    priority: Priority = Priority.NORMAL
    max_cost: Decimal | None = None  # dollars; None: no budget
    steering: Steering = NO_STEERING
    traceparent: str | None = None  # of the trace that it is submitted in; None: in none
    api_key_id: str | None = None  # the gateway's key that it is submitted with; None: with none
    service: str | None = None  # whose single calls it holds; None: it is a batch that people follow
    callback: Callback | OnComplete | None = None  # whom to tell of its end; None: nobody
    pause: Pause | None = None  # why it is paused as soon as it is there; None: it is not
    id: UUID = field(default_factory=uuid4)

    def __post_init__(self) -> None:
        """Raises `InvalidParameters` for a text that the ledger cannot store."""
        for name in ("model", "label", "idempotency_key"):
            if UNSTORABLE.search(getattr(self, name) or ""):
                raise InvalidParameters(f"{name}: it holds a character that the ledger cannot store")

    @cached_property
    def content_sha256(self) -> str:
        """The digest of operation, model, steering, items and exclusions: what an idempotency key stands for.

        Not of priority, budget and tier: they say how the same work is done, and the first two may change while it is.
        Nor of examples that were chosen from another batch: people may have decided more there since.
        """
        params, steering = as_asked_for(self.params), self.steering.content
        question = [params, self.model, steering] if steering else [params, self.model]
        digest = hashlib.sha256(to_json(question).encode())
        for row in self.items:
            digest.update(b"\x00")
            digest.update(row.payload.encode())
            if row.exclusion is not None:
                digest.update(b"\x01")
                digest.update(row.exclusion.model_dump_json().encode())
        return digest.hexdigest()


def as_sources(source: Source | Sequence[Source] | None) -> tuple[Source, ...]:
    """Return one source, several or none as the sources of a batch."""
    return (source,) if isinstance(source, Source) else tuple(source or ())


def _ends_of(sources: Sequence[Source]) -> Sequence[int]:
    """The place behind the last item of each source; none where there is nothing to tell apart."""
    if len(sources) < 2:
        return ()
    if uncounted := [source.name for source in sources if source.records is None]:
        raise InvalidParameters(
            f"source: {uncounted[0]!r} does not say how many of the items are its: set its `records`"
        )
    return tuple(accumulate(source.records or 0 for source in sources))


def rows_of(
    items: Iterable[Item] | DataFrame,
    exclusions: Mapping[int, Exclusion] | None = None,
    *,
    sources: Sequence[Source] = (),
    bounds: SubmissionBounds | None = None,
    operations: Iterable[Operation] = (),
    waiting: Waiting = ON_THREAD,
) -> Spool[NewItem]:
    """The rows of items, or of a data frame, in their order; in constant memory, however many there are.

    Those whose place, from 0, has an exclusion are kept out. Of several `sources` the items come in their order, from
    each as many as it says. Where one of the `operations` extracts, `chunks` and `retrieval` of an item are checked
    too. Without bounds, the usual ones hold.

    No more items are taken than one beyond the bound, so `items` may be without end. What they raise is raised.

    Raises:
        InvalidParameters: no item at all or too many, one that JSON or Postgres cannot hold or that is too large,
            chunks that are none, an exclusion without an item, or sources that do not say whose the items are.
        ConfigurationError: the folder for temporary files cannot take them.
    """
    exclusions, bounds, ends = exclusions or {}, bounds or SubmissionBounds.usual(), _ends_of(sources)
    extracts = any(operation.reads_chunks for operation in operations)
    rows: Spool[NewItem] = Spool(waiting)
    for index, item in enumerate(waiting.in_turns(items_of(items))):
        bounds.check_count(index + 1)
        if not isinstance(item, dict):
            raise InvalidParameters(f"item {index}: a {type(item).__name__}, not a dict (convert objects first)")
        try:
            bounds.check_shape(item)  # first: whatever else looks at the item looks at all of it
            source = bisect_right(ends, index) if ends else None
            row = NewItem.of(item, exclusion=exclusions.get(index), source=source)
            bounds.check_row(item, row.item_id, row.payload)
            if extracts:
                Retrieved.of(item)
        except (TypeError, ValueError) as error:
            raise InvalidParameters(f"item {index}{_named(item)}: {error}") from error
        rows.append(row, len(row.payload))
    if not len(rows):
        raise InvalidParameters("items: there are none; an empty batch has nothing to decide")
    if stray := [place for place in exclusions if place not in range(len(rows))]:
        raise InvalidParameters(f"exclusions: {min(stray)} is the place of no item; there are {len(rows)}")
    if ends and ends[-1] != len(rows):
        raise InvalidParameters(f"source: the sources have {ends[-1]} records, but there are {len(rows)} items")
    return rows


def parameters(operation: Operation, *, bounds: SubmissionBounds | None = None) -> dict[str, Any]:
    """The operation as the ledger keeps it; without bounds, the usual ones.

    Raises `InvalidParameters` for what is no operation, is too large, or cannot be stored.
    """
    if not isinstance(operation, OPERATIONS):
        names = ", ".join(kind.__name__ for kind in OPERATIONS)
        raise InvalidParameters(f"operation: {type(operation).__name__} is none of {names}")
    params = operation.model_dump(mode="json")
    (bounds or SubmissionBounds.usual()).check_parameters(operation, params)
    for name, value in params.items():
        try:
            to_json(value)
        except ValueError as error:
            raise InvalidParameters(f"{name}: {error}") from error
    return params


def sent_on_completion(signature: object, *, bounds: SubmissionBounds) -> OnComplete:
    """The task of a Celery signature. Raises `InvalidParameters` for what is none, is too large or cannot be stored."""
    task = OnComplete.of(signature)
    try:
        size = len(to_json(task.kept()).encode())
    except (TypeError, ValueError) as error:
        raise InvalidParameters(f"on_complete: {error}") from error
    if size > bounds.max_parameter_bytes:
        raise InvalidParameters(
            f"on_complete: it has {size:,} bytes as JSON, at most {bounds.max_parameter_bytes:,} are taken "
            "(TAMIS_MAX_PARAMETER_BYTES)"
        )
    return task


def _named(item: Item) -> str:
    """An item's id for a message; nothing where it is too long, or no text or number: that may be what is wrong."""
    item_id = next((item[name] for name in ID_FIELDS if item.get(name) not in (None, "")), None)
    if not isinstance(item_id, str | int) or len(str(item_id)) > LONGEST_ID:
        return ""
    text = str(item_id)
    return f" (id {text[:SHOWN_ID]!r}{'...' if len(text) > SHOWN_ID else ''})"
