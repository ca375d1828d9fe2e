"""Lists over HTTP, divided into pages: every list is an object with `items` and `next`."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, Self, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from tamis_schemas.values.frozen import Frozen

Entry = TypeVar("Entry")
Mark = TypeVar("Mark", int, str)


class ListPage(Frozen, Generic[Entry, Mark]):
    """A page of a list."""

    items: tuple[Entry, ...]
    next: Mark | None = Field(description="The parameter `after` of the next page; null: this is the last page.")

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """Return the name of the model in the OpenAPI description, such as OverridePage."""
        return f"{params[0].__name__}Page"

    @classmethod
    def of(cls, entries: Sequence[Entry], limit: int | None, mark: Callable[[Entry], Mark]) -> Self:
        """Return the first `limit` entries as a page.

        `mark`: returns the parameter `after` that continues the list behind an entry.
        """
        items = tuple(entries[:limit])
        return cls(items=items, next=mark(items[-1]) if len(items) < len(entries) else None)


class ListPart(BaseModel):
    """Query parameters that choose a part of a list. By default, the part is the whole list."""

    model_config = ConfigDict(frozen=True)

    after: int = Field(default=0, ge=0, lt=2**31, description="`next` of the previous page.")
    limit: int | None = Field(default=None, ge=1, le=1_000, description="Entries at most; none: all.")

    def of(self, entries: Sequence[Entry]) -> ListPage[Entry, int]:
        """Return this part of the list `entries` as a page."""
        left = entries[self.after :]
        return ListPage.of(left, self.limit, lambda _: self.after + (self.limit or 0))


Wanted = Annotated[ListPart, Query()]
