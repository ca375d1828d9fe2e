"""The arguments and options that several commands have, written once."""

from pathlib import Path
from typing import Annotated

import typer

BatchId = Annotated[str, typer.Argument(metavar="ID", help="A batch's id, or how it begins.")]
Record = typer.Argument(
    metavar="RECORD",
    help="Its index, from 0 as in `tamis results`, or its id; index:12 or id:12 where it could be either.",
)
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Records, one file or several.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Let a record that cannot be read be an error; else it is left out, and said.")
]
NewBudget = Annotated[
    str | None,
    typer.Option("--max-cost", help="A new budget in dollars, of a batch that has one."),
]
