"""Webhooks: does anybody wait to be told, and why are they not."""

from dataclasses import dataclass

from sqlalchemy import Engine, text

from tamis_producer.ledger import ledger_errors

from .finding import Finding, ok, warning

LATE = 60  # s behind its time: workers look every two

_READ = text("""
SELECT (SELECT count(*) FROM webhooks WHERE state = 'waiting') AS waiting,
       (SELECT count(*) FROM webhooks WHERE state = 'waiting' AND tries > 0) AS failing,
       (SELECT count(*) FROM webhooks
        WHERE state = 'waiting' AND next_at < now() - make_interval(secs => :late)
          AND coalesce(claimed_until < now(), true)) AS late,
       (SELECT count(*) FROM webhooks WHERE state = 'given_up' AND ended_at > now() - interval '1 day') AS given_up,
       (SELECT count(*) FROM batches WHERE json_typeof(callback) = 'object' AND finished_at IS NULL) AS batches
""")


@dataclass(frozen=True)
class Told:
    """Of the webhooks of a ledger."""

    waiting: int  # of these:
    failing: int  # were tried already
    late: int  # should have been sent, and nobody does
    given_up: int  # within a day
    batches: int  # that are to tell somebody, and have not ended


def read_told(engine: Engine) -> Told:
    """How many there are. Raises `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        return Told(**connection.execute(_READ, {"late": LATE}).mappings().one())


def judge_told(told: Told, *, secret: bool) -> list[Finding]:
    """`secret`: whether there is one to sign with, in the environment that is examined."""
    subject = "webhooks"
    found = []
    if not secret and (told.waiting or told.batches):
        what = (
            f"{told.waiting:,} wait, {told.batches:,} batches are to tell somebody, and TAMIS_WEBHOOK_SECRET is not set"
        )
        found.append(warning(subject, what, "set it for all workers, and start them anew: see docs/webhooks.md"))
    elif told.late:
        mend = "set TAMIS_WEBHOOK_SECRET for the workers too, and see that one of them runs"
        found.append(warning(subject, f"{told.late:,} should have been sent, and no worker does", mend))
    if told.given_up or told.failing:
        what = f"{told.failing:,} failed and are tried again, {told.given_up:,} were given up within a day"
        found.append(
            warning(subject, what, "`tamis webhooks list` says why; `tamis webhooks replay ID` sends one again")
        )
    return found or [ok(subject, f"{told.waiting:,} wait")]
