"""Sentences on the figures of a panel: each figure with its meaning for the review."""

from collections.abc import Iterator

from tamis_schemas import Proportion
from tamis_schemas.operations.panel import PanelPolicy

from .panel_figures import Brought, PanelFigures, PanelPair
from .shared_errors import SharedErrors, Sharing

POLICIES = {
    PanelPolicy.ANY: "A record was included if any model included it. Otherwise, the decision of more than half of the "
    "models counted; without such a majority, the record was uncertain.",
    PanelPolicy.MAJORITY: "The decision of more than half of the models counted; without such a majority, the record "
    "was uncertain.",
    PanelPolicy.MEAN: "A record was included if the mean of the models' scores for inclusion was above one half, and "
    "excluded if it was below.",
    PanelPolicy.UNANIMOUS_EXCLUDE: "A record was excluded only if all models excluded it, and included if any model "
    "included it; otherwise it was uncertain.",
}
SELECTED = (
    "These figures apply to the records that people decided. If people read the records with disagreement first, "
    "joint errors are rarer among these records than among the rest. Labels of a random sample avoid this bias."
)


def shared_count(one: Proportion) -> str:
    """Return a share as text: `31 of 36 (86.1%)`, or `0 of 0`."""
    share = "" if one.estimate is None else f" ({one.estimate:.1%})"
    return f"{one.count:,} of {one.total:,}{share}"


def panel_sentences(figures: PanelFigures) -> tuple[str, ...]:
    """Return the sentences on a panel, in reading order."""
    return tuple(_sentences(figures))


def _sentences(figures: PanelFigures) -> Iterator[str]:
    differ = figures.complete - figures.unanimous
    yield (
        f"{figures.records:,} records were given to {len(figures.models)} models ({', '.join(figures.models)}). The "
        f"models differ on {differ:,} of the {figures.complete:,} records that all models answered. The reading "
        "order by disagreement begins with these."
    )
    yield from map(_pair, figures.pairs)
    yield from map(_brought, figures.brought)
    if figures.labelled and any(pair.errors is not None for pair in figures.pairs):
        yield SELECTED
    elif figures.pairs:
        yield (
            "No person has decided these records yet, so shared errors of the models are unknown: agreement does not "
            "show that the models are right."
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
        f"On {errors.records:,} records that people decided, they are wrong on {errors.first:,} and "
        f"{errors.second:,}, and both on {errors.joint:,}; independent errors would give {errors.expected:.1f}"
    )
    measured = "" if errors.phi is None else f" (phi {errors.phi:.2f}, p {_p(errors.p)})"
    match errors.sharing:
        case Sharing.SHARED:
            meaning = "They share errors, so each catches fewer misses of the other than its error rate suggests"
        case Sharing.NO_SIGN:
            meaning = "No sign of shared errors: on these records, each model is a check on the other"
        case Sharing.TOO_FEW:
            meaning = "Too few errors to judge whether they are shared"
    return f"{sentence}{measured}. {meaning}."


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def _brought(gain: Brought) -> str:
    if gain.changed == 0:
        return f"{gain.model} changed nothing: without it, all {gain.compared:,} decisions would be the same."
    effect = (
        f"Without {gain.model}, {gain.changed:,} of {gain.compared:,} decisions would change, and people would read "
        f"{gain.kept_without:,} records instead of {gain.kept_with:,}."
    )
    if not gain.recall_with.total:
        return f"{effect} Only people's decisions can show whether these would be better."
    recall = f"{shared_count(gain.recall_with)} with it, {shared_count(gain.recall_without)} without"
    if gain.nothing:
        return (
            f"On the records that people decided, {gain.model} added nothing: it found no further include (kept: "
            f"{recall}) and saved no reading. {effect}"
        )
    lost = f", and with it, the panel loses {gain.lost:,}" if gain.lost else ""
    finds = f"Without it, the panel would lose {gain.found:,} of people's includes{lost}"
    return f"{effect} {finds} (kept: {recall})."
