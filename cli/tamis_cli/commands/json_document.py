"""JSON for programs: the option `--json`, and the one way in which commands print it."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import for_data

if TYPE_CHECKING:
    from pydantic import TypeAdapter

AsJson = Annotated[bool, typer.Option("--json", help="For programs: one JSON document on standard output.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="For programs: a JSON object a line on standard output.")]


@cache
def _anything() -> "TypeAdapter[Any]":
    """The one that turns anything into JSON; who prints tables need not wait for it."""
    from pydantic import TypeAdapter

    return TypeAdapter(Any)


def print_json(facts: object) -> None:
    """One document, on one line: models, dataclasses, dates, amounts (as text) and paths at any depth."""
    stream = for_data(typer.get_text_stream("stdout"))
    stream.write(_anything().dump_json(facts).decode() + "\n")
    stream.flush()


def print_json_lines(facts: Iterable[object]) -> None:
    """A document a line; nothing at all where there are none."""
    for document in facts:
        print_json(document)
