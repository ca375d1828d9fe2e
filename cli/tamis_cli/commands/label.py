"""`tamis label`, `tamis note` and `tamis labels`: what people put on records to find them again."""

from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer.client.batch import Batch
from tamis_review.decisions.sheets import find_record
from tamis_review.remarks import count_labels, labelled_places, remark
from tamis_schemas import InvalidParameters, InvalidRequest
from tamis_schemas.batches.wire import SHORT_ID

from .app import app, out
from .arguments import BatchId, Record
from .json_document import AsJson, print_json
from .opened import opened
from .override import Reviewer
from .tables import listing

Remove = Annotated[bool, typer.Option("--remove", help="Take it off instead.")]


@app.command(
    examples=(
        'tamis label 3f2a91c0 "to discuss" 12 45 --reviewer "Reviewer A"',
        'tamis label 3f2a91c0 "to discuss" 12 --remove --reviewer "Reviewer A"',
    ),
)
def label(
    batch_id: BatchId,
    words: Annotated[str, typer.Argument(metavar="LABEL", help="A few words that several records may share.")],
    records: Annotated[list[str], Record],
    reviewer: Reviewer = None,
    remove: Remove = False,
    as_json: AsJson = False,
) -> None:
    """Put a label on records, beside every decision; `tamis results --label` finds them again."""
    with opened(batch_id) as batch:
        ids = batch.item_ids()
        places = [find_record(record, ids) for record in records]
        changed = remark(batch, places, labels=[words], reviewer=_who(reviewer), remove=remove)
        labels = count_labels(batch)
    kept = " ".join(words.split())
    if as_json:
        print_json({"id": batch.id, "changed": changed, "labels": labels})
        return
    way = "taken off" if remove else "put on"
    out.say(f"{escape(kept)}: {way} {changed:,} record{'' if changed == 1 else 's'}; {labels[kept]:,} with it now.")


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
    as_json: AsJson = False,
) -> None:
    """Write a note on a record, beside every decision; results and exports hold it."""
    with opened(batch_id) as batch:
        index = find_record(record, batch.item_ids())
        changed = remark(batch, [index], notes=[text], reviewer=_who(reviewer), remove=remove)
        (row,) = batch.results([index])
    if as_json:
        print_json({"id": batch.id, "index": index, "changed": changed, "notes": row.notes})
        return
    for one in row.notes:
        out.say(escape(one))
    if not row.notes:
        out.say("there is no note on it now.")


@app.command(examples=("tamis labels 3f2a91c0",))
def labels(batch_id: BatchId, as_json: AsJson = False) -> None:
    """List the labels on a batch's records, and how many bear each."""
    with opened(batch_id) as batch:
        counted = count_labels(batch)
    if as_json:
        print_json({"id": batch.id, "labels": counted})
        return
    if not counted:
        out.say(f"batch {batch.id}: no record has a label. `tamis label` puts one on.")
        return
    table = listing("label", numbers=("records",))
    for words, n in counted.items():
        table.add_row(escape(words), f"{n:,}")
    out.print(table)


def labelled(batch: Batch, label: str | None) -> list[int] | None:
    """The places of the records with a label; None: all are wanted. Raises `InvalidRequest` where none bears it."""
    if label is None:
        return None
    words = " ".join(label.split())
    if not (places := list(labelled_places(batch, words))):
        there = ", ".join(count_labels(batch)) or "none"
        raise InvalidRequest(f"no record of batch {batch.id[:SHORT_ID]} has the label {words!r}; there are: {there}")
    return places


def _who(reviewer: str | None) -> str:
    if not (reviewer or "").strip():
        raise InvalidParameters("who says so? say --reviewer NAME, or set TAMIS_REVIEWER")
    return reviewer or ""
