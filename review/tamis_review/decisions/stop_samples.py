"""Reading progress, and random samples of unread records: drawn, extended and closed.

A *frame* is all unread records of a batch, in a random order that a seed decides. For any n, its first n records are a
random sample. The ledger stores the frame, and the number n of records that Tamis asked people to read. Decisions on
these records are ordinary decisions.

A sample may begin with an audit's sample, if the audit was drawn from exactly the unread records. People may look at an
audit's results before they decide whether to use the audit. So each such audit counts as an attempt. Each attempt uses
a part of the allowed probability of a wrong promise (1 - confidence).
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import takewhile
from uuid import UUID

from sqlalchemy import Connection, func, null, select

from tamis_producer.ledger import find_audit, read_audit, read_audits
from tamis_producer.ledger.overrides import human_decisions, one_at_a_time, standing
from tamis_producer.ledger.stop_samples import (
    Promise,
    StoredFrame,
    close_frame,
    extend_frame,
    insert_frame,
    read_frames,
)
from tamis_schemas import (
    Audit,
    BatchStatus,
    DoubleReading,
    HumanStage,
    InvalidParameters,
    InvalidRequest,
    SampledRecord,
    StopSample,
    StopVerdict,
    Stratum,
)
from tamis_schemas.ledger import batches, items, overrides
from tamis_schemas.operations import check_decides, kind_of, verdict
from tamis_schemas.records.random_order import check_draw, sample, seed_or_new

from ..quality.certificate import DoubleRead, Reading, certify
from ..quality.sampling import chosen_by_kind
from ..quality.sampling_frame import SamplingFrame
from .final_outcome import Outcome, software_outcomes
from .record_overrides import HumanDecision, record

MEASURABLE = 10  # fewest includes read by two people; with fewer, the bound on overlooked includes is too weak
PAGE = 50  # most records that a person decides at one moment; more come from a file, whose rows have no reading order


@dataclass(frozen=True)
class ReadingState:
    """The records of a batch, without duplicates, with people's current screening decisions.

    Records in conflict, uncertain records and records with hidden decisions count as unread. Keys are record indexes.
    """

    software: Mapping[int, Outcome]  # outcome of each record before any human decision
    included: Mapping[int, bool]  # whether people included each read record, in the order first read
    conflicts: frozenset[int]  # records on which people differ, as long as no decision settles them
    uncertain: frozenset[int]  # records that people left open
    double: DoubleReading | None = None  # None: no record was read by two people
    moments: Mapping[int, datetime] = field(default_factory=dict)  # of the first decision on each read record
    hidden: Collection[int] = frozenset()  # records whose decisions the caller must not see yet

    @property
    def records(self) -> int:
        """Return the number of records."""
        return len(self.software)

    @property
    def read(self) -> int:
        """Return the number of records with a human decision that counts."""
        return len(self.included)

    def includes(self, place: int) -> bool | None:
        """Return whether people included the record at this index. None: the record is unread.

        Also return False for a record that became a duplicate after the sample was drawn.
        """
        return self.included.get(place) if place in self.software else False

    @cached_property
    def found(self) -> int:
        """Return the number of records that people included."""
        return sum(self.included.values())

    @cached_property
    def together(self) -> int:
        """Return the largest number of records decided at one moment, or 0 if this number is at most `PAGE`.

        A larger number comes from a file, which does not show the order in which people read.
        """
        most = max(Counter(self.moments.values()).values(), default=0)
        return most if most > PAGE else 0

    @cached_property
    def in_order(self) -> tuple[bool, ...] | None:
        """Return the decisions in reading order, True for an include; None if the order is not known.

        Among records decided at the same moment, the includes come last. So the order of a file's rows cannot let the
        estimator stop earlier.
        """
        if self.together:
            return None
        return tuple(yes for _, yes in sorted((self.moments[place], yes) for place, yes in self.included.items()))

    @cached_property
    def unread(self) -> tuple[int, ...]:
        """Return the indexes of the records that people have not decided, in batch order."""
        return tuple(place for place in self.software if place not in self.included)

    @cached_property
    def unread_by_software(self) -> Counter[Outcome]:
        """Return the number of unread records by the software's outcome, without hidden records."""
        return Counter(self.software[place] for place in self.unread if place not in self.hidden)


def read_reading_state(
    connection: Connection, batch_id: UUID, operation: str, hidden: Collection[int] = frozenset()
) -> ReadingState:
    """Return which records of a batch people have read and included. `operation` must include or exclude records.

    `hidden`: indexes of records whose decisions the caller must not see yet.
    """
    c = software_outcomes(batch_id).subquery("each").c
    software = select(c.idx, c.system).where(c.system != Outcome.DUPLICATE.value).order_by(c.idx)
    of_records = {row.idx: Outcome(row.system) for row in connection.execute(software)}
    human = standing(batch_id)
    first = (
        select(overrides.c.idx, func.min(overrides.c.id).label("id"), func.min(overrides.c.created_at).label("moment"))
        .where(overrides.c.batch_id == batch_id, overrides.c.stage == HumanStage.OWN.value)
        .group_by(overrides.c.idx)
    )
    # Separate queries: for a join, Postgres expects a single row and loops over the other side.
    since = {row.idx: row for row in connection.execute(first)}
    statement = select(human.c.idx, human.c.value, human.c.conflict)
    included: dict[int, bool] = {}
    conflicts, uncertain = set(), set()
    for row in sorted(connection.execute(statement), key=lambda row: since[row.idx].id):
        if row.idx not in of_records or row.idx in hidden:  # a copy, whose original is screened; or read blind
            continue
        says = None if row.conflict else verdict(row.value)
        if row.conflict:
            conflicts.add(row.idx)
        elif says is None:
            uncertain.add(row.idx)
        else:
            included[row.idx] = says
    double = _read_double(connection, batch_id, included)
    moments = {place: since[place].moment for place in included}
    return ReadingState(of_records, included, frozenset(conflicts), frozenset(uncertain), double, moments, hidden)


def _read_double(connection: Connection, batch_id: UUID, included: Mapping[int, bool]) -> DoubleReading | None:
    """Return the counts of records that two people decided independently, or None if there are no such records.

    The first two independent decisions on a record count.
    """
    view = human_decisions.c
    own = (view.batch_id == batch_id, view.stage == HumanStage.OWN.value, view.independent)
    verdicts: dict[int, list[bool | None]] = {}
    for row in connection.execute(select(view.idx, view.value).where(*own).order_by(view.id)):
        verdicts.setdefault(row.idx, []).append(verdict(row.value))
    pairs = {place: those[:2] for place, those in verdicts.items() if place in included and len(those) > 1}
    return double_reading(pairs, included) if pairs else None


def double_reading(pairs: Mapping[int, Sequence[bool | None]], included: Mapping[int, bool]) -> DoubleReading:
    """Return the counts of records that two people decided independently.

    Only the first reader's includes count if the first reader's decisions apparently determined which records the
    second reader read.

    Args:
        pairs: record index -> the first and the second decision on the record. None: uncertain.
        included: record index -> the final decision. It has every record that people read.
    """
    first = [str(pairs[place][0] if place in pairs else include) for place, include in included.items()]
    selected = chosen_by_kind(first, [place in pairs for place in included])
    seen = [pair for place, pair in pairs.items() if included[place] and True in (pair[:1] if selected else pair)]
    return DoubleReading(
        records=len(pairs),
        includes=len(seen),
        missed_by_one=sum(False in pair for pair in seen),
        whole=len(pairs) == len(included),
        counts=len(seen) >= MEASURABLE,
        selected=selected,
    )


_EXCLUDED = (Outcome.EXCLUDED, Outcome.INELIGIBLE)


def seen_audits(connection: Connection, batch_id: UUID, frames: Sequence[StoredFrame]) -> list[Audit]:
    """Return each audit of all exclusions that was drawn after the last of `frames` and has human decisions."""
    # People may have seen the results of these audits.
    since = frames[-1].created_at if frames else None
    return [
        audit
        for audit in read_audits(connection, batch_id)
        if audit.stratum is Stratum.ALL and audit.decided and (since is None or audit.created_at > since)
    ]


def next_number(frames: Sequence[StoredFrame], audits: Sequence[Audit]) -> int:
    """Return the number of the next attempt to confirm a recall. Frames and audits are attempts, numbered together."""
    return (frames[-1].number if frames else 0) + len(audits) + 1


def check_beginning(audit: Audit, state: ReadingState, seen: Sequence[Audit]) -> list[int]:
    """Return all unread records in a random order that begins with an audit's sample, as record indexes.

    `seen`: other audits that people have judged. Raises `InvalidRequest` if the audit does not represent all unread
    records.
    """
    drawn = [item.index for item in audit.items]
    rest = sorted({*state.unread, *drawn})
    others = sum(state.software.get(place, Outcome.EXCLUDED) not in _EXCLUDED for place in rest)
    refusal = f"audit {audit.id} cannot begin a sample of unread records: "
    if audit.stratum is not Stratum.ALL:
        raise InvalidRequest(f"{refusal}it was drawn from a part of the exclusions ({audit.stratum})")
    if others:
        unread = f"unread records that are not excluded: {others:,}"
        raise InvalidRequest(f"{refusal}it was drawn from exclusions. Read the other records first ({unread})")
    if len(rest) != audit.population or sample(rest, len(drawn), seed=audit.seed) != drawn:
        raise InvalidRequest(
            f"{refusal}it was drawn from {audit.population:,} records, but other records are unread now. To count its "
            "decisions as read, import its file: `tamis import-decisions BATCH FILE`"
        )
    if any(earlier.created_at > audit.created_at for earlier in seen):
        raise InvalidRequest(f"{refusal}a later audit was drawn: use that one")
    return sample(rest, len(rest), seed=audit.seed)


def take_decisions(connection: Connection, batch_id: UUID, operation: str, audit: Audit, state: ReadingState) -> None:
    """Record an audit's decisions as ordinary decisions. Skip records that have another human decision."""
    kind = kind_of(operation)
    decisions = [
        HumanDecision(
            item.index,
            kind.includes if item.include else kind.excludes,
            item.reviewer or "",
            item.note or f"audit {audit.id}",
        )
        for item in audit.items
        if item.include is not None
        and item.index in state.software.keys() - (state.included.keys() | state.conflicts | state.uncertain)
    ]
    if decisions:
        record(connection, batch_id, decisions)


USUAL = Promise(recall=0.95, confidence=0.95)


def draw_sample(
    connection: Connection,
    batch_id: UUID,
    recall: float | None = None,
    confidence: float | None = None,
    *,
    seed: int | None = None,
    audit: str | None = None,
    human_errors: bool = True,
    hidden: Collection[int] = frozenset(),
) -> None:
    """Draw as many unread records as people must read to confirm this recall with this confidence.

    The number is enough if none of these records is an include. An open sample is extended; if none is open, a new
    sample begins. If people may stop already, nothing is drawn. All changes are written in one transaction.

    Args:
        recall: the wanted share of all includes. None: as for the last sample, or 0.95 if there is no sample.
        confidence: the wanted confidence. None: as for the last sample, or 0.95 if there is no sample.
        seed: the seed of a new sample. The same seed draws the same records if the same records are unread. None: a
            random seed.
        audit: the id, or unique beginning, of an audit of all exclusions. The new sample begins with the audit's
            sample, and the audit's decisions become ordinary decisions.
        human_errors: also count the includes that people overlook, if two people decided enough of the same records.
        hidden: indexes of records whose decisions the caller must not see yet. Empty if there is an `audit`.

    Raises:
        InvalidParameters: an invalid recall, confidence or seed, or another seed than the open sample's.
        InvalidRequest: the batch decides about no records or is not finished, the recall is out of reach, or the audit
            does not represent all unread records.
    """
    one_at_a_time(connection, batch_id)
    batch = connection.execute(select(batches.c.operation, batches.c.state).where(batches.c.id == batch_id)).one()
    check_decides(batch_id, batch.operation, "A promise of recall")
    if not BatchStatus(batch.state).terminal:
        raise InvalidRequest(
            f"batch {batch_id} is {batch.state}: a sample of unread records can be drawn when it is finished. "
            f"`tamis status {batch_id} --watch` follows it"
        )
    promise = promise_of(read_frames(connection, batch_id), recall, confidence)
    _check_seed(open_frame(read_frames(connection, batch_id)), seed, audit)
    if audit is not None:
        _begin_with(connection, batch_id, batch.operation, audit, promise)
    state = read_reading_state(connection, batch_id, batch.operation, hidden)
    frames = read_frames(connection, batch_id)
    frame = open_frame(frames)
    number = next_number(frames, seen_audits(connection, batch_id, frames))
    reading = reading_of(state, frames, number, human_errors=human_errors)
    certificate = certify(reading, promise.recall, promise.confidence)
    if certificate.verdict is StopVerdict.IMPOSSIBLE:
        raise InvalidRequest(f"batch {batch_id}: this recall cannot be promised, because {certificate.reason}")
    if certificate.verdict is StopVerdict.ENOUGH:
        return
    if frame is None:
        seed = seed_or_new(seed)
        order = sample(state.unread, len(state.unread), seed=seed)
        insert_frame(connection, batch_id, number=number, seed=seed, promise=promise, records=order)
        frame = read_frames(connection, batch_id)[-1]
    needed = min(len(frame.records), first_read(frame, state) + certificate.needed[0])
    extend_frame(connection, frame.id, max(frame.drawn, needed), promise)


def _check_seed(frame: StoredFrame | None, seed: int | None, audit: str | None) -> None:
    """Raise `InvalidParameters` if the seed or the audit does not fit the open sample, or if both are given."""
    if seed is not None:
        check_draw(1, seed)
    if audit is not None and seed is not None:
        raise InvalidParameters("seed: an audit has its own seed, so name either a seed or an audit")
    if frame is not None and (audit is not None or seed not in (None, frame.seed)):
        raise InvalidParameters(
            f"seed: sample {frame.number} is open, and was drawn with seed {frame.seed}. Omit seed and audit to "
            "continue it, or close it first: `tamis stop BATCH --close`"
        )


def _begin_with(connection: Connection, batch_id: UUID, operation: str, audit_id: str, promise: Promise) -> None:
    """Store a new frame: all unread records in a random order that begins with an audit's sample.

    Raises `InvalidRequest` if the audit is another batch's, or does not represent all unread records.
    """
    audit = read_audit(connection, find_audit(connection, audit_id))
    if audit.batch_id != str(batch_id):
        raise InvalidRequest(f"audit {audit.id} belongs to batch {audit.batch_id}, not to {batch_id}")
    state = read_reading_state(connection, batch_id, operation)
    frames = read_frames(connection, batch_id)
    seen = [earlier for earlier in seen_audits(connection, batch_id, frames) if earlier.id != audit.id]
    order = check_beginning(audit, state, seen)
    number = next_number(frames, seen)
    take_decisions(connection, batch_id, operation, audit, state)
    insert_frame(connection, batch_id, number=number, seed=audit.seed, promise=promise, records=order)
    extend_frame(connection, read_frames(connection, batch_id)[-1].id, audit.sample, promise)


def close_sample(connection: Connection, batch_id: UUID) -> None:
    """Stop drawing from the open sample. Raise `InvalidRequest` if no sample is open.

    The next sample is another attempt, drawn from the records that are unread then.
    """
    one_at_a_time(connection, batch_id)
    frame = open_frame(read_frames(connection, batch_id))
    if frame is None:
        raise InvalidRequest(f"batch {batch_id} has no open sample: `tamis stop {batch_id} --draw` draws one")
    close_frame(connection, frame.id)


def open_frame(frames: Sequence[StoredFrame]) -> StoredFrame | None:
    """Return the frame whose sample is still open, or None if every sample is closed."""
    return next((frame for frame in frames if frame.closed_at is None), None)


def promise_of(frames: Sequence[StoredFrame], recall: float | None, confidence: float | None) -> Promise:
    """Return the wanted recall and confidence. The last frame, or else `USUAL`, supplies a missing value."""
    before = frames[-1].promise if frames else USUAL
    return Promise(before.recall if recall is None else recall, before.confidence if confidence is None else confidence)


def first_read(frame: StoredFrame, state: ReadingState) -> int:
    """Return how many records at the beginning of a frame people have read, up to its first unread record."""
    return sum(1 for _ in takewhile(lambda place: state.includes(place) is not None, frame.records))


def reading_of(
    state: ReadingState, frames: Sequence[StoredFrame], number: int, *, human_errors: bool = True
) -> Reading:
    """Return the reading progress for the certificate. If no frame is open, add a new frame of all unread records.

    `number`: the number of the new frame. Audits and frames are numbered together. An audit's number counts as a frame
    with an empty sample.
    `human_errors`: also count includes that people overlook, if two people decided enough of the same records.
    """
    by_number = {frame.number: _frame(frame, state) for frame in frames}
    attempts = frames[-1].number if open_frame(frames) else number
    untouched = SamplingFrame(len(state.unread), (), state.found)
    double = state.double if human_errors and state.double is not None and state.double.counts else None
    return Reading(
        found=state.found,
        unread=len(state.unread),
        frames=tuple(by_number.get(attempt, untouched) for attempt in range(1, attempts + 1)),
        double_read=None if double is None else DoubleRead(double.includes, double.missed_by_one, double.selected),
        readers=2 if double is not None and double.whole else 1,
    )


def samples_of(
    connection: Connection, batch_id: UUID, frames: Sequence[StoredFrame], state: ReadingState
) -> tuple[StopSample, ...]:
    """Return the frames' samples for display, with the decisions on the drawn records."""
    places = sorted({place for frame in frames for place in frame.sample})
    named = select(items.c.idx, items.c.item_id).where(items.c.batch_id == batch_id, items.c.idx.in_(places))
    ids = {row.idx: row.item_id for row in connection.execute(named)} if places else {}
    changes = _read_changes(connection, batch_id) if frames else []
    return tuple(
        StopSample(
            id=str(frame.id),
            batch_id=str(batch_id),
            number=frame.number,
            seed=frame.seed,
            recall=frame.recall,
            confidence=frame.confidence,
            population=len(frame.records),
            created_at=frame.created_at,
            closed_at=frame.closed_at,
            changed=len({place for place, moment in changes if moment > frame.created_at}),
            records=tuple(
                SampledRecord(index=place, item_id=ids[place], included=state.includes(place)) for place in frame.sample
            ),
        )
        for frame in frames
    )


def _read_changes(connection: Connection, batch_id: UUID) -> list[tuple[int, datetime]]:
    """Return the record index and the time of each decision that replaced the same person's opposite decision."""
    c = overrides.c
    earlier = func.lag(c.value, type_=c.value.type).over(partition_by=(c.idx, c.reviewer), order_by=c.id)
    of_stage = (c.batch_id == batch_id) & (c.stage == HumanStage.OWN.value) & c.value.is_not(null())
    rows = connection.execute(select(c.idx, c.created_at, c.value, earlier.label("earlier")).where(of_stage))
    return [(row.idx, row.created_at) for row in rows if {verdict(row.value), verdict(row.earlier)} == {True, False}]


def _frame(frame: StoredFrame, state: ReadingState) -> SamplingFrame:
    inside = set(frame.records)
    return SamplingFrame(
        population=len(frame.records),
        sample=tuple(state.includes(place) is True for place in frame.records[: first_read(frame, state)]),
        found_outside=state.found - sum(state.included.get(place, False) for place in frame.records),
        unread_outside=sum(place not in inside for place in state.unread),
    )
