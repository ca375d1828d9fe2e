"""In which order people read and by which rule they stop, in sentences."""

from collections.abc import Iterator

from ..decisions.stop_words import ESTIMATOR, methods_sentence, percent, spending_sentence
from .figures import Figures, OrderFigures, ReadingFigures
from .paragraph import Paragraph
from .wording import records_n


def reading_paragraphs(figures: Figures) -> Iterator[Paragraph]:
    """Yield a paragraph for each stage that people read in an order of Tamis, or by its stop rule."""
    for number, batch in enumerate(figures.batches, 1):
        if batch.reading is not None:
            place = f" in stage {number}" if len(figures.batches) > 1 else ""
            yield Paragraph(f"Reading order and stop rule{place}", " ".join(_sentences(batch.reading)))


def _sentences(reading: ReadingFigures) -> Iterator[str]:
    if reading.order is not None:
        yield _order(reading.order)
    if reading.stop is None:
        finding = reading.finding
        yield (
            f"People read {finding.read:,} of {records_n(finding.records)} and included {finding.found:,}. No stop "
            "rule was applied."
        )
        return
    stop = reading.stop
    yield (
        f"The stop rule asks for a recall of {percent(stop.recall)} with {percent(stop.confidence)} confidence; its "
        f"answer is: {stop.verdict}."
    )
    yield methods_sentence(stop)
    if stop.samples:
        yield spending_sentence()
    yield (
        f"As an estimate beside it, {ESTIMATOR} gives p = {stop.estimate.p:.3f} for the hypothesis that the recall is "
        "not reached."
    )


def _order(order: OrderFigures) -> str:
    if not order.decided:
        basis = "by the score for inclusion that follows from the language model's decisions"
    else:
        basis = (
            "by the language model's score for inclusion and a text model of titles and abstracts (TF-IDF, two "
            "linear support vector machines that take turns) trained on the decisions so far, last on "
            f"{order.decided:,}, the text model with a weight of {order.text_weight:.2f}"
        )
    chance = f"{percent(order.explore)} of the places went to records drawn at random" if order.explore else ""
    return f"Records were read {basis} (seed {order.seed}{'; ' + chance if chance else ''})."
