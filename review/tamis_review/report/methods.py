"""The methods of a screening in sentences, for a paper or its appendix: what was done, by what, and who decides.

Only what the ledger holds is said; what it does not hold is named as missing.
"""

from tamis_schemas.operations import kind_of

from .figures import Figures
from .identification_methods import before_screening, identification, search_strategies
from .paragraph import Paragraph
from .people_methods import disclosure, full_texts
from .reading_methods import reading_paragraphs
from .stage_methods import stage_paragraphs
from .wording import have, moment

# What the model of the demonstration decides is worth nothing, and whoever reads its report must know.
DEMONSTRATION_MODEL = "SmolLM2-135M"


def methods(figures: Figures) -> tuple[Paragraph, ...]:
    """The paragraphs, in the order of a methods section; plain text."""
    stages = enumerate(figures.batches)
    return (
        identification(figures),
        before_screening(figures),
        *(part for number, batch in stages for part in stage_paragraphs(figures, batch, number)),
        *reading_paragraphs(figures),
        *full_texts(figures),
        Paragraph("Use of AI and automation", disclosure(figures)),
        Paragraph("Software", _software(figures)),
        *search_strategies(figures),
    )


def warnings(figures: Figures) -> tuple[str, ...]:
    """Return the notes to read before any number: an unfinished batch, a model that only demonstrates."""
    notes = []
    counts = [batch.counts for batch in figures.batches]
    open_items = sum(count.pending + count.running for count in counts)
    cancelled = sum(count.cancelled for count in counts)
    if open_items:
        notes.append(
            f"This {figures.kind} is not finished: {have(open_items)} no result yet. All numbers are those of "
            f"{moment(figures.read_at)} and will change."
        )
    elif any(not batch.state.terminal for batch in figures.batches):
        notes.append(f"This {figures.kind} is not finished. All numbers are those of {moment(figures.read_at)}.")
    if cancelled or any(batch.state == "cancelled" for batch in figures.batches):
        notes.append(f"This {figures.kind} was cancelled: {have(cancelled)} no decision.")
    reports = figures.flow.reports
    if reports is not None and reports.open:
        what = "1 report is" if reports.open == 1 else f"{reports.open:,} reports are"
        notes.append(f"{what} not decided about yet: the numbers from retrieval on will change.")
    missing = [kind_of(operation).report_noun for operation in figures.planned[len(figures.batches) :]]
    if missing:
        why = "no record passed on to them" if figures.ended else "they have not begun"
        notes.append(f"Planned stages without a batch, because {why}: {', '.join(missing)}.")
    if any(DEMONSTRATION_MODEL.lower() in model.lower() for batch in figures.batches for model in batch.models):
        notes.append(
            "These decisions are worth nothing. SmolLM2-135M-Instruct is small enough to run anywhere: it shows that "
            "the software works, not what a record is about."
        )
    return tuple(notes)


def _software(figures: Figures) -> str:
    return (
        f"{figures.software} wrote this report on {moment(figures.read_at)}; all numbers are counted from one "
        "snapshot of its ledger. The version of the software that asked the model is not recorded."
    )
