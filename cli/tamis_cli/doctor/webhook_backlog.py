"""The webhooks that wait to be sent, and why they do."""

from dataclasses import dataclass

from sqlalchemy import Engine, text

from tamis_producer.ledger import ledger_errors
from tamis_worker.webhooks.outbox import TASKS

from .finding import Finding, ok, warning

LATE = 60  # s behind its time: workers look every two

_READ = text("""
SELECT (SELECT count(*) FROM webhooks WHERE state = 'waiting' AND url NOT LIKE :tasks) AS waiting,
       (SELECT count(*) FROM webhooks WHERE state = 'waiting' AND tries > 0) AS failing,
       (SELECT count(*) FROM webhooks
        WHERE state = 'waiting' AND next_at < now() - make_interval(secs => :late)
          AND coalesce(claimed_until < now(), true)) AS late,
       (SELECT count(*) FROM webhooks WHERE state = 'given_up' AND ended_at > now() - interval '1 day') AS given_up,
       (SELECT count(*) FROM batches WHERE json_typeof(callback) = 'object' AND finished_at IS NULL
          AND callback ->> 'url' NOT LIKE :tasks) AS batches
""")


@dataclass(frozen=True)
class WebhookBacklog:
    """The counts of a ledger's webhooks that wait or have failed."""

    waiting: int  # to be signed, as no task is
    failing: int  # were tried already, tasks too
    late: int  # should have been sent, and nobody does
    given_up: int  # within a day
    batches: int  # that are to tell somebody by what is signed, and have not ended


def read_backlog(engine: Engine) -> WebhookBacklog:
    """Return how many there are. Raises `LedgerUnavailable`."""
    with ledger_errors(), engine.connect() as connection:
        return WebhookBacklog(**connection.execute(_READ, {"late": LATE, "tasks": TASKS}).mappings().one())


def judge_backlog(backlog: WebhookBacklog, *, secret: bool) -> list[Finding]:
    """Return what to say of them; `secret`: whether there is one to sign with, in the environment that is examined."""
    subject = "webhooks"
    findings = []
    if not secret and (backlog.waiting or backlog.batches):
        waiting = f"{backlog.waiting:,} wait, {backlog.batches:,} batches are to tell somebody"
        what = f"{waiting}, and TAMIS_WEBHOOK_SECRET is not set"
        findings.append(warning(subject, what, "set it for all workers, and start them anew: see docs/webhooks.md"))
    elif backlog.late:
        mend = "set TAMIS_WEBHOOK_SECRET for the workers too, and see that one of them runs"
        findings.append(warning(subject, f"{backlog.late:,} should have been sent, and no worker does", mend))
    if backlog.given_up or backlog.failing:
        what = f"{backlog.failing:,} failed and are tried again, {backlog.given_up:,} were given up within a day"
        findings.append(
            warning(subject, what, "`tamis webhooks list` says why; `tamis webhooks replay ID` sends one again")
        )
    return findings or [ok(subject, f"{backlog.waiting:,} wait")]
