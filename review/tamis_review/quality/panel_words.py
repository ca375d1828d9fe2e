"""Sentences on the figures of a panel: each figure with its meaning for the review."""

from collections.abc import Iterator
from math import floor

from tamis_schemas import Proportion
from tamis_schemas.operations.panel import PanelPolicy

from .panel_figures import Brought, PanelFigures, PanelPair
from .panel_labels import PanelRecall
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
DRAW = "tamis audit BATCH --from model --n 200 --seed 1"
NOT_KNOWN = (
    "Not known: which share of the includes the panel keeps, and whether models share errors. The records that all "
    f"models exclude may contain includes. Draw a random sample of them with `{DRAW}`, and let people decide it."
)


def shared_count(one: Proportion) -> str:
    """Return a share as text: `31 of 36 (86.1%)`, or `0 of 0`."""
    share = "" if one.estimate is None else f" ({one.estimate:.1%})"
    return f"{one.count:,} of {one.total:,}{share}"


def panel_sentences(figures: PanelFigures) -> tuple[str, ...]:
    """Return sentences that explain the figures of a panel of models: the models, pairs of models, and the recall."""
    differ = figures.complete - figures.unanimous
    opening = (
        f"{figures.records:,} records were given to {len(figures.models)} models ({', '.join(figures.models)}). The "
        f"models differ on {differ:,} of the {figures.complete:,} records that all models answered. The reading "
        "order by disagreement begins with these."
    )
    return opening, *map(_pair, figures.pairs), *map(_brought, figures.brought), *_recall(figures.recall)


def _recall(recall: PanelRecall) -> Iterator[str]:
    if recall.unknown is not None:
        yield f"{NOT_KNOWN} Reason: {recall.unknown}."
    elif recall.recall is not None:
        bound = "" if recall.low is None else f", with 95% confidence at least {floor(recall.low * 1000) / 10}%"
        yield (
            f"The panel keeps about {recall.recall:.1%} of the includes{bound}. All models exclude "
            f"{recall.excluded:,} records. People decided {recall.labelled:,} of these and included {recall.missed:,}."
        )


def _pair(pair: PanelPair) -> str:
    agreement = pair.agreement
    chance = "" if agreement.kappa is None else f", kappa {agreement.kappa:.2f}"
    chance += "" if agreement.ac1 is None else f", AC1 {agreement.ac1:.2f}"
    text = f"{pair.first} and {pair.second} differ on {pair.differ:,} of {agreement.n:,} records{chance}."
    shares = {row.label: row.agreement.observed for row in pair.criteria if row.agreement.observed is not None}
    lowest = min(shares, key=shares.__getitem__, default=None)
    if lowest is not None and shares[lowest] < 1:
        text += f" They differ most on {lowest}, where they agree on {shares[lowest]:.1%} of records."
    for errors, kind in ((pair.misses, ("included", "miss")), (pair.false_includes, ("excluded", "keep"))):
        text += "" if errors is None else f" {shared_words(errors, *kind)}"
    return text


def shared_words(errors: SharedErrors, decided: str, err: str) -> str:
    """Return two sentences: the number of joint errors of two models, and its meaning.

    `decided`: people's decision on the records, such as "included". `err`: a verb for the error, such as "miss".
    """
    sentence = (
        f"Of {errors.records:,} records that people {decided}, they {err} {errors.first:,} and {errors.second:,}, and "
        f"both {err} {errors.joint:,}; independent errors would give {errors.expected:.1f}"
    )
    measured = "" if errors.phi is None else f" (phi {errors.phi:.2f}, p {_p(errors.p)})"
    match errors.sharing:
        case Sharing.SHARED:
            meaning = "They share these errors, so each catches fewer of the other's than its error rate suggests"
        case Sharing.NO_SIGN:
            meaning = "No sign that they share these errors"
        case Sharing.TOO_FEW:
            meaning = "Too few of these errors to judge whether they are shared"
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
    if not (gain.recall_with.total or gain.found or gain.lost):
        return f"{effect} Only people's decisions on a random sample can show whether these would be better."
    recall = f"{shared_count(gain.recall_with)} with it, {shared_count(gain.recall_without)} without"
    if gain.nothing:
        return (
            f"On the records that people decided, {gain.model} added nothing: it found no further include (kept: "
            f"{recall}) and saved no reading. {effect}"
        )
    lost = f", and with it, the panel loses {gain.lost:,}" if gain.lost else ""
    finds = f"Without it, the panel would lose {gain.found:,} of people's includes{lost}"
    return f"{effect} {finds} (kept: {recall})." if gain.recall_with.total else f"{effect} {finds}."
