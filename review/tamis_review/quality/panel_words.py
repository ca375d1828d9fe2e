"""Sentences on the figures of a panel: each figure with its meaning for the review."""

from collections.abc import Iterator

from tamis_schemas import Proportion
from tamis_schemas.operations.panel import PanelPolicy

from .panel_figures import Brought, PanelFigures, PanelPair
from .shared_errors import SharedErrors, Sharing

POLICIES = {
    PanelPolicy.ANY: "A record was included where any model included it; otherwise what more than half of the models "
    "said counted, and where no decision had that many, the record was uncertain.",
    PanelPolicy.MAJORITY: "What more than half of the models said counted; where no decision had that many, the record "
    "was uncertain.",
    PanelPolicy.MEAN: "The mean of the models' scores for inclusion decided: above one half the record was included, "
    "below it excluded.",
    PanelPolicy.UNANIMOUS_EXCLUDE: "A record was excluded only where all models excluded it; where any included it, it "
    "was included, else it was uncertain.",
}
SELECTED = (
    "These figures hold for the records that people decided. Where people read first what models disagree on, joint "
    "errors are rarer among those records than among the others; labels of a random sample have no such lean."
)


def shared_count(one: Proportion) -> str:
    """Return a share in words: `31 of 36 (86.1%)`, or `0 of 0`."""
    share = "" if one.estimate is None else f" ({one.estimate:.1%})"
    return f"{one.count:,} of {one.total:,}{share}"


def panel_sentences(figures: PanelFigures) -> tuple[str, ...]:
    """Return the sentences on a panel, in reading order."""
    return tuple(_sentences(figures))


def _sentences(figures: PanelFigures) -> Iterator[str]:
    differ = figures.complete - figures.unanimous
    yield (
        f"{figures.records:,} records were put to {len(figures.models)} models ({', '.join(figures.models)}). On "
        f"{differ:,} of the {figures.complete:,} records that all models asked did answer they differ: people look at "
        "those first."
    )
    yield from map(_pair, figures.pairs)
    yield from map(_brought, figures.brought)
    if figures.labelled and any(pair.errors is not None for pair in figures.pairs):
        yield SELECTED
    elif figures.pairs:
        yield (
            "Nobody has decided about these records yet, so whether the models err on the same ones is not known: that "
            "they agree is no sign that they are right."
        )


def _pair(pair: PanelPair) -> str:
    agreement = pair.agreement
    chance = "" if agreement.kappa is None else f", kappa {agreement.kappa:.2f}"
    chance += "" if agreement.ac1 is None else f", AC1 {agreement.ac1:.2f}"
    text = f"{pair.first} and {pair.second} differ on {pair.differ:,} of {agreement.n:,} records{chance}."
    lowest = min(
        (criterion for criterion in pair.criteria if criterion.agreement.observed is not None),
        key=lambda criterion: criterion.agreement.observed or 0.0,
        default=None,
    )
    if lowest is not None and lowest.agreement.observed is not None and lowest.agreement.observed < 1:
        text += f" They differ most on {lowest.label}, where they agree on {lowest.agreement.observed:.1%} of records."
    return text if pair.errors is None else f"{text} {shared_words(pair.errors)}"


def shared_words(errors: SharedErrors) -> str:
    """Return a sentence on the joint errors of two models and their meaning."""
    sentence = (
        f"On {errors.records:,} records that people decided they err on {errors.first:,} and {errors.second:,}, on the "
        f"same {errors.joint:,}; independent errors would give {errors.expected:.1f}"
    )
    measured = "" if errors.phi is None else f" (phi {errors.phi:.2f}, p {_p(errors.p)})"
    match errors.sharing:
        case Sharing.SHARED:
            meaning = "they share errors, so the one catches less of what the other misses than its rate promises"
        case Sharing.NO_SIGN:
            meaning = "no sign that they share errors: as far as these records tell, the one is a check on the other"
        case Sharing.TOO_FEW:
            meaning = "too few errors to say whether they share them"
    return f"{sentence}{measured}: {meaning}."


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def _brought(gain: Brought) -> str:
    if gain.changed == 0:
        return f"{gain.model} brought nothing: without it every one of {gain.compared:,} decisions would be the same."
    effect = (
        f"Without {gain.model} {gain.changed:,} of {gain.compared:,} decisions would be others, and people would read "
        f"{gain.kept_without:,} records in the place of {gain.kept_with:,}."
    )
    if not gain.recall_with.total:
        return f"{effect} Whether they would be better ones only people's decisions can tell."
    recall = f"{shared_count(gain.recall_with)} with it, {shared_count(gain.recall_without)} without"
    if gain.nothing:
        return (
            f"{gain.model} brought nothing, as far as people decided: it found none of the records that they include "
            f"(kept: {recall}), and it saves no reading. {effect}"
        )
    lost = f" and lost {gain.lost:,} that the others keep" if gain.lost else ""
    finds = f"It found {gain.found:,} of the records that people include and the panel would lose without it{lost}"
    return f"{effect} {finds} (kept: {recall})."
