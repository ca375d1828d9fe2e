"""`tamis agreement` and `tamis conflicts`: how far people and software agree, and where people do not."""

from collections.abc import Iterator

from rich.markup import escape

from tamis_review.decisions.human_agreement import DRAWN, SELECTED, two_places
from tamis_review.evaluation import measure_agreement
from tamis_review.overrides import list_conflicts
from tamis_review.quality.agreement import Agreement
from tamis_schemas.batches.wire import SHORT_ID
from tamis_schemas.records.record_number import record_words

from .app import app, out
from .arguments import BatchId, stage_name
from .opened import opened
from .override import words_of
from .tables import listing

NUMBERS = ("n", "agree", "Cohen's kappa", "Gwet's AC1")


@app.command(examples=("tamis conflicts 3f2a91c0", "tamis conflicts 3f2a91c0 --json"), json_lines=True)
def conflicts(batch_id: BatchId) -> Iterator[object]:
    """List the records on which people decided differently, with who said what and why, and the model's decision."""
    with opened(batch_id) as batch:
        found = list_conflicts(batch)
    yield found
    if not found:
        out.say(f"batch {batch.id}: no record is in conflict.")
        return
    for one in found:
        system = words_of(one.system_value) if one.system_decided else "not decided"
        system += ", and so differs as the second reader" * one.system_differs
        out.say(f"[bold]{escape(record_words(one.index, one.item_id))}[/] {escape(one.title or '')}")
        out.say(f"    {stage_name(one.stage)}; the software: {escape(system)}")
        for said in one.decisions:
            why = "; ".join(text for text in (said.reason, said.note) if text)
            out.say(f"    {escape(said.reviewer)}: {escape(words_of(said.value))}{escape(f': {why}') if why else ''}")
    out.say(
        f"{len(found):,} in conflict. Whoever settles one: [bold]tamis override {batch.id[:SHORT_ID]} RECORD DECISION "
        "--settle --reviewer NAME[/]; many at once: `tamis import-decisions ... --settles`."
    )


@app.command(examples=("tamis agreement 3f2a91c0",))
def agreement(batch_id: BatchId) -> Iterator[object]:
    """Say how far the software agrees with the people who decided about the same records, and they among themselves."""
    with opened(batch_id) as batch:
        figures = measure_agreement(batch)
    yield {"id": batch.id, **figures.model_dump(mode="json")}
    if not figures.together.n and not figures.undecided and not figures.people:
        out.say(f"batch {batch.id}: no human has decided about a record. `tamis override` does, and `tamis audit`.")
        return
    measured = {
        "overridden or confirmed": figures.overrides,
        "audited exclusions": figures.audits,
        "together": figures.together,
    }
    rows = ((name, *_figures(one)) for name, one in measured.items())
    out.print(listing("software and people", numbers=NUMBERS, rows=rows))
    for name, one in measured.items():
        if one.n and one.no_kappa is not None:
            out.say(f"[dim]no kappa of {name}: {escape(one.no_kappa)}[/]")
    if figures.undecided:
        out.say(
            f"{figures.undecided:,} left out: the software had not decided about them (uncertain, failed, cancelled, "
            "or a copy)."
        )
    if figures.people:
        pairs = (
            (stage_name(pair.stage), escape(pair.first), escape(pair.second), *_figures(pair.agreement))
            for pair in figures.people
        )
        out.print(listing("stage", "person", "and person", numbers=NUMBERS, rows=pairs))
    for text in (SELECTED,) * bool(figures.overrides.n) + (DRAWN,) * bool(figures.audits.n):
        out.say(text)


def _figures(one: Agreement) -> tuple[str, str, str, str]:
    def ranged(value: float | None, low: float | None, high: float | None) -> str:
        if value is None or low is None or high is None:
            return "–"
        return f"{two_places(value)} ({two_places(low)} to {two_places(high)})"

    agree = "–" if one.observed is None else f"{one.observed:.1%}"
    kappa = ranged(one.kappa, one.kappa_low, one.kappa_high)
    return f"{one.n:,}", agree, kappa, ranged(one.ac1, one.ac1_low, one.ac1_high)
