"""The headers by which items can be revoked: Celery's way to name tasks by something else than their ids.

`batch_id=UUID` names the items of a batch, `item=UUID/INDEX` a single one. Messages do not carry them: they follow from
what a message says anyway.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from ..ledger.claims import ItemKey

BATCH, ITEM = "batch_id", "item"


@dataclass(frozen=True)
class Named:
    """The items that some headers name: all of them, whichever header it is."""

    batch_ids: frozenset[UUID]
    keys: frozenset[ItemKey]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, ItemKey) and (key.batch_id in self.batch_ids or key in self.keys)


def stamps_of(key: ItemKey) -> dict[str, str]:
    """Return the headers of an item, as `inspect active` shows them."""
    return {BATCH: str(key.batch_id), ITEM: f"{key.batch_id}/{key.index}"}


def named_by(headers: object) -> Named:
    """Return the items that headers name, as Celery sends them: a mapping to one value or many, or `name=value` texts.

    Raises `ValueError` where they name none.
    """
    batch_ids: set[UUID] = set()
    keys: set[ItemKey] = set()
    for name, value in _pairs(headers):
        if name == BATCH:
            batch_ids.add(_batch_id(value))
        elif name == ITEM:
            batch_id, _, index = value.rpartition("/")
            if not index.isdecimal():
                raise ValueError(f"{ITEM}: {value!r} is not BATCH_ID/INDEX")
            keys.add(ItemKey(_batch_id(batch_id), int(index)))
        else:
            raise ValueError(f"no item has the header {name!r}: {BATCH}=BATCH_ID or {ITEM}=BATCH_ID/INDEX names them")
    if not batch_ids and not keys:
        raise ValueError(f"no header is given: {BATCH}=BATCH_ID or {ITEM}=BATCH_ID/INDEX names items")
    return Named(frozenset(batch_ids), frozenset(keys))


def _pairs(headers: object) -> Iterable[tuple[str, str]]:
    match headers:
        case Mapping():
            for name, values in headers.items():
                for value in [values] if isinstance(values, str) else values:
                    yield str(name), str(value)
        case list() | tuple():
            for pair in headers:
                name, _, value = str(pair).partition("=")
                yield name, value


def _batch_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValueError(f"{text!r} is no batch's id; `tamis batches --json` lists them") from None
