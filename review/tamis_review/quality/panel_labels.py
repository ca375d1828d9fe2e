"""The recall of a panel (several models that judge the same records), as far as people's labels show it.

People usually read only the records that a panel keeps. They never see an include that all models exclude, so the panel
seems to keep every include. The labels show the recall only if they are like a random sample (module `sampling`) in two
parts of the records: the records that some model keeps, and the records that all models exclude.

    recall = K / (F + M),   K, F = labelled includes / g,   M = labelled includes / f

F counts the includes that some model keeps, K those that the panel keeps by its policy, M those that all models
exclude. g is the share of labelled records in the first part, f the share in the second part. The lower bound does not
divide by g and f. It takes for M the most includes that the sample of the second part allows.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

from tamis_schemas import InclusionStatus
from tamis_schemas.operations.panel import Panel
from tamis_schemas.values.frozen import Frozen

from .exact import most_in_population
from .judged import Judged, Stand
from .panel_record import PanelRecord, Word
from .sampling import examine

STANDS = {InclusionStatus.INCLUDE: Stand.INCLUDE, InclusionStatus.EXCLUDE: Stand.EXCLUDE}


class PanelRecall(Frozen):
    """The recall of a panel of models: the share of all includes that it keeps, as far as people's labels show it."""

    excluded: int  # records that all models exclude
    labelled: int  # of `excluded`
    missed: int  # of `labelled`: the records that people included
    unknown: str | None = None  # why the recall is not known; None: it is known
    recall: float | None = None
    low: float | None = None  # lower bound of `recall`, with 95 % confidence; None: it cannot be computed
    like_all: bool = False  # the labels are like a random sample of all records
    odds: float = 1.0  # share of labels among `excluded` / among the other records; 1 if `unknown` or `like_all`


def panel_recall(panel: Panel, records: Sequence[PanelRecord], human: Mapping[int, bool]) -> PanelRecall:
    """Return the recall of a panel of models, or the reason why it is unknown.

    `human`: record number in the batch -> people's decision, True for included.
    """
    parts: dict[bool, list[Judged]] = {True: [], False: []}
    for record in records:
        parts[some_keeps(record.words)].append(_judged(panel, record, human))
    labels = {kept: [record.included for record in part if record.human is not None] for kept, part in parts.items()}
    shares = {kept: len(labels[kept]) / len(part) if part else 1.0 for kept, part in parts.items()}
    unknown = next(filter(None, (_why_not(parts[kept], labels[kept], kept=kept) for kept in (False, True))), None)
    like_all = unknown is None and examine([*parts[True], *parts[False]]).promises
    counts = PanelRecall(
        excluded=len(parts[False]),
        labelled=len(labels[False]),
        missed=sum(labels[False]),
        unknown=unknown,
        like_all=like_all,
        odds=1.0 if unknown or like_all else shares[False] / shares[True],
    )
    included = [record for record in parts[True] if record.included]
    if unknown or not len(included) + counts.missed:
        return counts
    kept = sum(record.stand is not Stand.EXCLUDE for record in included)
    recall = kept / (len(included) + counts.missed * shares[True] / shares[False])
    most = most_in_population(counts.missed, counts.labelled, counts.excluded)
    bounded = shares[True] == 1 or kept == len(included)
    return counts.model_copy(update={"recall": recall, "low": kept / (len(included) + most) if bounded else None})


def some_keeps(words: Sequence[Word]) -> bool:
    """Return whether some model did not exclude the record. A model that failed did not exclude the record.

    `words`: the models' answers on the record.
    """
    return any(word.status is not InclusionStatus.EXCLUDE for word in words)


def _why_not(part: Sequence[Judged], labels: Sequence[bool], *, kept: bool) -> str | None:
    """Return why the labels of a part of the records do not represent this part, or None if they represent it."""
    which = f"{len(part):,} records that {'some model keeps' if kept else 'all models exclude'}"
    if part and not labels:
        return f"people decided none of the {which}"
    why = examine(part).why_not
    return why and f"of the {which}, those with a decision are no random sample: {why}"


def _judged(panel: Panel, record: PanelRecord, human: Mapping[int, bool]) -> Judged:
    status = record.status(panel)
    stand = Stand.REFERRED if status is None else STANDS.get(status, Stand.REFERRED)
    scores = [word.vote.score for word in record.words if word.vote is not None]
    score = fmean(scores) if scores else 0.0
    confidence = score if stand is Stand.INCLUDE else 1 - score
    return Judged(record.index, record.item_id, "", stand, "", confidence, human=human.get(record.index))
