"""What comes next in a review, in a few words."""

import pytest

from tamis_review.page.review_routes import next_step
from tamis_review.report.team import Team


@pytest.mark.parametrize(
    ("state", "left", "said"),
    [
        ("running", [Team(todo=40, conflicts=17)], "17 conflicts to settle"),
        ("completed", [Team(conflicts=1), Team(todo=5)], "1 conflict to settle"),
        ("running", [Team(todo=40)], "runs"),
        ("paused", [Team(todo=40)], "paused"),
        ("completed", [Team(todo=1_000), Team(todo=43)], "1,043 records to read"),
        ("completed", [Team(audit_due=True), Team(todo=1)], "1 record to read"),
        ("completed", [Team(), Team(audit_due=True)], "an audit to draw"),
        ("completed", [Team()], "finished"),
        ("completed", [Team(to_read=9, read=9), Team(to_read=3, read=2)], "1 record for others to read"),
        ("cancelled", [Team()], "cancelled"),
        ("cancelled", [Team(todo=1)], "1 record to read"),
    ],
)
def test_what_people_have_to_settle_comes_first_then_what_runs_then_what_is_to_be_read(
    state: str, left: list[Team], said: str
) -> None:
    assert next_step(state, left) == said
