"""The two kinds of tables in the terminal: a list under headings, and facts beside their names."""

from collections.abc import Iterable

from rich.table import Table

from tamis_schemas.batches.wire import SHORT_ID


def short(id: object) -> str:  # noqa: A002 - as everywhere
    """Return the first `SHORT_ID` characters of an id, which people can read and type."""
    return str(id)[:SHORT_ID]


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun. Without a `plural`, the plural is the noun with an s."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def listing(*names: str, numbers: Iterable[str] = (), rows: Iterable[Iterable[str]] = ()) -> Table:
    """Return a table of `rows`, without ruled lines.

    The headings are `names`, then `numbers`. The columns under `numbers` are right-aligned.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for place, name in enumerate(names):
        table.add_column(name, no_wrap=place == 0)
    for name in numbers:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def facts_by_name(rows: Iterable[tuple[str, str | None]]) -> Table:
    """Return a table with two columns, name and fact. Rows without a fact are omitted."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    for name, text in rows:
        if text is not None:
            table.add_row(name, text)
    return table
