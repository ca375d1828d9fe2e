"""Arguments and options shared by several commands."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TextIO

import typer

from tamis_producer.results.results_file import replacing
from tamis_schemas import Callback, HumanStage, InvalidParameters, InvalidRequest, operations
from tamis_schemas.operations import Model

from .console import err
from .tables import counted

BatchId = Annotated[str, typer.Argument(metavar="ID", help="A batch's id, or its first characters.")]
Record = typer.Argument(
    metavar="RECORD",
    help="The record's id, or its number from 1 (No. 12: 12). If it could be either: number:12 or id:12.",
)
Reviewer = Annotated[
    str | None, typer.Option(help="Your name.", envvar=["TAMIS_REVIEWER", "TAMIS_PERSON"], metavar="NAME")
]
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="The key's id, from `tamis keys list`.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="One or several files of records.")]


OWN_STAGE: Final = "title-abstract"  # the stage in which people answer the batch's own question


def stage_name(stage: HumanStage) -> str:
    """Return the name of a stage on the command line."""
    return OWN_STAGE if stage is HumanStage.OWN else stage.value


def stage_named(name: str) -> HumanStage:
    """Return the stage that has this name on the command line."""
    return HumanStage.OWN if name == OWN_STAGE else HumanStage(name)


Stage = Annotated[
    Literal["title-abstract", "retrieval", "full-text"],
    typer.Option(
        help="title-abstract: the batch's own question; retrieval: whether the report was obtained; full-text: its "
        "full text."
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Stop at a record that cannot be read. Otherwise it is skipped and reported.")
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="The encoding of files that are not UTF-8, such as mac_roman."),
]
NewBudget = Annotated[
    str | None,
    typer.Option("--max-cost", help="A new budget in dollars, if the batch has one."),
]


def to_file(help: str) -> Any:  # noqa: A002 - as Typer calls it
    """Return the option for an output file."""
    return typer.Option("-o", "--output", help=help)


def write_rows(output: Path | None, noun: str, write: Callable[[TextIO], int]) -> None:
    """Write a table to the file `output`, and print its number of rows on standard error.

    `write` writes the rows, and returns their number. If `output` is None, do nothing.
    """
    if output is not None:
        with replacing(output) as stream:
            rows = write(stream)
        err.say(f"{counted(rows, noun)} written to {output}", markup=False)


def is_new(file: Path | None, *, may_hold: str) -> None:
    """Raise `InvalidRequest` if `file` exists already. In the message, `may_hold` says what the file may contain."""
    if file is not None and file.exists():
        raise InvalidRequest(f"{file} already exists and may contain {may_hold}: name another file with --output")


def validated(kind: type[Model], of: str = "", /, **parameters: Any) -> Model:
    """Return an instance of the Pydantic model `kind`, with `parameters` as its fields.

    If a parameter is invalid, raise `InvalidParameters`; the message begins with `of`.
    """
    return operations.validated(kind, parameters, of)


CallbackUrl = Annotated[
    str | None, typer.Option("--callback-url", metavar="URL", help="The receiver of signed webhooks about the batch.")
]


def callback_of(url: str, option: str = "callback") -> Callback:
    """Return a callback that sends all events of a batch to `url`.

    If the URL is unusable, raise `InvalidParameters`; the message begins with `option`.
    """
    return validated(Callback, f"{option}: ", url=url)


def named(reviewer: str | None, question: str) -> str:
    """Return the reviewer's name.

    If the name is missing, raise `InvalidParameters`; the message begins with `question`.
    """
    if reviewer is None or not reviewer.strip():
        raise InvalidParameters(f"{question} Add --reviewer NAME, or set TAMIS_REVIEWER")
    return reviewer
