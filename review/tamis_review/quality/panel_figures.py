"""The figures of a panel: the agreement of its models, their shared errors, and the contribution of each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from math import comb

from pydantic import computed_field

from tamis_schemas import Cost, InclusionStatus, Proportion, Verdict, wilson
from tamis_schemas.operations.panel import Panel, PanelPolicy, disagreement
from tamis_schemas.values.frozen import Frozen

from .agreement import Agreement, agreement
from .panel_labels import PanelRecall, panel_recall, some_keeps
from .panel_record import PanelRecord, Word
from .shared_errors import JointErrors, SharedErrors, shared_errors

MOST_DIFFERING = 50  # records named
STATUSES = tuple(status.value for status in InclusionStatus)
VERDICTS = (Verdict.MET.value, Verdict.NOT_MET.value, Verdict.UNCLEAR.value)


class PanelMember(Frozen):
    """One model's decisions, its cost, and its share of missed includes."""

    model: str
    include: int
    exclude: int
    uncertain: int
    failed: int
    tokens: int
    cost: Cost | None  # dollars; None: no price is known
    missed: Proportion  # share of people's includes that the model excludes; 0 of 0: labels do not represent all


class CriterionAgreement(Frozen):
    """The agreement of two models on one criterion, by their verdicts: met, not met or unclear.

    "Not met by silence" counts as not met. A record without both verdicts is not compared.
    """

    label: str
    agreement: Agreement


class PanelPair(Frozen):
    """The agreement and the shared errors of two models, on the records that both decided."""

    first: str
    second: str
    differ: int
    agreement: Agreement  # of include, exclude, uncertain
    criteria: tuple[CriterionAgreement, ...] = ()
    misses: SharedErrors | None = None  # of people's includes; None: not known
    false_includes: SharedErrors | None = None  # of people's excludes; None: not known


class Brought(Frozen):
    """The contribution of one model to a panel: the panel's decisions with and without this model."""

    model: str
    compared: int  # records whose decision without this model is known
    changed: int  # records decided differently without it
    kept_with: int  # included or uncertain: for people to read
    kept_without: int
    found: int  # people's includes that the panel would exclude without the model
    lost: int  # people's includes that the panel excludes because of the model
    recall_with: Proportion  # share of people's includes that the panel keeps; 0 of 0: labels do not represent all
    recall_without: Proportion

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def nothing(self) -> bool:
        """Return whether the panel would lose no include without the model, and people would not read more records.

        If the recall is not known, return whether the model changed no decision.
        """
        if not self.recall_with.total:
            return self.changed == 0
        return self.found == 0 and self.kept_with >= self.kept_without


class Differing(Frozen):
    """A record on which models differ."""

    index: int
    item_id: str
    disagreement: float
    words: dict[str, str]  # model -> its decision, or `failed`


class PanelFigures(Frozen):
    """The figures of a whole panel, of each of its models, and of each pair of models."""

    models: tuple[str, ...]
    policy: PanelPolicy
    records: int  # records put to the panel
    complete: int  # records that every model decided
    unanimous: int  # complete records with equal decisions
    labelled: int  # records that people decided
    recall: PanelRecall
    members: tuple[PanelMember, ...]
    pairs: tuple[PanelPair, ...]
    brought: tuple[Brought, ...]
    differing: tuple[Differing, ...]  # records with the most disagreement, at most `MOST_DIFFERING`


def panel_figures(panel: Panel, records: Sequence[PanelRecord], human: Mapping[int, bool]) -> PanelFigures:
    """Return the figures of a panel. `human`: record number in the batch -> people's decision, True for included."""
    complete = [record for record in records if None not in record.statuses]
    places = range(len(panel.models))
    pairs = list(combinations(places, 2))
    recall = panel_recall(panel, records, human)
    return PanelFigures(
        models=panel.models,
        policy=panel.policy,
        records=len(records),
        complete=len(complete),
        unanimous=sum(len(set(record.statuses)) == 1 for record in complete),
        labelled=sum(record.index in human for record in records),
        recall=recall,
        members=tuple(_member(panel, place, records, human if recall.like_all else {}) for place in places),
        pairs=tuple(_pair(panel, pair, records, {} if recall.unknown else human, recall.odds) for pair in pairs),
        brought=tuple(_brought(panel, place, records, human, like_all=recall.like_all) for place in places),
        differing=_differing(panel, records),
    )


def _member(panel: Panel, place: int, records: Sequence[PanelRecord], human: Mapping[int, bool]) -> PanelMember:
    words = [(record, record.words[place]) for record in records]
    counts = Counter(word.status for _, word in words)
    included = [word for record, word in words if human.get(record.index) and word.vote is not None]
    costs = [word.cost for _, word in words]
    priced = [cost for cost in costs if cost is not None]
    return PanelMember(
        model=panel.models[place],
        include=counts[InclusionStatus.INCLUDE],
        exclude=counts[InclusionStatus.EXCLUDE],
        uncertain=counts[InclusionStatus.UNCERTAIN],
        failed=counts[None],
        tokens=sum(word.tokens for _, word in words),
        cost=sum(priced, Decimal(0)) if len(priced) == len(costs) else None,
        missed=wilson(sum(_excludes(word) for word in included), len(included)),
    )


def _excludes(word: Word) -> bool:
    return word.status is InclusionStatus.EXCLUDE


def _pair(
    panel: Panel, pair: tuple[int, int], records: Sequence[PanelRecord], human: Mapping[int, bool], odds: float
) -> PanelPair:
    words = [(record, record.words[pair[0]], record.words[pair[1]]) for record in records]
    judged = [row for row in words if row[1].vote is not None and row[2].vote is not None]
    decisions = [(a.status.value, b.status.value) for _, a, b in judged if a.status and b.status]
    others = [place for place in range(len(panel.models)) if place not in pair]
    labelled = [
        (human[record.index], some_keeps([record.words[place] for place in others]), a, b)
        for record, a, b in judged
        if record.index in human
    ]
    misses, false_includes = (
        shared_errors(_strata(labelled, odds, include=include), pairs=comb(len(panel.models), 2)) if labelled else None
        for include in (True, False)
    )

    def criterion(label: str) -> CriterionAgreement:
        verdicts = [(a.verdicts.get(label), b.verdicts.get(label)) for _, a, b in judged]
        both = [(first.value, second.value) for first, second in verdicts if first is not None and second is not None]
        return CriterionAgreement(label=label, agreement=agreement(both, categories=VERDICTS))

    return PanelPair(
        first=panel.models[pair[0]],
        second=panel.models[pair[1]],
        differ=sum(a != b for a, b in decisions),
        agreement=agreement(decisions, categories=STATUSES),
        criteria=tuple(map(criterion, dict.fromkeys(label for _, a, _ in judged for label in a.verdicts))),
        misses=misses,
        false_includes=false_includes,
    )


def _strata(labelled: Sequence[tuple[bool, bool, Word, Word]], odds: float, *, include: bool) -> list[JointErrors]:
    """Return the errors of two models on the records that people included, or on the records that people excluded.

    The result has two strata: the records that another model keeps, and the rest. If `odds` is 1, all are in the rest.
    `labelled`: for each record, people's decision, whether another model keeps it, and the two answers. `odds`: the
    rate of labels in the rest, divided by the rate of labels in the first stratum. `include`: True for the records that
    people included. An uncertain vote counts as keeping a record.
    """
    errors: dict[bool, list[tuple[bool, bool]]] = {True: [], False: []}
    for yes, keeps, a, b in labelled:
        if yes is include:
            errors[keeps and odds != 1].append((_excludes(a) is include, _excludes(b) is include))
    return [_joint(errors[True], 1.0), _joint(errors[False], odds)]


def _joint(errors: Sequence[tuple[bool, bool]], odds: float) -> JointErrors:
    return JointErrors(
        records=len(errors),
        first=sum(by_first for by_first, _ in errors),
        second=sum(by_second for _, by_second in errors),
        both=sum(by_first and by_second for by_first, by_second in errors),
        odds=odds,
    )


def _brought(
    panel: Panel, place: int, records: Sequence[PanelRecord], human: Mapping[int, bool], *, like_all: bool
) -> Brought:
    compared = [
        (record, with_it, without)
        for record in records
        if (with_it := record.status(panel)) is not None and (without := record.without(panel, place)) is not None
    ]
    kept = [
        (human.get(record.index), with_it is not InclusionStatus.EXCLUDE, without is not InclusionStatus.EXCLUDE)
        for record, with_it, without in compared
    ]
    included = [(with_it, without) for yes, with_it, without in kept if yes]
    counted = included if like_all else []
    return Brought(
        model=panel.models[place],
        compared=len(compared),
        changed=sum(with_it is not without for _, with_it, without in compared),
        kept_with=sum(with_it for _, with_it, _ in kept),
        kept_without=sum(without for *_, without in kept),
        found=sum(with_it and not without for with_it, without in included),
        lost=sum(without and not with_it for with_it, without in included),
        recall_with=wilson(sum(with_it for with_it, _ in counted), len(counted)),
        recall_without=wilson(sum(without for _, without in counted), len(counted)),
    )


def _differing(panel: Panel, records: Sequence[PanelRecord]) -> tuple[Differing, ...]:
    ranked = [(share, row) for row in records if (share := disagreement([status for status in row.statuses if status]))]
    ranked.sort(key=lambda pair: (-pair[0], pair[1].index))
    return tuple(
        Differing(
            index=row.index,
            item_id=row.item_id,
            disagreement=share,
            words={
                model: "failed" if status is None else status.value
                for model, status in zip(panel.models, row.statuses, strict=True)
            },
        )
        for share, row in ranked[:MOST_DIFFERING]
    )
