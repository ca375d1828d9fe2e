"""What `tamis doctor` says of dead letters."""

from datetime import UTC, datetime

from tamis_cli.doctor.dead_letter_count import DeadLetterCount, judge_dead_letters
from tamis_cli.doctor.finding import Level

LATEST = datetime(2026, 11, 23, 15, 47, tzinfo=UTC)


def test_nothing_is_said_where_there_are_none() -> None:
    assert judge_dead_letters(DeadLetterCount(kept=0, counted=0, latest=None, today=False)) == []


def test_those_of_today_are_a_warning_and_older_ones_are_not() -> None:
    for today, level in ((True, Level.WARNING), (False, Level.OK)):
        (finding,) = judge_dead_letters(DeadLetterCount(kept=100, counted=1_900, latest=LATEST, today=today))
        assert (finding.subject, finding.level) == ("dead letters", level)
        assert finding.what.startswith("2,000 messages")
        assert "2026-11-23 15:47 UTC" in finding.what
        assert (finding.mend is not None) is today
