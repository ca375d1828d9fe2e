"""The stop rule's answer in words: each verdict in a line, each figure with its sentence, and what a paper says."""

import pytest

from tamis_review.decisions.stopping import in_words, percent
from tamis_schemas import DoubleReading, ExpectedIncludes, StopAnswer, StopEstimate, StopVerdict

ANSWER = StopAnswer(
    batch_id="b",
    verdict=StopVerdict.NOT_YET,
    headline="",
    recall=0.95,
    confidence=0.9,
    records=1_000,
    read=400,
    found=38,
    unread=600,
    conflicts=0,
    uncertain=0,
    excluded_by_rules=20,
    excluded_by_model=560,
    promised=0.061,
    missed=600,
    includes=638,
    needed=(420, 500, 560, 600),
    estimate=StopEstimate(p=0.3, stops=False),
    expected=ExpectedIncludes(records=100, expected=None, low=0, high=100, basis="recent yield"),
)


def told(**changes: object) -> StopAnswer:
    return in_words(ANSWER.model_copy(update=changes))


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        (
            {},
            "Not yet: draw a random sample of the 600 unread records. 420 of them are enough if they contain no "
            "further include.",
        ),
        (
            {"needed": (600, 600, 600, 600)},
            "Not yet: only reading all 600 unread records can promise 95% of the includes.",
        ),
        (
            {"needed": (1, 2, 3, 4)},
            "Not yet: draw a random sample of the 600 unread records. 1 of them is enough if it is not an include.",
        ),
        (
            {"needed": (1, 1, 1, 1), "unread": 1},
            "Not yet: only reading the last unread record can promise 95% of the includes.",
        ),
        (
            {"verdict": StopVerdict.IMPOSSIBLE, "headline": "people overlook"},
            "Cannot be promised, because people overlook.",
        ),
        (
            {"verdict": StopVerdict.ENOUGH, "needed": (), "promised": 0.96, "missed": 1},
            "Enough: at least 95% of the includes are found, with 90% confidence.",
        ),
        ({"verdict": StopVerdict.ENOUGH, "needed": (), "unread": 0, "read": 1_000}, "Enough: every record is read."),
    ],
)
def test_the_verdict_is_one_line(changes: dict[str, object], headline: str) -> None:
    assert told(**changes).headline == headline


def test_every_figure_has_a_sentence_and_what_is_not_there_has_no_figure() -> None:
    named = {one.name: one for one in told().figures}
    assert all(one.meaning.endswith(".") for one in named.values())
    assert "including 20 that rules excluded and 560 that the model excluded" in named["read by people"].meaning
    assert named["includes in the next 100"].value == "unknown until records are read"
    assert {"read and still open", "read by two", "sample 1"}.isdisjoint(named)
    double = DoubleReading(records=60, includes=12, missed_by_one=3, whole=False, counts=True)
    people = {one.name: one for one in told(double_reading=double, miss_rate=0.21, conflicts=1).figures}
    assert people["read by two"].value == "60 records; 3 of 12 includes missed by one"
    assert people["read by two"].meaning == "The promise allows for up to 21% overlooked includes."
    assert people["read and still open"].value == "1 in conflict, 0 uncertain"
    left_out = {one.name: one for one in told(double_reading=double).figures}
    assert "covers records that your reviewers would include" in left_out["read by two"].meaning


def test_the_sentence_for_the_methods_stands_with_a_promise_alone() -> None:
    assert told().methods is None
    double = DoubleReading(records=60, includes=12, missed_by_one=3, whole=False, counts=True)
    enough = told(
        verdict=StopVerdict.ENOUGH, needed=(), promised=0.9501, missed=2, double_reading=double, miss_rate=0.21
    )
    assert enough.methods is not None
    assert "at most 2 of the 600 unread records would be included, so at least 95%" in enough.methods
    assert "of 12 includes that two reviewers read independently, 3 were missed by one" in enough.methods


def test_a_share_is_never_shown_as_more_than_it_is_where_it_is_promised() -> None:
    assert [percent(share) for share in (0.95, 0.9999, 1.0, 0.123456)] == ["95%", "100%", "100%", "12.3%"]
    assert [percent(share, down=True) for share in (0.95, 0.9999, 1.0, 0.95099)] == ["95%", "99.9%", "100%", "95%"]
