"""The records that a person should read next: the stored reading order, without the records decided since."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, Engine

from tamis_producer.ledger import ledger_errors
from tamis_producer.ledger.copies import read_copies
from tamis_schemas import (
    InvalidParameters,
    InvalidRequest,
    NextRecord,
    NextRecords,
    ReadingBy,
    ReadingReason,
    UnknownBatch,
)
from tamis_schemas.operations import panel_of
from tamis_schemas.records.random_order import check_draw

from ..quality.panel_record import read_disputed
from .candidates import Candidate, HumanSays, checked_operation, read_human, read_rules, stream_candidates
from .exploration import EXPLORE
from .order_refits import OrderRefits
from .order_store import (
    OrderTerms,
    ReadingOrder,
    StoredOrder,
    by_number,
    count_items,
    read_basis,
    read_order,
    read_stored,
)

USUAL = 20  # records
MOST = 1_000  # records
SMALL = 5_000  # records in a batch whose order is computed while the caller waits
LONGEST_NAME = 200  # characters
BLIND = (
    "People read blind: records that others have begun come first, then the rest by number. Any other "
    "order would reveal the decisions of the model and of other people."
)


@dataclass(frozen=True)
class Offered:
    """A record that a person should read, with the reason for its position in the order."""

    index: int
    reason: ReadingReason


def offered(
    order: ReadingOrder,
    human: Mapping[int, HumanSays],
    *,
    reviewer: str | None = None,
    first: Sequence[int] = (),
    disputed: Sequence[int] = (),
) -> list[Offered]:
    """Return all readable records, in reading order.

    Without a `reviewer`, a record is readable if people have not decided it, or disagree about it. With a `reviewer`,
    a record is readable if this person has not decided it. The order is:

    1. records in `first`, in the given order;
    2. with a `reviewer`: records that others decided, earliest decision first, so that pairs read the same records;
    3. records in `disputed`, on which models differ, in the given order;
    4. all other records, then the records that the initial filter excluded.
    """
    drawn, apart = ({index: at for at, index in enumerate(places)} for places in (first, disputed))
    placed: list[tuple[tuple[int, int], Offered]] = []  # group and place in it; ties keep their order
    for index, reason in zip(order.places, order.reasons, strict=True):
        says = human.get(index)
        if says is not None and (reviewer in says.reviewers if reviewer is not None else not says.conflict):
            continue
        if index in drawn:
            place, offer = (0, drawn[index]), Offered(index, ReadingReason.SAMPLE)
        elif says is not None and reviewer is not None:
            place, offer = (1, says.first), Offered(index, ReadingReason.PAIR)
        elif says is not None:
            place, offer = (3, 0), Offered(index, ReadingReason.CONFLICT)
        elif index in apart:
            place, offer = (2, apart[index]), Offered(index, ReadingReason.DISAGREEMENT)
        else:
            offer = Offered(index, ReadingReason(reason))
            place = (4 if offer.reason is ReadingReason.RULE else 3, 0)
        placed.append((place, offer))
    return [offer for _, offer in sorted(placed, key=lambda pair: pair[0])]


def why(reason: ReadingReason, record: Candidate, included: int) -> str:
    """Return in words why a record is next. `included`: the number of records that people had included before."""
    scored = "the model did not decide it" if record.score is None else f"the model scores it {record.score:.2f}"
    alike = "its text resembles the " + ("included record" if included == 1 else f"{included:,} included records")
    sentences = {
        ReadingReason.SAMPLE: "it belongs to the random sample of tamis stop",
        ReadingReason.PAIR: "another reviewer has decided on it, and you have not",
        ReadingReason.DISAGREEMENT: "the models of the panel disagree on it",
        ReadingReason.CONFLICT: "people disagree on it: settle it",
        ReadingReason.MODEL: scored,
        ReadingReason.TEXT: alike,
        ReadingReason.BOTH: f"{scored}, and {alike}",
        ReadingReason.EXPLORATION: "it was drawn at random, to find new topics",
        ReadingReason.RULE: f"last, because the rule {record.rule} excluded it",
        ReadingReason.NUMBER: "it is next by number",
        ReadingReason.RETURNED: "its decision was withdrawn",
    }
    return sentences[reason]


def meaning(order: ReadingOrder | StoredOrder, *, decided: int, unread: int, current: bool) -> str:
    """Return a few sentences on how far the order has learnt from people's decisions.

    `decided`, `unread`: current counts of records. `current`: whether the order was computed from all decisions.
    """
    if not unread:
        return "No record is left to read: every record has a decision."
    if not order.decided:
        basis = "The order follows the model's scores, highest first, until people decide."
    elif not order.text_weight:
        kind = "included" if order.included else "excluded"
        records = "the only record" if order.decided == 1 else f"all {order.decided:,} records"
        basis = (
            f"People {kind} {records} known to the order. It follows the model's scores, and learns from texts once "
            "there are both includes and excludes."
        )
    else:
        basis = (
            f"The order was learned from {order.decided:,} decisions, {order.included:,} of them to include. Texts "
            f"count for {order.text_weight:.0%}, the model's score for the rest."
        )
    if not current:
        now = "1 record is" if decided == 1 else f"{decided:,} records are"
        basis += f" It is being updated ({now} decided now), and omits decided records."
    return (
        f"{basis} Places are ranks, not probabilities. Read from the top to find the includes early; `tamis stop` "
        "shows when you may stop."
    )


@dataclass(frozen=True)
class NextQuery:
    """A request for the records that a person should read next."""

    n: int = USUAL
    reviewer: str | None = None  # None: records that no person has decided
    seed: int = 0
    explore: float = EXPLORE
    fresh: bool = False  # wait until the order includes every decision
    by: ReadingBy = ReadingBy.ORDER
    blind: bool = False  # no place or figure reveals a hidden decision
    hidden: Collection[int] = frozenset()  # places of records whose decisions the reviewer must not see yet

    def checked(self) -> "NextQuery":
        """Return the query. Raise `InvalidParameters` if it is invalid."""
        check_draw(self.n, self.seed)
        if self.n > MOST:
            raise InvalidParameters(f"n: {self.n:,} records are too many: the maximum is {MOST:,} at once")
        if isinstance(self.explore, bool) or not 0 <= self.explore <= 1:
            raise InvalidParameters(
                f"explore: {self.explore!r} is not a share from 0 (no record at random) to 1 (all at random)"
            )
        if self.reviewer is not None and not 0 < len(self.reviewer.strip()) <= LONGEST_NAME:
            raise InvalidParameters(f"reviewer: {self.reviewer!r} is not a name of 1 to {LONGEST_NAME} characters")
        return self

    @property
    def terms(self) -> OrderTerms:
        """Return the settings of the wanted order: the seed, and the share of records drawn at random."""
        return OrderTerms(self.seed, self.explore)


def next_records(
    engine: Engine, batch_id: UUID, query: NextQuery, refits: OrderRefits, *, first: Sequence[int] = ()
) -> NextRecords:
    """Return the records to read next, from the stored order, or by record number for `query.blind`.

    The stored order is updated first if `query.fresh` is set, or if the batch has at most `SMALL` records and the
    update is quick. Otherwise, the update runs in the background, and the previous order is used. If no order with
    these settings is stored, the order by the model's scores is used. `first`: numbers of the records that come before
    all others.

    Raises:
        InvalidParameters: an invalid query.
        InvalidRequest: the operation makes no decisions to include or exclude; or the order is by disagreement, and
            the batch has only one model.
        UnknownBatch: the batch is being purged.
        ConfigurationError: the extra `order` is not installed.
        LedgerUnavailable: the ledger does not answer.
    """
    query.checked()
    if not query.blind:
        keep_order(engine, batch_id, query, refits)
    with ledger_errors(), engine.connect() as connection:
        return _read(connection.execution_options(isolation_level="REPEATABLE READ"), batch_id, query, first)


def keep_order(engine: Engine, batch_id: UUID, query: NextQuery, refits: OrderRefits) -> None:
    """Update the batch's stored order if it is not current.

    For `query.fresh` or a small batch, the caller waits for the update. For other batches, or if the update of a small
    batch is slow, the update runs in the background. If no order with these settings is stored, the order by the
    model's scores is stored until the update ends.

    Raises the errors of `next_records`.
    """
    terms = query.terms
    with ledger_errors(), engine.connect() as connection:
        checked_operation(connection, batch_id)
        stored, small = read_stored(connection, batch_id), count_items(connection, batch_id) <= SMALL
        current = is_current(connection, batch_id, stored, terms)
    if not current and not ((query.fresh or small) and refits.finished(batch_id, terms, patient=query.fresh)):
        if stored is None or stored.terms != terms:
            refits.cold(batch_id, terms)
        refits.begin(batch_id, terms)


def is_current(connection: Connection, batch_id: UUID, stored: StoredOrder | None, terms: OrderTerms) -> bool:
    """Return whether a stored order has these settings, and was computed from all decisions of people and models."""
    return stored is not None and stored.terms == terms and stored.basis == read_basis(connection, batch_id)


def _read(connection: Connection, batch_id: UUID, query: NextQuery, first: Sequence[int]) -> NextRecords:
    operation = checked_operation(connection, batch_id)
    stored, order = read_stored(connection, batch_id), read_order(connection, batch_id)
    if query.blind:
        stored, order = by_number(query.terms, read_rules(connection, batch_id))
    if stored is None or order is None:
        raise UnknownBatch(f"batch {batch_id} is being purged: none of its data is kept")
    human = read_human(connection, batch_id)
    if query.by is ReadingBy.DISAGREEMENT and panel_of(operation) is None:
        raise InvalidRequest(f"batch {batch_id} asks one model: only the models of a panel can disagree on a record")
    disputed = read_disputed(connection, batch_id) if query.by is ReadingBy.DISAGREEMENT else ()
    copies = read_copies(connection, batch_id)  # people may have named them since the order was made
    offers = offered(order, human, reviewer=query.reviewer, first=first, disputed=disputed)
    may_be_read = [offer for offer in offers if offer.index not in copies]
    chosen = may_be_read[: query.n]
    places = [offer.index for offer in chosen]
    records = {record.index: record for record in stream_candidates(connection, batch_id, places=places)}
    human = {place: says for place, says in human.items() if place not in query.hidden}
    decided = sum(not says.conflict for says in human.values())
    current = query.blind or is_current(connection, batch_id, stored, query.terms)
    return NextRecords(
        batch_id=str(batch_id),
        seed=stored.terms.seed,
        explore=stored.terms.explore,
        reviewer=query.reviewer,
        records=tuple(_record(offer, records[offer.index], stored.included, blind=query.blind) for offer in chosen),
        unread=len(may_be_read),
        decided=decided,
        included=sum(operation.verdict(says.value) is True for says in human.values()),
        conflicts=len(human) - decided,
        made_after=stored.decided,
        made_at=stored.made_at,
        current=current,
        text_weight=stored.text_weight,
        meaning=BLIND if query.blind else meaning(stored, decided=decided, unread=len(may_be_read), current=current),
    )


def _record(offer: Offered, record: Candidate, included: int, *, blind: bool) -> NextRecord:
    return NextRecord(
        index=record.index,
        item_id=record.item_id,
        title=record.title,
        reason=offer.reason,
        why=why(offer.reason, record, included),
        score=None if blind else record.score,
        rule=record.rule,
    )
