"""`tamis explain`: the whole story of one record."""

from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.client.batch import Batch
from tamis_producer.client.client import Client
from tamis_review import records
from tamis_review.decisions.sheets import find_record
from tamis_review.explanation.words import sections
from tamis_review.plans.reviews import find_batch_or_review

from .app import app, out
from .arguments import Record
from .json_document import AsJson, print_json


@app.command(examples=("tamis explain 3f2a91c0 12", "tamis explain 3f2a91c0 id:pmid-31200 --json"))
def explain(
    of: Annotated[str, typer.Argument(metavar="ID", help="A batch; of a review its first stage.")],
    record: Annotated[str, Record],
    as_json: AsJson = False,
) -> None:
    """Tell everything about one record: prompts as sent, answers, quotes, rules and formulas, people, and the bill."""
    with Client() as client:
        subject = find_batch_or_review(client, of)
        batch = subject if isinstance(subject, Batch) else subject.stages()[0]
        explanation = records.explain(batch, find_record(record, batch.item_ids()))
    if as_json:
        print_json(explanation)
        return
    for section in sections(explanation):
        out.say(f"[bold]{escape(section.heading)}[/]")
        for line in section.lines:
            out.say(escape(line))
        out.print()
