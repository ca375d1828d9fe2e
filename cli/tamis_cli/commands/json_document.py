"""JSON for programs: the option `--json`, and the functions with which all commands print JSON."""

from collections.abc import Iterable
from typing import Annotated

import typer

from tamis_schemas.values.printable import for_data

from .console import out

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per line, for programs.")]


def print_json(facts: object) -> None:
    """Print a document as JSON on one line.

    At any depth, the document may contain Pydantic models, dataclasses, dates, decimals and paths. Decimals become
    text.
    """
    from pydantic_core import to_json  # a command that prints tables avoids this import

    stream = for_data(typer.get_text_stream("stderr" if out.stderr else "stdout"))
    stream.write(to_json(facts, inf_nan_mode="null").decode() + "\n")
    stream.flush()


def print_json_lines(facts: Iterable[object]) -> None:
    """Print each document as JSON on a line of its own."""
    for document in facts:
        print_json(document)
