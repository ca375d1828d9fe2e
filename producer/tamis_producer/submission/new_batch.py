"""A batch before it is written: its operation, its items as JSON text, and the digest of its content."""

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
from tamis_schemas.records.record_number import indexed_words
from tamis_schemas.values.unstorable import UNSTORABLE, to_json

from ..process.waiting import ON_THREAD, Waiting
from .bounds import LONGEST_ID, SubmissionBounds
from .frames import DataFrame, items_of
from .spool import Spool

SHOWN_ID = 80  # characters of an id in a message


@dataclass(frozen=True)
class NewItem:
    """An item to be written to the ledger. `payload` is the item as JSON text."""

    item_id: str
    payload: str
    exclusion: Exclusion | None = None  # reason why no model is asked; None: a model is asked
    origin: int | None = None  # in a later stage of a review: the record's place in the first stage
    source: int | None = None  # place among the batch's sources, from 0; None: at most one source
    call_id: UUID | None = None  # of a single call that may be repeated; no two items may have the same

    @classmethod
    def of(
        cls,
        item: Item,
        *,
        exclusion: Exclusion | None = None,
        origin: int | None = None,
        source: int | None = None,
    ) -> "NewItem":
        """Return the `NewItem` for an item. Raises `ValueError` if JSON or Postgres cannot hold the item."""
        return cls(resolve_item_id(item), to_json(item), exclusion, origin, source)


@dataclass(frozen=True)
class Stage:
    """A batch's place in a review."""

    review_id: UUID
    number: int  # from 0


@dataclass(frozen=True)
class NewBatch:
    """A batch to be written to the ledger."""

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
    updates: UUID | None = None  # batch whose search this batch updates; None: none
    stage: Stage | None = None
    priority: Priority = Priority.NORMAL
    max_cost: Decimal | None = None  # dollars; None: no budget
    steering: Steering = NO_STEERING
    traceparent: str | None = None  # trace of its submission; None: no trace
    api_key_id: str | None = None  # gateway's key of its submission; None: no key
    service: str | None = None  # service whose single calls the batch holds; None: a batch that people follow
    callback: Callback | OnComplete | None = None  # receiver of its end; None: no callback
    pause: Pause | None = None  # reason for a pause from the start; None: not paused
    id: UUID = field(default_factory=uuid4)

    def __post_init__(self) -> None:
        """Raise `InvalidParameters` for a text that the ledger cannot store."""
        for name in ("model", "label", "idempotency_key"):
            if UNSTORABLE.search(getattr(self, name) or ""):
                raise InvalidParameters(f"{name}: it contains a character that the ledger cannot store")

    @cached_property
    def content_sha256(self) -> str:
        """The digest of operation, model, steering, items and exclusions.

        Two submissions with the same idempotency key must have the same digest. Priority, budget and tier do not count,
        because they do not change the work. Examples from another batch do not count either, because people may have
        decided about more records of that batch since.
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
    """Return the sources as a tuple, from a single source, several sources or None."""
    return (source,) if isinstance(source, Source) else tuple(source or ())


def _ends_of(sources: Sequence[Source]) -> Sequence[int]:
    """Return, for each source, the place after its last item; empty if there are fewer than two sources.

    Raises `InvalidParameters` if a source does not state its number of items.
    """
    if len(sources) < 2:
        return ()
    if uncounted := [source.name for source in sources if source.records is None]:
        raise InvalidParameters(f"source: {uncounted[0]!r} does not state its number of items: set its `records`")
    return tuple(accumulate(source.records or 0 for source in sources))


def rows_of(
    items: Iterable[Item | NewItem] | DataFrame,
    exclusions: Mapping[int, Exclusion] | None = None,
    *,
    sources: Sequence[Source] = (),
    bounds: SubmissionBounds | None = None,
    operations: Iterable[Operation] = (),
    waiting: Waiting = ON_THREAD,
) -> Spool[NewItem]:
    """Return the rows of items, or of a data frame, in order. The memory needed does not depend on the number of items.

    An item with an exclusion at its place, from 0, gets no question. With several `sources`, items come in the order of
    the sources, `records` items from each. If an operation reads chunks, the chunks of each item are checked too.
    Without `bounds`, the default bounds hold. `items` may be endless: at most one item beyond the bound is read. Items
    that are rows already were checked when they were made.

    Raises:
        InvalidParameters: no item or too many; an item that JSON or Postgres cannot hold, or that is too large; invalid
            chunks; an exclusion without an item; or sources that do not say how many items each has.
        ConfigurationError: the rows cannot be written to the folder for temporary files.
    """
    exclusions, bounds, ends = exclusions or {}, bounds or SubmissionBounds.usual(), _ends_of(sources)
    extracts = any(operation.reads_chunks for operation in operations)
    rows: Spool[NewItem] = Spool(waiting)
    for index, item in enumerate(waiting.in_turns(items_of(items))):
        bounds.check_count(index + 1)
        if isinstance(item, NewItem):
            rows.append(item, len(item.payload))
            continue
        if not isinstance(item, dict):
            raise InvalidParameters(
                f"{indexed_words(index)}: a {type(item).__name__}, not a dict (convert objects first)"
            )
        try:
            bounds.check_shape(item)  # first, as the later checks read the whole item
            source = bisect_right(ends, index) if ends else None
            row = NewItem.of(item, exclusion=exclusions.get(index), source=source)
            bounds.check_row(item, row.item_id, row.payload)
            if extracts:
                Retrieved.of(item)
        except (TypeError, ValueError) as error:
            raise InvalidParameters(f"{indexed_words(index)}{_named(item)}: {error}") from error
        rows.append(row, len(row.payload))
    if not len(rows):
        raise InvalidParameters("items: there are none; a batch needs at least one")
    if extra := [place for place in exclusions if place not in range(len(rows))]:
        raise InvalidParameters(f"exclusions: there is no item at place {min(extra)}; the last is {len(rows) - 1}")
    if ends and ends[-1] != len(rows):
        raise InvalidParameters(f"source: the sources have {ends[-1]} records, but there are {len(rows)} items")
    return rows


def parameters(operation: Operation, *, bounds: SubmissionBounds | None = None) -> dict[str, Any]:
    """Return the operation as the ledger stores it. Without `bounds`, the default bounds hold.

    Raises `InvalidParameters` if the operation is invalid, too large, or cannot be stored.
    """
    if not isinstance(operation, OPERATIONS):
        names = ", ".join(kind.__name__ for kind in OPERATIONS)
        raise InvalidParameters(f"operation: {type(operation).__name__} is not one of {names}")
    params = operation.model_dump(mode="json")
    (bounds or SubmissionBounds.usual()).check_parameters(operation, params)
    for name, value in params.items():
        try:
            to_json(value)
        except ValueError as error:
            raise InvalidParameters(f"{name}: {error}") from error
    return params


def sent_on_completion(signature: object, *, bounds: SubmissionBounds) -> OnComplete:
    """Return the task of a Celery signature. Raises `InvalidParameters` if the signature is invalid or too large."""
    task = OnComplete.of(signature)
    try:
        size = len(to_json(task.kept()).encode())
    except (TypeError, ValueError) as error:
        raise InvalidParameters(f"on_complete: {error}") from error
    if size > bounds.max_parameter_bytes:
        raise InvalidParameters(
            f"on_complete: it has {size:,} bytes as JSON; the maximum is {bounds.max_parameter_bytes:,} "
            "(TAMIS_MAX_PARAMETER_BYTES)"
        )
    return task


def _named(item: Item) -> str:
    """Return an item's id for a message, or an empty text if the id is too long or neither a text nor a number."""
    item_id = next((item[name] for name in ID_FIELDS if item.get(name) not in (None, "")), None)
    if not isinstance(item_id, str | int) or len(str(item_id)) > LONGEST_ID:
        return ""
    text = str(item_id)
    return f" (id {text[:SHOWN_ID]!r}{'...' if len(text) > SHOWN_ID else ''})"
