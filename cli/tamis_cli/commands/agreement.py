"""`tamis agreement`: how far people and software agree.

A separate module, because only this command needs the imports that compute agreement.
"""

from collections.abc import Iterator

from rich.markup import escape

from tamis_review import measure_agreement
from tamis_review.decisions.human_agreement import DRAWN, SELECTED, two_places
from tamis_review.quality.agreement import Agreement

from .app import app, out
from .arguments import BatchId, stage_name
from .opened import opened
from .tables import listing

NUMBERS = ("n", "agree", "Cohen's kappa", "Gwet's AC1")


@app.command(examples=("tamis agreement 3f2a91c0",))
def agreement(batch_id: BatchId) -> Iterator[object]:
    """Measure the agreement of the software with people, and of people with each other, on the same records."""
    with opened(batch_id) as batch:
        figures = measure_agreement(batch)
    yield {"id": batch.id, **figures.model_dump(mode="json")}
    if not figures.together.n and not figures.undecided and not figures.people:
        out.say(f"batch {batch.id}: no person has decided on a record. Use `tamis override` or `tamis audit`.")
        return
    measured = {
        "overridden or confirmed": figures.overrides,
        "audited exclusions": figures.audits,
        "together": figures.together,
    }
    rows = ((name, *_figures(measure)) for name, measure in measured.items())
    out.print(listing("software and people", numbers=NUMBERS, rows=rows))
    for name, measure in measured.items():
        if measure.n and measure.no_kappa is not None:
            out.say(f"[dim]no kappa for {name}: {escape(measure.no_kappa)}[/]")
    if figures.undecided:
        out.say(
            f"{figures.undecided:,} omitted: the software did not decide on them (uncertain, failed, cancelled, or a "
            "copy)."
        )
    if figures.people:
        pairs = (
            (stage_name(pair.stage), escape(pair.first), escape(pair.second), *_figures(pair.agreement))
            for pair in figures.people
        )
        out.print(listing("stage", "person", "other person", numbers=NUMBERS, rows=pairs))
    for text in (SELECTED,) * bool(figures.overrides.n) + (DRAWN,) * bool(figures.audits.n):
        out.say(text)


def _figures(figures: Agreement) -> tuple[str, str, str, str]:
    def ranged(value: float | None, low: float | None, high: float | None) -> str:
        if value is None or low is None or high is None:
            return "–"
        return f"{two_places(value)} ({two_places(low)} to {two_places(high)})"

    agree = "–" if figures.observed is None else f"{figures.observed:.1%}"
    kappa = ranged(figures.kappa, figures.kappa_low, figures.kappa_high)
    return f"{figures.n:,}", agree, kappa, ranged(figures.ac1, figures.ac1_low, figures.ac1_high)
