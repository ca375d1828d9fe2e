"""The dead letters of a ledger: how many there are, and since when."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine, text

from tamis_producer.ledger import ledger_errors

from .finding import Finding, ok, warning

_READ = text("""
SELECT count(*) AS kept, coalesce(sum(more), 0)::bigint AS counted, max(created_at) AS latest,
       coalesce(max(created_at) > now() - interval '1 day', false) AS today
FROM dead_letters
""")


@dataclass(frozen=True)
class DeadLetterCount:
    """How many messages no worker understood."""

    kept: int
    counted: int  # beside these, because too many came at once
    latest: datetime | None  # when the last one came that is kept
    today: bool  # that was within a day


def read_dead_letter_count(engine: Engine) -> DeadLetterCount:
    """Return how many there are. Raises `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        return DeadLetterCount(**connection.execute(_READ).mappings().one())


def judge_dead_letters(count: DeadLetterCount) -> list[Finding]:
    """Return what to say of them; nothing where there are none."""
    if count.latest is None:
        return []
    subject = "dead letters"
    total, latest = count.kept + count.counted, count.latest.astimezone(UTC)
    what = f"{total:,} messages that no worker understood, the last one at {latest:%Y-%m-%d %H:%M} UTC"
    if not count.today:
        return [ok(subject, what)]
    mend = "`tamis dead-letters` says what is wrong with each; `tamis dead-letters purge` deletes them"
    return [warning(subject, what, mend)]
