"""`tamis judge`: asks a model whether the reasoning behind each result rests on the right kind of evidence."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tamis_producer import Batch
from tamis_producer.files.decode import read_text
from tamis_review import judge_items
from tamis_review.plans.judge_items import judgement_label
from tamis_schemas import InputError, Judge, Judgement

from .app import app, out
from .arguments import BatchId, validated
from .connected import connected
from .dry_run import dry_run
from .progress import attend
from .submission import SubmissionOptions, submitting

SHOWN = 20  # blocked results printed on the terminal; `tamis results` writes all of them


@app.command(examples=("tamis judge 3f2a91c0 --guidelines guidelines.txt --noun Abstract",))
@submitting("keep_duplicates", "strict", "encoding")
def judge(
    submission: SubmissionOptions,
    batch_id: BatchId,
    guidelines: Annotated[Path, typer.Option(help="A text file that says which evidence counts.")],
    noun: Annotated[str, typer.Option(help="The noun that a reasoning cites by number: 'Email 3'.")] = "Email",
    threshold: Annotated[float, typer.Option(help="Block results with evidence of lower quality, 0 to 1.")] = 0.15,
) -> None:
    """Judge the reasoning of each result of a finished batch against its record, in a new batch."""
    text = read_text(guidelines)
    if not text.strip():
        raise InputError("the guidelines are empty: state which evidence counts", path=guidelines)
    operation = validated(Judge, guidelines=text, noun=noun, block_threshold=threshold)
    with connected() as client:
        judged = client.batch(batch_id)
        if submission.dry_run:
            planned = submission.planned(operation, list(judge_items(judged)))
            dry_run(planned, max_cost=submission.max_cost, as_json=submission.as_json)
            return
        view = judged.status()
        label = judgement_label(view.label or judged.id)
        batch = client.submit(operation, judge_items(judged), label=label, **submission.options)
        n = batch.status().counts.n_items
        without = view.counts.n_items - n
        headline = f"batch [bold]{batch.id}[/]: {n} results, {without} without reasoning"
        attend(batch, submission, headline, tell=partial(_say_what_is_blocked, batch))


def _say_what_is_blocked(batch: Batch) -> None:
    judgements = ((row.item_id, Judgement.model_validate(row.detail)) for row in batch.results() if row.detail)
    blocked = [(item_id, judgement) for item_id, judgement in judgements if judgement.blocked]
    for item_id, judgement in blocked[:SHOWN]:
        drop = f"{judgement.original_confidence:.2f} -> {judgement.adjusted_confidence:.2f}"
        issue = escape(judgement.issue or judgement.evidence_type.value)
        out.print(f"[red]blocked[/] {escape(item_id)}: confidence {drop}; {issue}")
    out.print(f"{len(blocked)} would be blocked." + (f" The first {SHOWN} are shown." if len(blocked) > SHOWN else ""))
