"""`tamis audit`: lets a person judge a random sample of the software's exclusions, and bounds the missed includes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

import tamis_review
from tamis_producer import Batch
from tamis_producer.results.results_file import replacing
from tamis_review import draw_audit, has_later_stage, list_audits, record_audit, verdict
from tamis_review.decisions.record_overrides import RefusedDecision
from tamis_review.decisions.sheets import FilledIn, read_sample, write_sample
from tamis_review.overrides import read_visible
from tamis_schemas import Audit, InputError, Stratum
from tamis_schemas.records.random_order import seed_or_new
from tamis_schemas.records.record_number import indexed_words, record_words

from .app import app, err, out
from .arguments import BatchId, Reviewer, to_file
from .connected import connected
from .opened import opened
from .override import NOT_FOLLOWING
from .tables import facts_by_name, listing, short

DRAW = "draw"


class DrawUnlessNamed(TyperGroup):
    """A group of commands that reads `tamis audit ID` as `tamis audit draw ID`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # of typer's click
        """Parse the arguments. If the first is neither a command nor a help option, insert `draw` before it."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [DRAW, *args]
        return super().parse_args(ctx, args)


audit_app = app.group(
    "audit",
    "Let a person judge a random sample of excluded records. `tamis audit ID` draws one.",
    cls=DrawUnlessNamed,
)

AuditId = Annotated[str, typer.Argument(metavar="AUDIT", help="An audit's id, or its first characters.")]


@audit_app.command(DRAW, examples=("tamis audit 3f2a91c0 --n 50 --seed 1", "tamis audit draw 3f2a91c0 --from rules"))
def draw(
    batch_id: BatchId,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many records.")] = 50,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed draws the same sample.  [default: a new one]")
    ] = None,
    stratum: Annotated[
        Stratum, typer.Option("--from", help="Which exclusions: all, only by rules, or only by the model.")
    ] = Stratum.ALL,
    with_reasons: Annotated[
        bool, typer.Option("--with-reasons", help="Write the exclusion reasons in the file. They may bias the reader.")
    ] = False,
    output: Annotated[Path | None, to_file("The file.  [default: audit-AUDIT.csv]")] = None,
) -> Iterator[object]:
    """Draw a sample of the excluded records, as a table for a person to fill in."""
    with opened(batch_id) as batch:
        drawn = draw_audit(batch, n, seed=seed_or_new(seed), stratum=stratum)
        output = output or Path(f"audit-{short(drawn.id)}.csv")
        _write(batch, drawn, output, with_reasons=with_reasons)
    yield lambda: _facts(drawn) | {"written_to": output}
    err.say(
        f"audit {drawn.id}: {drawn.sample:,} of {drawn.population:,} excluded records, drawn with seed {drawn.seed}, "
        f"written to {output}.",
        markup=False,
    )
    err.say(
        "Fill in the column include with yes or no, and reviewer with your name, then: "
        f"[bold]tamis audit record {escape(str(output))}[/]"
    )


@audit_app.command(examples=("tamis audit record audit-9b1c.csv", "tamis audit record audit-9b1c.csv --override"))
def record(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The table, filled in completely or in part.")],
    reviewer: Reviewer = None,
    correct: Annotated[
        bool, typer.Option("--correct", help="Accept decisions that differ from those recorded earlier.")
    ] = False,
    override: Annotated[bool, typer.Option("--override", help="Include each missed record with an override.")] = False,
) -> Iterator[object]:
    """Record the decisions of a sample, and show the bound on missed includes. An invalid row rejects the table."""
    filled = read_sample(file, reviewer=reviewer)
    with connected() as client:
        audit = tamis_review.audit(client, filled.audit_id)
        _check_ids(file, filled, audit)
        try:
            done = record_audit(client, audit.id, filled.decisions, correct=correct, include_missed=override)
        except RefusedDecision as refused:
            raise InputError(str(refused), path=file, line=filled.lines[refused.number]) from refused
        later = bool(done.overrides) and has_later_stage(client.batch(audit.batch_id))
    yield lambda: _facts(done.audit)
    out.say(f"audit {audit.id}: {done.new:,} new decisions recorded.")
    if done.overrides:
        listed = ", ".join(escape(record_words(row.index, row.item_id)) for row in done.overrides)
        out.say(f"Included by override: {listed}.")
    if later:
        out.say(NOT_FOLLOWING)
    _print(done.audit)
    if done.audit.missed and not override:
        out.say(f"[bold]tamis audit record {escape(str(file))} --override[/] includes the missed records.")


@audit_app.command(examples=("tamis audit show 9b1c", "tamis audit show 9b1c -o again.csv"))
def show(
    audit_id: AuditId,
    output: Annotated[Path | None, to_file("Write its table again, with the decisions so far.")] = None,
    with_reasons: Annotated[
        bool, typer.Option("--with-reasons", help="Write the exclusion reasons in the table.")
    ] = False,
) -> Iterator[object]:
    """Show the progress of an audit, and its result for all exclusions."""
    with connected() as client:
        audit = tamis_review.audit(client, audit_id)
        if output is not None:
            _write(client.batch(audit.batch_id), audit, output, with_reasons=with_reasons)
    yield lambda: _facts(audit)
    _print(audit)


@audit_app.command("list", examples=("tamis audit list 3f2a91c0",))
def list_(batch_id: BatchId) -> Iterator[object]:
    """List the audits of a batch."""
    with opened(batch_id) as batch:
        audits = list_audits(batch)
    yield lambda: [_facts(audit) for audit in audits]
    if not audits:
        out.say(f"batch {batch.id} has no audit: `tamis audit {batch.id}` draws a sample")
        return
    table = listing("audit", "drawn", "from", numbers=("seed", "sample", "of", "judged", "missed", "at most"))
    for audit in audits:
        summary = verdict(audit)
        numbers = (audit.seed, summary.sample, summary.population, summary.decided, summary.missed, summary.most)
        cells = [str(number) if number is audit.seed else f"{number:,}" for number in numbers]
        table.add_row(short(audit.id), f"{audit.created_at:%Y-%m-%d %H:%M}", audit.stratum.value, *cells)
    out.print(table)


def _write(batch: Batch, audit: Audit, path: Path, *, with_reasons: bool) -> None:
    rows = read_visible(batch, [item.index for item in audit.items])
    with replacing(path) as stream:
        write_sample(audit, rows, stream, with_reasons=with_reasons)


def _check_ids(file: Path, filled: FilledIn, audit: Audit) -> None:
    """Raise `InputError` if a row has the id of another record. The user probably sorted only some columns."""
    ids = {item.index: item.item_id for item in audit.items}
    for decision, line, item_id in zip(filled.decisions, filled.lines, filled.ids, strict=True):
        if item_id and decision.index in ids and ids[decision.index] != item_id:
            raise InputError(
                f"{indexed_words(decision.index)} has the id {ids[decision.index]!r}, not {item_id!r}: were "
                "columns sorted separately?",
                path=file,
                line=line,
            )


def _print(audit: Audit) -> None:
    summary = verdict(audit)
    drawn = f"{summary.sample:,} of {summary.population:,}"
    rows = [
        ("audit", audit.id),
        ("batch", audit.batch_id),
        ("sample", f"{drawn}, seed {audit.seed}, from: {audit.stratum.value}"),
        ("judged", f"{summary.decided:,}" + (f", {summary.undecided:,} to do" if summary.undecided else "")),
    ]
    if summary.decided:
        at_most = f"at most {summary.most:,} of {summary.population:,} ({summary.most_share:.1%})"
        bound = f"one-sided, {summary.level:.0%}, hypergeometric; binomial (Clopper-Pearson)"
        rows += [
            ("missed", f"{summary.missed:,} found; {at_most}"),
            ("bound", f"{bound}: {summary.binomial_share:.1%}"),
        ]
    out.print(facts_by_name(rows))
    out.say(summary.sentence)
    for item in audit.missed:
        note = f": {escape(item.note)}" if item.note else ""
        name = escape(record_words(item.index, item.item_id))
        out.say(f"[yellow]missed[/] {name}, according to {escape(item.reviewer or '')}{note}")


def _facts(audit: Audit) -> dict[str, Any]:
    summary = verdict(audit)
    return audit.model_dump(mode="json") | {"verdict": summary.model_dump(mode="json") | {"sentence": summary.sentence}}
