"""A batch's records with a human's labels put to them; what does not fit together is counted and named."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tamis_schemas import InvalidRequest, ItemResult
from tamis_schemas.operations import kind_of
from tamis_schemas.records.item import UNKNOWN_ID
from tamis_schemas.records.random_order import sample
from tamis_schemas.records.record_number import indexed_words
from tamis_schemas.values.frozen import Frozen

from .gold_labels import GoldLabel, GoldLabels
from .inclusion_score import ScoreBasis
from .judged import Judged, Stand, judged

NAMED = 10  # ids of what did not match, of each kind


class Matching(Frozen):
    """The match of labels and records."""

    by: Literal["id", "place", "index"]  # place: the labels' records are the batch's own, in order; index: of a pilot
    records: int  # of the batch
    labelled: int  # records with a label, copies not counted: those that are evaluated
    unlabelled: int  # records without one, copies not counted
    unlabelled_ids: tuple[str, ...]  # the first of them
    labels: int  # records of the file that have a label
    empty: int  # records of the file whose label is empty
    without_record: int  # labels whose record is not in the batch
    without_record_ids: tuple[str, ...]  # the first of them
    copies: int  # records of the batch that are copies of another one, which is judged for them
    labelled_by_copy: int  # records that a human included only under a copy, and that count as included


@dataclass(frozen=True)
class Matched:
    """The records that a human labelled, copies left out, and how they were found."""

    records: tuple[Judged, ...]  # with a label
    others: tuple[Judged, ...]  # without one
    matching: Matching
    seed: int | None = None  # where `tamis pilot` drew the labelled records, and these alone
    score: ScoreBasis = field(default_factory=ScoreBasis)  # of the whole batch


def check_decides(batch_id: str, operation: str) -> None:
    """Raise `InvalidRequest` where a batch's operation includes or excludes nothing: labels say nothing of it."""
    if not kind_of(operation).decides():
        raise InvalidRequest(
            f"batch {batch_id} is of the operation {operation!r}: labels say included or excluded, which only "
            "`tamis screen` and `tamis filter` decide"
        )


def match(rows: Iterable[ItemResult], gold: GoldLabels) -> Matched:
    """The rows of a batch with their labels.

    By id; where the labels' ids are the batch's own, one after the other, by place, so that ids which several records
    share do no harm. A copy of another record is not evaluated: no model was asked about it. Its label counts for the
    record that stands for it: a work is included where a human included any of its copies.

    Raises `InvalidRequest`: no label has a record; two labels of one id contradict each other; or a label is of an id
    that several records share.
    """
    everything = [judged(row) for row in rows]
    score = _score_basis(everything)
    everything = [replace(record, scale=score.scale) for record in everything]
    indices = _indices(everything, gold)
    by_place = indices is None and [one.item_id for one in everything] == [label.item_id for label in gold.labels]
    strangers: list[str] = []
    said: Sequence[bool | None]  # of each record what its label says
    if by_place:
        said = [label.included for label in gold.labels]
    elif indices is not None:
        said = [indices.get(one.index) for one in everything]
    else:
        label_of = _by_id(gold)
        ids = Counter(one.item_id for one in everything if not one.copy)
        if shared := next((item_id for item_id in label_of if ids[item_id] > 1), None):
            raise InvalidRequest(_sharing(shared, ids[shared], gold))
        there = {one.item_id for one in everything}
        said = [label_of.get(one.item_id) for one in everything]
        strangers = [item_id for item_id in label_of if item_id not in there]
    rated = [replace(one, human=label) for one, label in zip(everything, said, strict=True)]
    labelled = sum(label.included is not None for label in gold.labels)
    if labelled and all(one.human is None for one in rated):
        raise InvalidRequest(_strangers(everything, gold))
    judged_for = _for_copies(rated)
    records = [one for one in judged_for if not one.copy]
    with_label = [one for one in records if one.human is not None]
    without = [one for one in records if one.human is None]
    return Matched(
        tuple(with_label),
        tuple(without),
        Matching(
            by="place" if by_place else "id" if indices is None else "index",
            records=len(everything),
            labelled=len(with_label),
            unlabelled=len(without),
            unlabelled_ids=tuple(one.item_id for one in without[:NAMED]),
            labels=labelled,
            empty=len(gold.labels) - labelled,
            without_record=len(strangers),
            without_record_ids=tuple(strangers[:NAMED]),
            copies=len(everything) - len(records),
            labelled_by_copy=sum(
                after.human is True and before.human is not True
                for before, after in zip(rated, judged_for, strict=True)
                if not before.copy
            ),
        ),
        gold.seed if _drawn(records, gold.seed) else None,
        score,
    )


def _score_basis(records: Sequence[Judged]) -> ScoreBasis:
    """Return the basis of the scores of the whole batch, labelled or not."""
    decided = [record for record in records if record.confidence is not None and record.stand is not Stand.REFERRED]
    probabilities = sum(record.probability is not None for record in decided)
    return ScoreBasis.counted(len(decided), probabilities, sum(record.relevance is not None for record in decided))


def _indices(everything: Sequence[Judged], gold: GoldLabels) -> dict[int, bool | None] | None:
    """The labels of a pilot's file by the places of its records; None of any other file."""
    if gold.seed is None:
        return None
    label_at: dict[int, bool | None] = {}
    ids = {one.index: one.item_id for one in everything}
    for label in gold.labels:
        if label.index is None or ids.get(label.index) != label.item_id or label.index in label_at:
            record = "the record without an index" if label.index is None else indexed_words(label.index)
            raise InvalidRequest(
                f"{_file(gold)}: line {label.line}: {record} of the batch is not "
                f"{_called(label.item_id)}, or stands there twice: is it the pilot of another batch, or were columns "
                "sorted apart?"
            )
        label_at[label.index] = label.included
    return label_at


def _drawn(records: Sequence[Judged], seed: int | None) -> bool:
    """Return whether the records with a label are those that a draw with this seed gives first."""
    if seed is None:
        return False
    labelled = {one.index for one in records if one.human is not None}
    return set(sample([one.index for one in records], len(labelled), seed=seed)) == labelled


def _by_id(gold: GoldLabels) -> dict[str, bool]:
    """Return the label of each id; several labels of one id must agree."""
    first_label: dict[str, GoldLabel] = {}
    for label in gold.labels:
        if label.included is None:
            continue
        before = first_label.setdefault(label.item_id, label)
        if before.included is not label.included:
            lines = "" if label.line is None else f" (lines {before.line} and {label.line})"
            raise InvalidRequest(
                f"{_file(gold)}: {_called(label.item_id)} is both included and excluded{lines}, and the file's "
                "records are not the batch's own, one after the other: give each an id of its own, or correct the label"
            )
    return {item_id: bool(label.included) for item_id, label in first_label.items()}


def _for_copies(rated: Sequence[Judged]) -> list[Judged]:
    """The records, those that have copies with what was said of any of them."""
    merged = list(rated)
    for one in rated:
        if one.copy_of is not None and one.human is not None and 0 <= one.copy_of < len(merged):
            stays = merged[one.copy_of]
            merged[one.copy_of] = replace(stays, human=bool(stays.human) or one.human)
    return merged


def _sharing(item_id: str, records: int, gold: GoldLabels) -> str:
    what = f"{records} records of the batch have {'no id' if item_id == UNKNOWN_ID else f'the id {item_id!r}'}"
    return (
        f"{what}, and {_file(gold)} is not the file that was screened, record by record, so nobody can say which of "
        "them its label means: take the labels from the screened file itself, or give each record an id of its own"
    )


def _strangers(records: Sequence[Judged], gold: GoldLabels) -> str:
    labels, own = (
        ", ".join(repr(item_id) for item_id in list(dict.fromkeys(ids))[:3])
        for ids in (
            (label.item_id for label in gold.labels if label.included is not None),
            (one.item_id for one in records),
        )
    )
    return f"{_file(gold)}: no label is of a record of this batch; the labels are of {labels}, the batch holds {own}"


def _called(item_id: str) -> str:
    return "what has no id" if item_id == UNKNOWN_ID else repr(item_id)


def _file(gold: GoldLabels) -> str:
    return "the labels" if gold.path is None else str(gold.path)
