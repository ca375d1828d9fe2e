"""The arguments and options that several commands have, written once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tamis_schemas import HumanStage, InvalidParameters, InvalidRequest

BatchId = Annotated[str, typer.Argument(metavar="ID", help="A batch's id, or how it begins.")]
Record = typer.Argument(
    metavar="RECORD",
    help="Its id, or its number from 1, as shown (No. 12: 12); number:12 or id:12 where it could be either.",
)
Reviewer = Annotated[str | None, typer.Option(help="Who decides.", envvar="TAMIS_REVIEWER", metavar="NAME")]
RANDOM_SEED_BITS = 31  # of a seed that nobody names: short enough to be copied by hand
KeyId = Annotated[str, typer.Argument(metavar="KEY", help="As `tamis keys list` names it.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="Records, one file or several.")]


class StageName(StrEnum):
    """A stage of a review in which people decide, as the command line calls it."""

    TITLE_ABSTRACT = "title-abstract"  # what the batch itself asks
    RETRIEVAL = "retrieval"
    FULL_TEXT = "full-text"

    @property
    def stage(self) -> HumanStage:
        return HumanStage.OWN if self is StageName.TITLE_ABSTRACT else HumanStage(self.value)


def stage_name(stage: HumanStage) -> str:
    """The name of a stage on the command line."""
    return StageName.TITLE_ABSTRACT.value if stage is HumanStage.OWN else stage.value


Stage = Annotated[
    StageName,
    typer.Option(
        help="What is decided about: titles and abstracts, or whatever the batch asks; whether reports could be had; "
        "full texts."
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Let a record that cannot be read be an error; else it is left out, and said.")
]
NewBudget = Annotated[
    str | None,
    typer.Option("--max-cost", help="A new budget in dollars, of a batch that has one."),
]


def to_file(help: str) -> Any:  # noqa: A002 - as Typer calls it
    """Return the option of a file to write."""
    return typer.Option("-o", "--output", help=help)


def is_new(file: Path | None, *, may_hold: str) -> None:
    """Raise `InvalidRequest` where a file that people fill in is there already."""
    if file is not None and file.exists():
        raise InvalidRequest(f"{file} is there already, and may hold {may_hold}: name another file with --output")


def named(reviewer: str | None, question: str) -> str:
    """Return who decides. Raises `InvalidParameters` with the question where nobody is named."""
    if reviewer is None or not reviewer.strip():
        raise InvalidParameters(f"{question} say --reviewer NAME, or set TAMIS_REVIEWER")
    return reviewer
