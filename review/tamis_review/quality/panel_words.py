"""The figures of a panel in sentences, each with what it means for the review."""

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
    """A share in words: `31 of 36 (86.1%)`; of nothing `none of 0`."""
    share = "" if one.estimate is None else f" ({one.estimate:.1%})"
    return f"{one.count:,} of {one.total:,}{share}"


def panel_sentences(figures: PanelFigures) -> tuple[str, ...]:
    """The sentences on a panel, in the order in which a reader needs them."""
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
    told = f"{pair.first} and {pair.second} differ on {pair.differ:,} of {agreement.n:,} records{chance}."
    lowest = min(
        (one for one in pair.criteria if one.agreement.observed is not None),
        key=lambda one: one.agreement.observed or 0.0,
        default=None,
    )
    if lowest is not None and lowest.agreement.observed is not None and lowest.agreement.observed < 1:
        told += f" They differ most on {lowest.label}, where they agree on {lowest.agreement.observed:.1%} of records."
    return told if pair.errors is None else f"{told} {shared_words(pair.errors)}"


def shared_words(errors: SharedErrors) -> str:
    """The joint errors of two models, and what they mean."""
    told = (
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
    return f"{told}{measured}: {meaning}."


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def _brought(one: Brought) -> str:
    if one.changed == 0:
        return f"{one.model} brought nothing: without it every one of {one.compared:,} decisions would be the same."
    told = (
        f"Without {one.model} {one.changed:,} of {one.compared:,} decisions would be others, and people would read "
        f"{one.kept_without:,} records in the place of {one.kept_with:,}."
    )
    if not one.recall_with.total:
        return f"{told} Whether they would be better ones only people's decisions can tell."
    recall = f"{shared_count(one.recall_with)} with it, {shared_count(one.recall_without)} without"
    if one.nothing:
        return (
            f"{one.model} brought nothing, as far as people decided: it found none of the records that they include "
            f"(kept: {recall}), and it saves no reading. {told}"
        )
    lost = f" and lost {one.lost:,} that the others keep" if one.lost else ""
    found = f"It found {one.found:,} of the records that people include and the panel would lose without it{lost}"
    return f"{told} {found} (kept: {recall})."
