"""The figures of a panel: how far its models agree, whether they err together, and what each of them brought."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import combinations

from pydantic import computed_field

from tamis_schemas import Cost, InclusionStatus, Proportion, Verdict, wilson
from tamis_schemas.operations.panel import Panel, PanelPolicy, disagreement
from tamis_schemas.values.frozen import Frozen

from .agreement import Agreement, agreement
from .panel_record import PanelRecord, Word
from .shared_errors import JointErrors, SharedErrors, shared_errors

MOST_DIFFERING = 50  # records that are named
STATUSES = tuple(status.value for status in InclusionStatus)
VERDICTS = (Verdict.MET.value, Verdict.NOT_MET.value, Verdict.UNCLEAR.value)


class PanelMember(Frozen):
    """One model's decisions, its bill, and its misses by the records that people included."""

    model: str
    include: int
    exclude: int
    uncertain: int
    failed: int
    tokens: int
    cost: Cost | None  # dollars; None: no price is known
    missed: Proportion  # records that people included and it excludes, of those that both decided


class CriterionAgreement(Frozen):
    """The agreement of two models on one criterion: met, not met (silence counts as that), or unclear."""

    label: str
    agreement: Agreement


class PanelPair(Frozen):
    """Two models side by side, on the records that both decided."""

    first: str
    second: str
    differ: int
    agreement: Agreement  # of their decisions: include, exclude, uncertain
    criteria: tuple[CriterionAgreement, ...] = ()
    errors: SharedErrors | None = None  # None: people decided about none of these records


class Brought(Frozen):
    """What one model of a panel brought: the panel's decisions with and without it."""

    model: str
    compared: int  # records whose decision without it is known
    changed: int  # of these: decided differently without it
    kept_with: int  # included or uncertain: what people read
    kept_without: int
    found: int  # records that people included and the panel excludes without it
    lost: int  # records that people included and the panel excludes because of it
    recall_with: Proportion  # of the records that people included, kept
    recall_without: Proportion

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def nothing(self) -> bool:
        """True where it changed no decision; or, as far as people decided, found nothing and saved no reading."""
        if not self.recall_with.total:
            return self.changed == 0
        return self.found == 0 and self.kept_with >= self.kept_without


class Differing(Frozen):
    """A record on which models differ."""

    index: int
    item_id: str
    disagreement: float
    words: dict[str, str]  # by model: its decision, or `failed`


class PanelFigures(Frozen):
    """A panel in numbers."""

    models: tuple[str, ...]
    policy: PanelPolicy
    records: int  # that the panel was asked about
    complete: int  # of these: each model that was asked gave a decision
    unanimous: int  # of the complete: all said the same
    labelled: int  # records that people decided
    members: tuple[PanelMember, ...]
    pairs: tuple[PanelPair, ...]
    brought: tuple[Brought, ...]
    differing: tuple[Differing, ...]  # those on which models differ most, at most `MOST_DIFFERING`


def panel_figures(panel: Panel, records: Sequence[PanelRecord], human: Mapping[int, bool]) -> PanelFigures:
    """The figures of a panel's records; `human` says by place in the batch which of them people include."""
    complete = [one for one in records if None not in one.statuses]
    places = range(len(panel.models))
    pairs = list(combinations(places, 2))
    return PanelFigures(
        models=panel.models,
        policy=panel.policy,
        records=len(records),
        complete=len(complete),
        unanimous=sum(len(set(one.statuses)) == 1 for one in complete),
        labelled=sum(one.index in human for one in records),
        members=tuple(_member(panel, place, records, human) for place in places),
        pairs=tuple(_pair(panel, pair, records, human, len(pairs)) for pair in pairs),
        brought=tuple(_brought(panel, place, records, human) for place in places),
        differing=_differing(panel, records),
    )


def _member(panel: Panel, place: int, records: Sequence[PanelRecord], human: Mapping[int, bool]) -> PanelMember:
    words = [(one, one.words[place]) for one in records]
    counts = Counter(word.status for _, word in words)
    included = [word for one, word in words if human.get(one.index) and word.vote is not None]
    costs = [word.cost for _, word in words]
    known = [cost for cost in costs if cost is not None]
    return PanelMember(
        model=panel.models[place],
        include=counts[InclusionStatus.INCLUDE],
        exclude=counts[InclusionStatus.EXCLUDE],
        uncertain=counts[InclusionStatus.UNCERTAIN],
        failed=counts[None],
        tokens=sum(word.tokens for _, word in words),
        cost=sum(known, Decimal(0)) if len(known) == len(costs) else None,
        missed=wilson(sum(_excludes(word) for word in included), len(included)),
    )


def _excludes(word: Word) -> bool:
    return word.status is InclusionStatus.EXCLUDE


def _pair(
    panel: Panel, pair: tuple[int, int], records: Sequence[PanelRecord], human: Mapping[int, bool], pairs: int
) -> PanelPair:
    words = [(record, record.words[pair[0]], record.words[pair[1]]) for record in records]
    judged = [row for row in words if row[1].vote is not None and row[2].vote is not None]
    said = [(one.status.value, other.status.value) for _, one, other in judged if one.status and other.status]
    labels = dict.fromkeys(label for _, one, _ in judged for label in one.verdicts)
    labelled = [(human[record.index], one, other) for record, one, other in judged if record.index in human]
    return PanelPair(
        first=panel.models[pair[0]],
        second=panel.models[pair[1]],
        differ=sum(one != other for one, other in said),
        agreement=agreement(said, categories=STATUSES),
        criteria=tuple(
            CriterionAgreement(
                label=label,
                agreement=agreement(
                    [
                        (one.verdicts[label].value, other.verdicts[label].value)
                        for _, one, other in judged
                        if label in one.verdicts and label in other.verdicts
                    ],
                    categories=VERDICTS,
                ),
            )
            for label in labels
        ),
        errors=shared_errors([_joint(labelled, include=include) for include in (True, False)], pairs=pairs)
        if labelled
        else None,
    )


def _joint(labelled: Sequence[tuple[bool, Word, Word]], *, include: bool) -> JointErrors:
    """The errors on the records that people included, or on those that they excluded; a doubt keeps the record."""
    of_kind = [(one, other) for yes, one, other in labelled if yes is include]
    errors = [(_excludes(one) is include, _excludes(other) is include) for one, other in of_kind]
    return JointErrors(
        records=len(errors),
        first=sum(one for one, _ in errors),
        second=sum(other for _, other in errors),
        both=sum(one and other for one, other in errors),
    )


def _brought(panel: Panel, place: int, records: Sequence[PanelRecord], human: Mapping[int, bool]) -> Brought:
    compared = [
        (one, with_it, without)
        for one in records
        if (with_it := one.status(panel)) is not None and (without := one.without(panel, place)) is not None
    ]
    kept = [
        (human.get(one.index), with_it is not InclusionStatus.EXCLUDE, without is not InclusionStatus.EXCLUDE)
        for one, with_it, without in compared
    ]
    included = [(with_it, without) for yes, with_it, without in kept if yes]
    return Brought(
        model=panel.models[place],
        compared=len(compared),
        changed=sum(with_it is not without for _, with_it, without in compared),
        kept_with=sum(with_it for _, with_it, _ in kept),
        kept_without=sum(without for *_, without in kept),
        found=sum(with_it and not without for with_it, without in included),
        lost=sum(without and not with_it for with_it, without in included),
        recall_with=wilson(sum(with_it for with_it, _ in included), len(included)),
        recall_without=wilson(sum(without for _, without in included), len(included)),
    )


def _differing(panel: Panel, records: Sequence[PanelRecord]) -> tuple[Differing, ...]:
    ranked = [(share, one) for one in records if (share := disagreement([status for status in one.statuses if status]))]
    ranked.sort(key=lambda pair: (-pair[0], pair[1].index))
    return tuple(
        Differing(
            index=one.index,
            item_id=one.item_id,
            disagreement=share,
            words={
                model: "failed" if status is None else status.value
                for model, status in zip(panel.models, one.statuses, strict=True)
            },
        )
        for share, one in ranked[:MOST_DIFFERING]
    )
