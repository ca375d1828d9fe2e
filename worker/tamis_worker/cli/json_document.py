"""JSON for programs: the option `--json`, and the one way in which commands print it."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from .console import for_data

AsJson = Annotated[bool, typer.Option("--json", help="For programs: one JSON document on standard output.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="For programs: a JSON object a line on standard output.")]

_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)


def print_json(facts: object) -> None:
    """One document, on one line: models, dataclasses, dates, amounts (as text) and paths at any depth."""
    stream = for_data(typer.get_text_stream("stdout"))
    stream.write(_ANYTHING.dump_json(facts).decode() + "\n")
    stream.flush()


def print_json_lines(facts: Iterable[object]) -> None:
    """A document a line; nothing at all where there are none."""
    for one in facts:
        print_json(one)
