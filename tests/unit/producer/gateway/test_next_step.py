"""What comes next in a review, in a few words."""

import pytest

from tamis_review.page.review_routes import next_step
from tamis_review.report.work_list import WorkLeft


@pytest.mark.parametrize(
    ("state", "left", "said"),
    [
        ("running", [WorkLeft(todo=40, conflicts=17)], "17 conflicts to settle"),
        ("completed", [WorkLeft(conflicts=1), WorkLeft(todo=5)], "1 conflict to settle"),
        ("running", [WorkLeft(todo=40)], "runs"),
        ("paused", [WorkLeft(todo=40)], "paused"),
        ("completed", [WorkLeft(todo=1_000), WorkLeft(todo=43)], "1,043 records to read"),
        ("completed", [WorkLeft(audit_due=True), WorkLeft(todo=1)], "1 record to read"),
        ("completed", [WorkLeft(), WorkLeft(audit_due=True)], "an audit to draw"),
        ("completed", [WorkLeft()], "finished"),
        ("cancelled", [WorkLeft()], "cancelled"),
        ("cancelled", [WorkLeft(todo=1)], "1 record to read"),
    ],
)
def test_what_people_have_to_settle_comes_first_then_what_runs_then_what_is_to_be_read(
    state: str, left: list[WorkLeft], said: str
) -> None:
    assert next_step(state, left) == said
