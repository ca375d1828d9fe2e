"""The forms of results, as a whole or in pages."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from enum import StrEnum
from itertools import islice

from starlette.datastructures import URL

from tamis_schemas import ItemResult

from ..client.batch import Batch
from ..results.results_file import csv_lines
from .pages import Pages, ResultPage
from .submission_body import NDJSON


class ResultForm(StrEnum):
    """The format in which results are returned."""

    JSON = "json"  # {"items": [...], "next": null}
    NDJSON = "ndjson"
    CSV = "csv"


class TableForm(StrEnum):
    """The format of an answer that can also be returned as a table."""

    JSON = "json"
    CSV = "csv"


RESULT_TYPES = {ResultForm.JSON: "application/json", ResultForm.NDJSON: NDJSON, ResultForm.CSV: "text/csv"}
NEXT_PAGE = {
    "Link": {
        "description": 'The next page, `<...>; rel="next"`; absent from the last one.',
        "schema": {"type": "string"},
    }
}
BEGINNING = {ResultForm.JSON: '{"items":['}
ENDING = {ResultForm.JSON: '],"next":null}\n'}


async def result_pieces(
    pages: Pages, batch: Batch, form: ResultForm, *, after: int | None, places: list[int] | None = None
) -> AsyncGenerator[str | bytes]:
    """Return all results after the place `after`, or only the results at `places`, in pieces.

    Raises `LedgerUnavailable`, and `Blinded` if a decision is hidden from the caller.
    """
    pieces = await pages.pieces(batch, _FORMS[form], after=after, places=places)
    return framed(pieces, BEGINNING.get(form, ""), ENDING.get(form, ""))


async def framed(pieces: AsyncGenerator[bytes], begins: str, ends: str) -> AsyncGenerator[str | bytes]:
    """Yield the text `begins`, then the pieces, then the text `ends`."""
    yield begins
    async with aclosing(pieces):
        async for piece in pieces:
            yield piece
    yield ends


def page_text(page: ResultPage, form: ResultForm) -> bytes:
    """Return one page as text. In JSON, `next` is the parameter `after` of the next page."""
    text = BEGINNING.get(form, "") + _FORMS[form](page.items, True)
    if form is ResultForm.JSON:
        text += f'],"next":{"null" if page.next_after is None else page.next_after}}}\n'
    return text.encode("utf-8", "surrogatepass")


def link(url: URL, after: int) -> str:
    """Return the value of the header `Link`, with the address of the request's next page."""
    following = url.include_query_params(after=after)
    return f'<{following.path}?{following.query}>; rel="next"'


def _lines(items: list[ItemResult], _: bool) -> str:
    return "".join(item.model_dump_json() + "\n" for item in items)


def _elements(items: list[ItemResult], first: bool) -> str:
    text = ",\n".join(item.model_dump_json() for item in items)
    return text if first or not text else ",\n" + text


def _table(items: list[ItemResult], first: bool) -> str:
    return "".join(islice(csv_lines(items), 0 if first else 1, None))  # the first line has the column names


_FORMS = {ResultForm.NDJSON: _lines, ResultForm.JSON: _elements, ResultForm.CSV: _table}
