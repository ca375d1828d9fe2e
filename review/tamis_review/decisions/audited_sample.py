"""An audit as the beginning of a stop rule's sample, where statistics allow it; and how many attempts there were.

An audit of all exclusions was drawn as a sample of the stop rule is. Where these exclusions are all that nobody has
read, it is the beginning of the sample that its seed draws. But people may have seen what it shows before they choose
to take it, or not to: so each audit of all exclusions is an attempt as a sample is, and spends its part of the doubt.
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection

from tamis_producer.ledger import read_audits
from tamis_producer.ledger.stop_samples import StoredFrame
from tamis_schemas import Audit, InvalidRequest, Stratum
from tamis_schemas.operations import kind_of
from tamis_schemas.records.random_order import sample

from .final_outcome import Outcome
from .reading_state import ReadingState
from .record_overrides import HumanDecision, record

_EXCLUDED = (Outcome.EXCLUDED, Outcome.INELIGIBLE)


def seen_audits(connection: Connection, batch_id: UUID, frames: Sequence[StoredFrame]) -> list[Audit]:
    """Return the audits since the last frame whose decisions people could have looked at before they draw another."""
    since = frames[-1].created_at if frames else None
    return [
        audit
        for audit in read_audits(connection, batch_id)
        if audit.stratum is Stratum.ALL and audit.decided and (since is None or audit.created_at > since)
    ]


def next_number(frames: Sequence[StoredFrame], audits: Sequence[Audit]) -> int:
    """Return the number of the next sample: samples and `seen_audits` are counted as they were drawn."""
    return (frames[-1].number if frames else 0) + len(audits) + 1


def check_beginning(audit: Audit, state: ReadingState, seen: Sequence[Audit]) -> list[int]:
    """Return the frame that an audit begins: what it was drawn from, in its order.

    Raises `InvalidRequest` where it does not speak for all that nobody has read.
    """
    asked = [item.index for item in audit.items]
    rest = sorted({*state.unread, *asked})
    others = sum(state.software[place] not in _EXCLUDED for place in rest)
    refusal = f"audit {audit.id} cannot begin a sample of what nobody has read: "
    if audit.stratum is not Stratum.ALL:
        raise InvalidRequest(f"{refusal}it was drawn from a part of the exclusions, those of {audit.stratum}")
    if others:
        raise InvalidRequest(
            f"{refusal}it was drawn from exclusions, and {others:,} other records are unread, too: read these first"
        )
    if len(rest) != audit.population or sample(rest, len(asked), seed=audit.seed) != asked:
        raise InvalidRequest(
            f"{refusal}it was drawn from {audit.population:,} records, and the unread ones are others by now. Its "
            "decisions can count as read: `tamis import-decisions BATCH FILE` takes its file"
        )
    if any(one.created_at > audit.created_at for one in seen):
        raise InvalidRequest(f"{refusal}a later audit was drawn; take that one")
    return sample(rest, len(rest), seed=audit.seed)


def take_decisions(connection: Connection, batch_id: UUID, operation: str, audit: Audit, state: ReadingState) -> None:
    """Have what people said in an audit count as any decision of theirs, where nothing else of people's stands."""
    kind = kind_of(operation)
    decisions = [
        HumanDecision(
            item.index,
            kind.includes if item.include else kind.excludes,
            item.reviewer or "",
            item.note or f"audit {audit.id}",
        )
        for item in audit.items
        if item.include is not None and item.index not in (state.included.keys() | state.conflicts | state.uncertain)
    ]
    if decisions:
        record(connection, batch_id, decisions)
