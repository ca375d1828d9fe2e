"""`tamis explain`: shows the whole history of a record in a batch."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape

from tamis_review import records
from tamis_review.decisions.sheets import find_record
from tamis_review.explanation.words import sections

from .app import app, out
from .arguments import Record
from .connected import connected


@app.command(examples=("tamis explain 3f2a91c0 12", "tamis explain 3f2a91c0 id:pmid-31200 --json"))
def explain(
    of: Annotated[str, typer.Argument(metavar="ID", help="A batch, or a review: its first stage.")],
    record: Annotated[str, Record],
) -> Iterator[object]:
    """Show everything about one record: prompts, answers, quotes, rules, formulas, people's decisions, costs."""
    with connected() as client:
        batch = client.first_batch(of)
        explanation = records.explain(batch, find_record(record, batch.item_ids()))
    yield explanation
    for heading, lines in sections(explanation):
        out.say(f"[bold]{escape(heading)}[/]")
        for line in lines:
            out.say(escape(line))
        out.print()
