"""What `tamis doctor` says of webhooks."""

from dataclasses import replace

import pytest

from tamis_cli.doctor.examination import WebhookBacklog, judge_backlog
from tamis_cli.doctor.finding import Level

QUIET = WebhookBacklog(waiting=0, failing=0, late=0, given_up=0, batches=0)


@pytest.mark.parametrize(
    ("told", "secret", "says"),
    [
        (QUIET, False, None),  # nobody is to be told: no secret is needed
        (replace(QUIET, batches=1), True, None),
        (replace(QUIET, waiting=2), True, None),
        (
            replace(QUIET, batches=1),
            False,
            "1 batches will send one, but TAMIS_WEBHOOK_SECRET is not set",
        ),
        (replace(QUIET, waiting=2, late=2), False, "2 wait, and 0 batches"),
        (replace(QUIET, waiting=2, late=2), True, "2 are overdue, and no worker sends them"),
        (replace(QUIET, waiting=3, failing=3), True, "3 failed and will be retried, 0 were given up in the last day"),
        (replace(QUIET, given_up=1), True, "0 failed and will be retried, 1 were given up"),
    ],
)
def test_the_doctor_says_who_waits_to_be_told_and_why(told: WebhookBacklog, secret: bool, says: str | None) -> None:
    (finding,) = judge_backlog(told, secret=secret)
    assert finding.level is (Level.OK if says is None else Level.WARNING)
    assert says is None or says in finding.what
    assert finding.subject == "webhooks"
