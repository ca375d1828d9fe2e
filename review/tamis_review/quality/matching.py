"""The match of a batch's records with a human's labels. Records and labels without a partner are counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tamis_schemas import InvalidRequest, ItemResult
from tamis_schemas.records.item import UNKNOWN_ID
from tamis_schemas.records.random_order import sample
from tamis_schemas.records.record_number import indexed_words
from tamis_schemas.values.frozen import Frozen

from .gold_labels import GoldLabel, GoldLabels
from .inclusion_score import ScoreBasis
from .judged import Judged, Stand, judged

NAMED = 10  # unmatched ids named of each kind


class Matching(Frozen):
    """How labels and records were matched, and how many of them have no partner."""

    by: Literal["id", "place", "index"]  # place: the labels' ids equal the batch's, in order; index: from a pilot
    records: int  # in the batch
    labelled: int  # evaluated records: with a label, without copies
    unlabelled: int  # records without a label, without copies
    unlabelled_ids: tuple[str, ...]  # the first unlabelled ids
    labels: int  # rows of the label file with a label
    empty: int  # rows of the label file with an empty label
    without_record: int  # labels whose record is not in the batch
    without_record_ids: tuple[str, ...]  # the first such ids
    copies: int  # duplicates; the original is judged instead
    labelled_by_copy: int  # records that count as included only because of a duplicate's label


@dataclass(frozen=True)
class Matched:
    """A batch's records with and without a human's label, and how they were matched. Duplicates are omitted."""

    records: tuple[Judged, ...]  # with a label
    others: tuple[Judged, ...]  # without a label
    matching: Matching
    seed: int | None = None  # of the random draw, if `tamis pilot` drew exactly the labelled records
    score: ScoreBasis = field(default_factory=ScoreBasis)  # for the whole batch


def match(rows: Iterable[ItemResult], gold: GoldLabels) -> Matched:
    """Return the records of a batch with their labels.

    A label matches a record by id or, in a file of `tamis pilot`, by index. If the labels have the batch's ids in the
    same order, they match by position; then ids may repeat. A duplicate is not evaluated: its label counts for the
    original. An original is included if a human included it or any of its duplicates.

    Raises:
        InvalidRequest: no label has a record, or the file of `tamis pilot` does not fit the batch. In a match by id:
            two labels of an id contradict each other, or several records have a label's id.
    """
    everything = [judged(row) for row in rows]
    score = _score_basis(everything)
    everything = [replace(record, scale=score.scale) for record in everything]
    indices = _indices(everything, gold)
    by_place = indices is None and [record.item_id for record in everything] == [label.item_id for label in gold.labels]
    strangers: list[str] = []
    row_labels: Sequence[bool | None]  # the label of each record
    if by_place:
        row_labels = [label.included for label in gold.labels]
    elif indices is not None:
        row_labels = [indices.get(record.index) for record in everything]
    else:
        label_of = _by_id(gold)
        ids = Counter(record.item_id for record in everything if not record.copy)
        if shared := next((item_id for item_id in label_of if ids[item_id] > 1), None):
            raise InvalidRequest(_sharing(shared, ids[shared], gold))
        there = {record.item_id for record in everything}
        row_labels = [label_of.get(record.item_id) for record in everything]
        strangers = [item_id for item_id in label_of if item_id not in there]
    rated = [replace(record, human=label) for record, label in zip(everything, row_labels, strict=True)]
    labelled = sum(label.included is not None for label in gold.labels)
    if labelled and all(record.human is None for record in rated):
        raise InvalidRequest(_strangers(everything, gold))
    judged_for = _for_copies(rated)
    records = [record for record in judged_for if not record.copy]
    with_label = [record for record in records if record.human is not None]
    without = [record for record in records if record.human is None]
    return Matched(
        tuple(with_label),
        tuple(without),
        Matching(
            by="place" if by_place else "id" if indices is None else "index",
            records=len(everything),
            labelled=len(with_label),
            unlabelled=len(without),
            unlabelled_ids=tuple(record.item_id for record in without[:NAMED]),
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
    """Return the kind of the batch's scores. All records of the batch decide the kind, with or without a label."""
    decided = [record for record in records if record.confidence is not None and record.stand is not Stand.REFERRED]
    probabilities = sum(record.probability is not None for record in decided)
    return ScoreBasis.counted(len(decided), probabilities, sum(record.relevance is not None for record in decided))


def _indices(everything: Sequence[Judged], gold: GoldLabels) -> dict[int, bool | None] | None:
    """Return the labels of a file of `tamis pilot`: record number in the batch -> label. Return None for another file.

    Raises `InvalidRequest` if the file does not fit the batch.
    """
    if gold.seed is None:
        return None
    label_at: dict[int, bool | None] = {}
    ids = {record.index: record.item_id for record in everything}
    for label in gold.labels:
        if label.index is None or ids.get(label.index) != label.item_id or label.index in label_at:
            record = "the record without an index" if label.index is None else indexed_words(label.index)
            raise InvalidRequest(
                f"{_file(gold)}: line {label.line}: {record} of the batch is not "
                f"{_called(label.item_id)}, or has two rows. The file may be another batch's pilot, or its columns "
                "were sorted separately"
            )
        label_at[label.index] = label.included
    return label_at


def _drawn(records: Sequence[Judged], seed: int | None) -> bool:
    """Return whether a random draw with this seed gives exactly the labelled records."""
    if seed is None:
        return False
    labelled = {record.index for record in records if record.human is not None}
    return set(sample([record.index for record in records], len(labelled), seed=seed)) == labelled


def _by_id(gold: GoldLabels) -> dict[str, bool]:
    """Return the label of each id. Raise `InvalidRequest` if labels of one id contradict each other."""
    first_label: dict[str, GoldLabel] = {}
    for label in gold.labels:
        if label.included is None:
            continue
        before = first_label.setdefault(label.item_id, label)
        if before.included is not label.included:
            lines = "" if label.line is None else f" (lines {before.line} and {label.line})"
            raise InvalidRequest(
                f"{_file(gold)}: {_called(label.item_id)} is both included and excluded{lines}, and the file's "
                "records differ from the batch's in number, order or id: give each record a unique id, or correct "
                "the label"
            )
    return {item_id: bool(label.included) for item_id, label in first_label.items()}


def _for_copies(rated: Sequence[Judged]) -> list[Judged]:
    """Return all records. An original is labelled as included if its own label or any duplicate's label says so."""
    merged = list(rated)
    for record in rated:
        if record.copy_of is not None and record.human is not None and 0 <= record.copy_of < len(merged):
            stays = merged[record.copy_of]
            merged[record.copy_of] = replace(stays, human=bool(stays.human) or record.human)
    return merged


def _sharing(item_id: str, records: int, gold: GoldLabels) -> str:
    what = f"{records} records of the batch have {'no id' if item_id == UNKNOWN_ID else f'the id {item_id!r}'}"
    return (
        f"{_file(gold)}: {what}, and the file's records differ from the batch's in number, order or id, so a label "
        "fits several records: take the labels from the screened file, or give each record a unique id"
    )


def _strangers(records: Sequence[Judged], gold: GoldLabels) -> str:
    labels, ours = (
        ", ".join(repr(item_id) for item_id in list(dict.fromkeys(ids))[:3])
        for ids in (
            (label.item_id for label in gold.labels if label.included is not None),
            (record.item_id for record in records),
        )
    )
    return f"{_file(gold)}: no label belongs to a record of this batch. Ids of labels: {labels}; of records: {ours}"


def _called(item_id: str) -> str:
    return "a record without an id" if item_id == UNKNOWN_ID else repr(item_id)


def _file(gold: GoldLabels) -> str:
    return "the labels" if gold.path is None else str(gold.path)
