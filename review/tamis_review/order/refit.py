"""The computation of a reading order from the ledger. The computations of a batch run one after another."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from threading import Lock
from uuid import UUID

from sqlalchemy import Connection, Engine

from tamis_producer.ledger import ledger_errors
from tamis_schemas import ReadingReason

from .candidates import Candidate, stream_candidates
from .exploration import with_exploration
from .order_store import OrderBasis, OrderTerms, ReadingOrder, one_refit_at_a_time, read_basis, read_stored, write_order
from .ranking import rank
from .text_features import TextFeatures

KEPT = 100_000  # records whose features a process keeps; 50,000 abstracts need about 200 MB


class FeatureCache:
    """The text features of the most recently ordered batches. Features stay valid, because texts never change."""

    def __init__(self, records: int = KEPT) -> None:
        self._records = records
        self._lock = Lock()
        self._kept: OrderedDict[UUID, TextFeatures] = OrderedDict()

    def features(self, batch_id: UUID, make: Callable[[], TextFeatures]) -> TextFeatures:
        """Return a batch's features, from the cache or computed by `make`."""
        with self._lock:
            if (kept := self._kept.get(batch_id)) is not None:
                self._kept.move_to_end(batch_id)
                return kept
        made = make()
        with self._lock:
            self._kept[batch_id] = made
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > self._records:
                self._kept.popitem(last=False)
        return made


def refit(engine: Engine, batch_id: UUID, terms: OrderTerms, cache: FeatureCache, *, cold: bool = False) -> None:
    """Compute a batch's order and store it, unless the stored order is current.

    `terms`: the settings of the order. With `cold`, the order ignores people's decisions, and is stored only if no
    order with these terms is stored. A second caller for the batch waits until the first has finished.

    Raises:
        InvalidRequest: the operation makes no decisions to include or exclude.
        ConfigurationError: the extra `order` is not installed.
        LedgerUnavailable: the ledger does not answer.
    """
    with ledger_errors(), engine.begin() as connection:
        one_refit_at_a_time(connection, batch_id)
        basis, stored = OrderBasis() if cold else read_basis(connection, batch_id), read_stored(connection, batch_id)
        if stored is not None and stored.terms == terms and (cold or stored.basis == basis):
            return
        made = _worked_out(connection, batch_id, terms, cache, cold=cold)
        write_order(connection, batch_id, terms, basis, replace(made, decided=0) if cold else made)


def _worked_out(
    connection: Connection, batch_id: UUID, terms: OrderTerms, cache: FeatureCache, *, cold: bool
) -> ReadingOrder:
    records = list(stream_candidates(connection, batch_id, texts=False))
    labels = {} if cold else {row: record.included for row, record in enumerate(records) if record.included is not None}
    if len({*labels.values()}) < 2:  # nothing to learn: texts are not used
        features = TextFeatures.of([""] * len(records))
    else:
        texts = (f"{record.title}\n{record.abstract}" for record in stream_candidates(connection, batch_id))
        features = cache.features(batch_id, lambda: TextFeatures.of(texts))
    return reading_order(features, records, labels, terms)


def reading_order(
    features: TextFeatures, records: Sequence[Candidate], labels: Mapping[int, bool], terms: OrderTerms
) -> ReadingOrder:
    """Return all records in order: undecided without a rule, undecided but excluded by a rule, decided.

    `labels`: index in `records` -> people's decision, True for included. Records that a rule excluded are never drawn
    at random.
    """
    ranking = rank(features, [record.score for record in records], labels, seed=terms.seed)
    ranked = {record.row: record for record in ranking.records}
    unread = [row for row in ranked if not records[row].decided]
    decided = [row for row, record in enumerate(records) if record.decided]
    open_to_chance = [row for row in unread if records[row].rule is None]
    read, drawn = with_exploration(open_to_chance, read=len(decided), share=terms.explore, seed=terms.seed)
    ruled = [row for row in unread if records[row].rule is not None]
    rows = [*read, *ruled, *decided]
    reasons = [
        *(ReadingReason.EXPLORATION if row in drawn else ranked[row].why for row in read),
        *(ReadingReason.RULE for _ in ruled),
        *(ReadingReason.RETURNED for _ in decided),
    ]
    return ReadingOrder(
        places=[records[row].index for row in rows],
        reasons=reasons,
        decided=len(decided),
        included=ranking.included,
        text_weight=ranking.text_weight,
    )
