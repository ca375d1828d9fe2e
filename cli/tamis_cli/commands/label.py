"""`tamis label`, `tamis note` and `tamis labels`: people's labels and notes on records."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.markup import escape

from tamis_review import count_labels, remark
from tamis_review.decisions.sheets import find_record
from tamis_review.overrides import read_visible

from .app import app, out
from .arguments import BatchId, Record, Reviewer, named
from .opened import opened
from .tables import counted, listing

Remove = Annotated[bool, typer.Option("--remove", help="Remove it instead.")]
WHO = "who says so?"


@app.command(
    examples=(
        'tamis label 3f2a91c0 "to discuss" 12 45 --reviewer "Reviewer A"',
        'tamis label 3f2a91c0 "to discuss" 12 --remove --reviewer "Reviewer A"',
    ),
)
def label(
    batch_id: BatchId,
    words: Annotated[str, typer.Argument(metavar="LABEL", help="The label: a few words.")],
    records: Annotated[list[str], Record],
    reviewer: Reviewer = None,
    remove: Remove = False,
) -> Iterator[object]:
    """Add a label to records. It changes no decision; `tamis results --label` finds the records again."""
    with opened(batch_id) as batch:
        ids = batch.item_ids()
        places = [find_record(record, ids) for record in records]
        changed = remark(batch, places, labels=[words], reviewer=named(reviewer, WHO), remove=remove)
        labels = count_labels(batch)
    kept = " ".join(words.split())
    yield {"id": batch.id, "changed": changed, "labels": labels}
    way = "removed from" if remove else "added to"
    out.say(f"{escape(kept)}: {way} {counted(changed, 'record')}; now on {labels[kept]:,}.")


@app.command(
    examples=(
        'tamis note 3f2a91c0 12 "The same cohort as record 40?" --reviewer "Reviewer A"',
        'tamis note 3f2a91c0 12 "The same cohort as record 40?" --remove --reviewer "Reviewer A"',
    ),
)
def note(
    batch_id: BatchId,
    record: Annotated[str, Record],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note.")],
    reviewer: Reviewer = None,
    remove: Remove = False,
) -> Iterator[object]:
    """Add a note to a record. It changes no decision; results and exports contain it."""
    with opened(batch_id) as batch:
        index = find_record(record, batch.item_ids())
        changed = remark(batch, [index], notes=[text], reviewer=named(reviewer, WHO), remove=remove)
        (row,) = read_visible(batch, [index])
    yield {"id": batch.id, "index": index, "changed": changed, "notes": row.notes}
    for line in row.notes:
        out.say(escape(line))
    if not row.notes:
        out.say("the record has no visible note now.")


@app.command(examples=("tamis labels 3f2a91c0",))
def labels(batch_id: BatchId) -> Iterator[object]:
    """List the labels on a batch's records, with the number of records for each."""
    with opened(batch_id) as batch:
        counted = count_labels(batch)
    yield {"id": batch.id, "labels": counted}
    if not counted:
        out.say(f"batch {batch.id}: no record has a label. `tamis label` adds one.")
        return
    out.print(listing("label", numbers=("records",), rows=((escape(words), f"{n:,}") for words, n in counted.items())))
