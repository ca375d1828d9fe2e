"""People's reading of a batch: visibility of decisions, next records, and when to stop."""

from typing import TYPE_CHECKING

from tamis_producer.client.batch import Batch
from tamis_producer.client.client import Client
from tamis_producer.client.session import Session
from tamis_producer.gateway import api_keys
from tamis_producer.ledger import read_views
from tamis_producer.ledger.stop_samples import read_open_sample
from tamis_producer.process.waiting import BesideLoop
from tamis_schemas import (
    Blinded,
    IllegalTransition,
    InvalidParameters,
    NextRecords,
    ReadingBy,
    ScreeningMode,
    ScreeningModeSet,
    StopAnswer,
)

from .decisions import blindness, stop_samples
from .decisions.stopping import read_stop
from .decisions.visibility import visible
from .order import next_records as reading_order
from .order.exploration import EXPLORE
from .order.next_records import NextQuery
from .order.order_refits import OrderRefits

if TYPE_CHECKING:
    from .report.team import Team
    from .report.work_filter import WorkQuery
    from .report.work_list import WorkList


def get_screening_mode(batch: Batch) -> ScreeningModeSet:
    """Return the screening mode of the batch, with the person who set it and the time. The default is `single`.

    The mode says which decisions people may see. May raise `LedgerUnavailable`.
    """
    with batch.session.reading() as connection:
        return blindness.read_mode_set(connection, batch.uuid)


def set_screening_mode(batch: Batch, mode: ScreeningMode | str, *, set_by: str) -> ScreeningModeSet:
    """Set the screening mode of the batch. `mode`: a `ScreeningMode` or its name. `set_by`: the person who sets it.

    The mode says which decisions people may see over HTTP, and on terminals where the environment variable
    `TAMIS_PERSON` has the person's name.

    Raises:
        InvalidParameters: an unknown mode, or no name.
        InvalidRequest: the operation makes no decisions.
        LedgerUnavailable: the ledger does not answer.
    """
    if mode not in [*ScreeningMode]:
        raise InvalidParameters(f"{mode!r} is not a screening mode; the modes are {', '.join(ScreeningMode)}")
    with batch.session.writing() as connection:
        return blindness.set_mode(connection, batch.uuid, ScreeningMode(mode), set_by=set_by)


def order_refits(client: Session) -> OrderRefits:
    """Return the object that computes reading orders for the client. Closing the client closes the object."""
    return client.attached(
        OrderRefits,
        lambda: OrderRefits(client.engine, client.settings.database, beside=isinstance(client.waiting, BesideLoop)),
    )


def next_records(
    batch: Batch,
    n: int = 20,
    *,
    reviewer: str | None = None,
    seed: int = 0,
    explore: float | None = None,
    fresh: bool = False,
    by: ReadingBy | str = ReadingBy.ORDER,
) -> NextRecords:
    """Return the records that a person should read next, in order, each with the reason for its position.

    First come the records of the open sample that `draw_stop_sample` drew. The most promising records follow, by the
    model's score and by the texts of the records decided so far. Records that the initial filter excluded come last.
    With up to 5,000 records, or `fresh`, the order is updated first. In other cases, or if the update is slow, the
    stored order is used, and the update runs in the background. If the client's user reads blind, the records come in
    the order of their numbers, and no returned number depends on hidden decisions.

    Args:
        batch: the batch.
        n: the number of records, at most 1,000.
        reviewer: the person who reads, if people read in pairs or blind. The result skips the records that this person
            has decided, and begins with records that others have decided. None: it skips all decided records.
        seed: the seed of the random draws. The same seed and decisions give the same order.
        explore: the share of positions for records drawn at random. None: 0.02.
        fresh: wait until the order includes every decision.
        by: the kind of order. `disagreement` begins with the records on which the models of the batch's panel differ.

    Raises:
        InvalidRequest: the operation does not include or exclude records; or `by` is `disagreement`, but the batch has
            a single model.
        InvalidParameters: an invalid `n`, `seed`, `explore` or `reviewer`.
        Blinded: the client's user reads blind, but `reviewer` is another person, or `by` is `disagreement`.
        ConfigurationError: the extra `order` is not installed.
        LedgerUnavailable: the ledger does not answer.
    """
    with batch.session.snapshot() as connection:
        sampled, seen = read_open_sample(connection, batch.uuid), visible(connection, batch)
    seen.check_name(reviewer)
    query = NextQuery(n, reviewer, seed, EXPLORE if explore is None else explore, fresh, ReadingBy(by))
    if seen.blind and query.by is not ReadingBy.ORDER:
        raise Blinded("people read blind: the order by disagreement would reveal the models' decisions")
    if seen.blind:
        query = NextQuery(n, seen.me, seed, blind=True, hidden=seen.hidden)
    refits = order_refits(batch.session)
    return reading_order.next_records(batch.session.engine, batch.uuid, query, refits, first=sampled)


def list_work(batch: Batch, query: "WorkQuery", *, reviewer: str) -> "WorkList":
    """Return a page of the work list of the person `reviewer`, without the decisions that are hidden from this person.

    Raises `InvalidParameters` for an invalid cursor, `InvalidRequest` if the operation does not include or exclude
    records, and `ConfigurationError` if the extra `order` is needed and missing. Raises `Blinded` if the list would
    reveal hidden decisions of an earlier stage. May raise `LedgerUnavailable`.
    """
    from .report.work_list import read_work

    return read_work(batch.session.engine, batch.uuid, reviewer, query, order_refits(batch.session))


def read_team(batch: Batch, *, people: bool = True) -> "Team":
    """Return how far people have read the batch. `people`: also return how much each person has read.

    Raises `LedgerUnavailable`. Raises `Blinded` if the list of the batch's records would reveal decisions of an earlier
    stage that are hidden from the client's user.
    """
    from .report import team

    with batch.session.snapshot() as connection:
        (view,) = read_views(connection, batch_id=batch.uuid)
        return team.read_team(connection, view, visible(connection, batch).me, people=people)


def invite_reader(client: Client, name: str) -> str:
    """Make a key with the scopes `read` and `decide` for a new person. Return the key, which cannot be shown again.

    Raises `InvalidParameters` if the name is invalid. Raises `IllegalTransition` if a valid key has this name already,
    because the holder of a second key would see and decide as that person.
    """
    if name.strip() in {key.label for key in api_keys.read_all(client.engine) if key.revoked_at is None}:
        raise IllegalTransition(f"{name.strip()!r} has a key already: choose another name, or revoke that key first")
    return api_keys.create(client.engine, name, [api_keys.Scope.READ, api_keys.Scope.DECIDE])


def may_stop(
    batch: Batch, recall: float | None = None, confidence: float | None = None, *, human_errors: bool = True
) -> StopAnswer:
    """Return whether people may stop reading with this recall and confidence, or how much they must still read.

    Records whose decisions are hidden from the client's user count as unread.

    Args:
        batch: the batch.
        recall: the wanted share of all includes, above 0 and at most 1. None: as for the last sample, or 0.95 if there
            is no sample.
        confidence: the wanted confidence, between 0 and 1. None: as for the last sample, or 0.95 if there is no sample.
        human_errors: also count includes that people overlook, if two people decided enough of the same records.

    Raises:
        InvalidParameters: an invalid recall or confidence.
        InvalidRequest: the operation does not include or exclude records.
        LedgerUnavailable: the ledger does not answer.
    """
    with batch.session.snapshot() as connection:
        hidden = visible(connection, batch).hidden
        return read_stop(connection, batch.uuid, recall, confidence, human_errors=human_errors, hidden=hidden)


def draw_stop_sample(
    batch: Batch,
    recall: float | None = None,
    confidence: float | None = None,
    *,
    seed: int | None = None,
    audit: str | None = None,
    human_errors: bool = True,
) -> StopAnswer:
    """Draw as many unread records as people must read before they may stop, and return the new answer of `may_stop`.

    An open sample is extended. If none is open, a new sample begins. Decisions on drawn records are ordinary decisions.

    Args:
        batch: the batch.
        recall: the wanted share of all includes. None: as for the last sample, or 0.95 if there is no sample.
        confidence: the wanted confidence. None: as for the last sample, or 0.95 if there is no sample.
        seed: the seed of a new sample. The same seed draws the same records if the same records are unread. None: a
            random seed.
        audit: the id of an audit of all exclusions that was drawn from exactly the unread records. The new sample
            begins with the audit's sample, and the audit's decisions count.
        human_errors: also count includes that people overlook, if two people decided enough of the same records.

    Raises:
        InvalidParameters: an invalid recall, confidence or seed, or another seed than the open sample's.
        InvalidRequest: the operation does not include or exclude records, the batch is not finished, the recall is out
            of reach, or the audit was drawn from other records.
        Blinded: `audit` is given, and a decision is hidden from the client's user.
        LedgerUnavailable: the ledger does not answer.
    """
    with batch.session.writing() as connection:
        seen = visible(connection, batch)
        hidden = seen.hidden
        if audit is not None:
            seen.check_whole()
        stop_samples.draw_sample(
            connection, batch.uuid, recall, confidence, seed=seed, audit=audit, human_errors=human_errors, hidden=hidden
        )
    return may_stop(batch, recall, confidence, human_errors=human_errors)


def close_stop_sample(batch: Batch) -> StopAnswer:
    """Stop drawing from the open sample, and return the new answer of `may_stop`.

    Decisions on the sample's records still count. The next sample counts as a further attempt, so it may need more
    records.

    Raises `InvalidRequest` if no sample is open, and `LedgerUnavailable`.
    """
    with batch.session.writing() as connection:
        visible(connection, batch)
        stop_samples.close_sample(connection, batch.uuid)
    return may_stop(batch)
