"""The records that a person should read next: those of the order that is kept, without what is decided by now."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import Connection, Engine

from tamis_producer.ledger import ledger_errors
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
from .candidates import Candidate, HumanSays, checked_operation, read_human, stream_candidates
from .exploration import EXPLORE
from .order_refits import OrderRefits
from .order_store import OrderTerms, ReadingOrder, StoredOrder, count_items, read_basis, read_order, read_stored

USUAL = 20  # records
MOST = 1_000  # records
SMALL = 5_000  # records of a batch whose order is worked out while one waits
LONGEST_NAME = 200  # characters
BLIND = (
    "People read blind: what others have begun comes first, then the rest by number. An order by promise would "
    "tell what the model and other people decided."
)


@dataclass(frozen=True)
class Offered:
    """A record that a person may read, at its place in the order."""

    index: int
    reason: ReadingReason
    probability: float | None


def offered(
    order: ReadingOrder,
    human: Mapping[int, HumanSays],
    *,
    reviewer: str | None = None,
    first: Sequence[int] = (),
    disputed: Sequence[int] = (),
) -> list[Offered]:
    """Return all records that may be read, the next one first.

    Those in `first` come before all others, in the order given; what rules exclude comes last. A record in conflict is
    undecided. With a `reviewer`: the records that this person has not decided on, those that others have coming first,
    in the order in which they did, so that who reads in pairs reads the same records. Behind these come the `disputed`,
    on which models differ, in the order given.
    """
    drawn, apart = ({index: at for at, index in enumerate(places)} for places in (first, disputed))
    placed: list[tuple[tuple[int, int], Offered]] = []  # the group, and the place in it; equal ones stay in their order
    for index, reason, probability in zip(order.places, order.reasons, order.probabilities, strict=True):
        says = human.get(index)
        if says is not None and (reviewer in says.reviewers if reviewer is not None else not says.conflict):
            continue
        if index in drawn:
            place, one = (0, drawn[index]), Offered(index, ReadingReason.SAMPLE, probability)
        elif says is not None and reviewer is not None:
            place, one = (1, says.first), Offered(index, ReadingReason.PAIR, None)
        elif says is not None:
            place, one = (3, 0), Offered(index, ReadingReason.CONFLICT, probability)
        elif index in apart:
            place, one = (2, apart[index]), Offered(index, ReadingReason.DISAGREEMENT, probability)
        else:
            one = Offered(index, ReadingReason(reason), probability)
            place = (4 if one.reason is ReadingReason.RULE else 3, 0)
        placed.append((place, one))
    placed.sort(key=lambda pair: pair[0])
    return [one for _, one in placed]


def by_number(records: Sequence[Offered]) -> list[Offered]:
    """Return the same records as people who read blind are offered them: no place and no figure tells a decision.

    The sample and what others have begun stay first, what rules exclude last; all others come by their number.
    """
    kept, last = {ReadingReason.SAMPLE, ReadingReason.PAIR}, ReadingReason.RULE

    def place(one: Offered) -> tuple[int, int]:
        return (0, 0) if one.reason in kept else (1 + (one.reason is last), one.index)

    return [
        replace(one, probability=None, reason=one.reason if one.reason in {*kept, last} else ReadingReason.NUMBER)
        for one in sorted(records, key=place)
    ]


def why(reason: ReadingReason, record: Candidate, included: int) -> str:
    """Return a sentence: why a record is next. `included`: records that people had included when the order was made."""
    scored = "the model did not decide it" if record.score is None else f"the model scores it {record.score:.2f}"
    alike = "its text is like the included record's" if included == 1 else f"its text is like the {included:,} included"
    sentences = {
        ReadingReason.SAMPLE: "it belongs to the random sample of tamis stop",
        ReadingReason.PAIR: "somebody else has decided on it, and you have not",
        ReadingReason.DISAGREEMENT: "the models of the panel differ on it",
        ReadingReason.CONFLICT: "people decided differently: settle it",
        ReadingReason.MODEL: scored,
        ReadingReason.TEXT: alike,
        ReadingReason.BOTH: f"{scored}, and {alike}",
        ReadingReason.EXPLORATION: "chance drew it, so that new topics are seen",
        ReadingReason.RULE: f"last, for the rule {record.rule} excluded it",
        ReadingReason.NUMBER: "it is the next one by number",
        ReadingReason.RETURNED: "its decision was withdrawn",
    }
    return sentences[reason]


def meaning(order: ReadingOrder | StoredOrder, *, decided: int, unread: int, current: bool) -> str:
    """Return what an order means for the review, in a few sentences.

    `decided`, `unread`: records of now; `current`: the order knows all decisions.
    """
    if not unread:
        return "Nothing is left to read: every record has a decision."
    if not order.decided:
        basis = "The order is the model's, highest score first, as it is before people decide."
    elif not order.text_weight:
        kind = "included" if order.included else "excluded"
        basis = (
            f"People {kind} all {order.decided:,} records of which the order knows: it is the model's, and learns from "
            f"texts once there is one of either kind."
        )
    else:
        basis = (
            f"The order was learned from {order.decided:,} decisions, {order.included:,} of them to include: what a "
            f"text says counts for {order.text_weight:.0%} in it, the model's score for the rest."
        )
    if not current:
        basis += f" It is being brought up to date ({decided:,} records are decided now); what is decided is left out."
    return f"{basis} Whoever reads from the top finds the includes early; `tamis stop` says when the rest may be left."


@dataclass(frozen=True)
class NextQuery:
    """What a person asks for."""

    n: int = USUAL
    reviewer: str | None = None  # None: records that nobody has decided on
    seed: int = 0
    explore: float = EXPLORE
    fresh: bool = False  # wait until the order knows every decision
    by: ReadingBy = ReadingBy.ORDER
    blind: bool = False  # no place and no figure tells what was decided

    def checked(self) -> "NextQuery":
        """Return the same. Raises `InvalidParameters` where it makes no sense."""
        check_draw(self.n, self.seed)
        if self.n > MOST:
            raise InvalidParameters(f"n: {self.n:,} records are too many: {MOST:,} at most are given at once")
        if isinstance(self.explore, bool) or not 0 <= self.explore <= 1:
            raise InvalidParameters(
                f"explore: {self.explore!r} is no share: from 0, no place goes to chance, to 1, every place does"
            )
        if self.reviewer is not None and not 0 < len(self.reviewer.strip()) <= LONGEST_NAME:
            raise InvalidParameters(f"reviewer: {self.reviewer!r} is no name, of {LONGEST_NAME} characters at most")
        return self

    @property
    def terms(self) -> OrderTerms:
        """Return what of it the order depends on."""
        return OrderTerms(self.seed, self.explore)


def next_records(
    engine: Engine, batch_id: UUID, query: NextQuery, refits: OrderRefits, *, first: Sequence[int] = ()
) -> NextRecords:
    """Return the records to read next.

    Of a batch of up to `SMALL` records, and with `fresh`, they follow from seed and decisions alone. Of a larger one
    they are the first undecided ones of the order that is kept, or at the first call of the model's, while the order is
    brought up to date. `first`: places of records that come before all others, in the order given.

    Raises:
        InvalidParameters: a query that makes no sense.
        InvalidRequest: the operation includes and excludes nothing; or it is to go by disagreement, and asks one model.
        UnknownBatch: it is being purged.
        ConfigurationError: the extra `order` is not installed.
        LedgerUnavailable: the ledger does not answer.
    """
    keep_order(engine, batch_id, query.checked(), refits)
    with ledger_errors(), engine.connect() as connection:
        return _read(connection.execution_options(isolation_level="REPEATABLE READ"), batch_id, query, first)


def keep_order(engine: Engine, batch_id: UUID, query: NextQuery, refits: OrderRefits) -> None:
    """See to it that an order is kept, and have it brought up to date as `next_records` does; raises as that does."""
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
    """Return whether an order is there, of these terms, and knows all that there is to know."""
    return stored is not None and stored.terms == terms and stored.basis == read_basis(connection, batch_id)


def _read(connection: Connection, batch_id: UUID, query: NextQuery, first: Sequence[int]) -> NextRecords:
    operation = checked_operation(connection, batch_id)
    stored, order = read_stored(connection, batch_id), read_order(connection, batch_id)
    if stored is None or order is None:
        raise UnknownBatch(f"batch {batch_id} is being purged: nothing is kept of it")
    human = read_human(connection, batch_id)
    if query.by is ReadingBy.DISAGREEMENT and panel_of(operation) is None:
        raise InvalidRequest(f"batch {batch_id} asks one model: only the models of a panel can differ on a record")
    disputed = read_disputed(connection, batch_id) if query.by is ReadingBy.DISAGREEMENT else ()
    may_be_read = offered(order, human, reviewer=query.reviewer, first=first, disputed=disputed)
    if query.blind:
        may_be_read = by_number(may_be_read)
    chosen = may_be_read[: query.n]
    places = [offer.index for offer in chosen]
    records = {record.index: record for record in stream_candidates(connection, batch_id, places=places)}
    decided = sum(not one.conflict for one in human.values())
    current = is_current(connection, batch_id, stored, query.terms)
    return NextRecords(
        batch_id=str(batch_id),
        seed=stored.terms.seed,
        explore=stored.terms.explore,
        reviewer=query.reviewer,
        records=tuple(_record(one, records[one.index], stored.included, blind=query.blind) for one in chosen),
        unread=len(may_be_read),
        decided=decided,
        included=sum(operation.verdict(one.value) is True for one in human.values()),
        conflicts=len(human) - decided,
        made_after=stored.decided,
        made_at=stored.made_at,
        current=current,
        text_weight=stored.text_weight,
        meaning=BLIND if query.blind else meaning(stored, decided=decided, unread=len(may_be_read), current=current),
    )


def _record(one: Offered, record: Candidate, included: int, *, blind: bool) -> NextRecord:
    return NextRecord(
        index=record.index,
        item_id=record.item_id,
        title=record.title,
        reason=one.reason,
        why=why(one.reason, record, included),
        score=None if blind else record.score,
        probability=one.probability,
        rule=record.rule,
    )
