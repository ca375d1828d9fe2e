"""JSON for programs: the option `--json`, and the printing shared by all commands."""

from collections.abc import Iterable
from typing import Annotated

import typer

from .console import for_data

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line, for programs.")]


def print_json(facts: object) -> None:
    """Print a document on a line: models, dataclasses, dates, amounts (as text) and paths at any depth."""
    from pydantic_core import to_json  # a command that prints tables avoids this import

    stream = for_data(typer.get_text_stream("stdout"))
    stream.write(to_json(facts, inf_nan_mode="null").decode() + "\n")
    stream.flush()


def print_json_lines(facts: Iterable[object]) -> None:
    """Print a document per line; nothing if there are none."""
    for document in facts:
        print_json(document)
