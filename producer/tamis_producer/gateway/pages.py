"""Results in pages and streams: the ledger is read in portions.

A portion has as many items as fit into about 130 kB of text. While a slow reader receives a portion, its text waits in
memory, and no thread or connection to the ledger is occupied.
"""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from uuid import UUID

import anyio
from anyio import to_thread
from sqlalchemy import Engine

from tamis_schemas import ItemResult

from ..client.batch import Batch
from ..ledger import ledger_errors, read_results

FIRST_ROWS = 20  # items of the first portion: 20 MB if all are of the largest size
MOST_ROWS = 500
PIECE_BYTES = 131_072  # of a piece of text, approximately
PAGE_BYTES = 4_000_000  # of a requested page, which ends there even below its limit
GROWTH = 4  # largest factor between two portions
READERS = 1  # one thread, because threads compete with the event loop for the processor

Form = Callable[[list[ItemResult], bool], str]  # items as text; the flag is True for the first portion


@dataclass(frozen=True)
class ResultPage:
    """A page of results."""

    items: list[ItemResult]
    next_after: int | None  # the `after` of the next page; None: there is no next page


class Pages:
    """A reader of batch results, with one thread for all requests."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._readers = anyio.CapacityLimiter(READERS)

    async def pieces(
        self, batch: Batch, form: Form, *, after: int | None = None, places: list[int] | None = None, safe: bool = False
    ) -> AsyncGenerator[bytes]:
        """Return the items after the place `after`, or only the items at `places`, as pieces of text.

        Each piece is read from the ledger only when it is to be sent. Raises `LedgerUnavailable`, and `Blinded` if a
        decision is hidden from the caller. `safe`: `form` omits hidden decisions itself, so `Blinded` is not raised.
        """
        if not safe:
            await to_thread.run_sync(batch.session.check_whole, batch.uuid)
        return self._pieces(batch.uuid, form, after, places)

    async def _pieces(
        self, batch_id: UUID, form: Form, after: int | None, places: list[int] | None
    ) -> AsyncGenerator[bytes]:
        rows, first = FIRST_ROWS, True
        while True:
            text, read, last = await to_thread.run_sync(
                self._portion, batch_id, form, after, rows, places, first, limiter=self._readers
            )
            if text:
                yield text
            if last is None:
                return
            after, first = last, False
            rows = next_rows(read, len(text))

    async def page(self, batch: Batch, *, after: int | None, limit: int, places: list[int] | None = None) -> ResultPage:
        """Return at most `limit` items after the place `after`: fewer if they exceed 4 MB together.

        Raises `LedgerUnavailable`, and `Blinded` if a decision is hidden from the caller.
        """
        await to_thread.run_sync(batch.session.check_whole, batch.uuid)
        return await to_thread.run_sync(self._page, batch.uuid, after, limit, places, limiter=self._readers)

    def _portion(
        self, batch_id: UUID, form: Form, after: int | None, rows: int, places: list[int] | None, first: bool
    ) -> tuple[bytes, int, int | None]:
        """Return up to `rows` items as text, their number, and the place of the last item.

        The place is None if no item follows.
        """
        items, more = self._read(batch_id, after, rows, places)
        text = form(items, first).encode("utf-8", "surrogatepass")
        return text, len(items), items[-1].index if more else None

    def _page(self, batch_id: UUID, after: int | None, limit: int, places: list[int] | None) -> ResultPage:
        items: list[ItemResult] = []
        size, rows = 0, FIRST_ROWS
        while True:
            results, more = self._read(batch_id, after, min(rows, limit - len(items)), places)
            items += results
            if not more:
                return ResultPage(items, None)
            after = results[-1].index
            portion = sum(len(result.model_dump_json()) for result in results)
            size += portion
            if len(items) >= limit or size >= PAGE_BYTES:
                return ResultPage(items, after)
            rows = next_rows(len(results), portion)

    def _read(
        self, batch_id: UUID, after: int | None, rows: int, places: list[int] | None
    ) -> tuple[list[ItemResult], bool]:
        with ledger_errors(), self._engine.connect() as connection:
            results = read_results(connection, batch_id, after, rows + 1, places)
        return results[:rows], len(results) > rows


def next_rows(rows: int, size: int) -> int:
    """Return the number of items for the next piece, after a piece of `rows` items in `size` bytes.

    The number is at most four times as large as `rows`.
    """
    return max(1, min(rows * PIECE_BYTES // max(size, 1), rows * GROWTH, MOST_ROWS))
