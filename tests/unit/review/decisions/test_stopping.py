"""The stop rule's answer in words: each verdict in a line, each figure with its sentence, and what a paper says."""

from datetime import UTC, datetime

import pytest

from tamis_review.decisions.stopping import DRIFT, in_words, percent
from tamis_schemas import DoubleReading, ExpectedIncludes, StopAnswer, StopEstimate, StopSample, StopVerdict

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


def figure(name: str, **changes: object) -> tuple[str, str]:
    return next((shown.value, shown.meaning) for shown in told(**changes).figures if shown.name == name)


def test_without_a_reading_order_the_estimates_are_not_known_and_say_why() -> None:
    unordered = StopEstimate(p=None, stops=False, together=200)
    for name in ("estimator", "includes in the next 100"):
        value, _ = figure(name, estimate=unordered)
        assert value == "not known: 200 decisions were recorded at one moment, so the reading order is not known"


def test_the_estimator_says_in_its_own_line_how_often_it_was_right_in_a_worsening_order() -> None:
    value, meaning = figure("estimator")
    assert value == "p = 0.300: it would read on"
    assert DRIFT in meaning


def test_the_yield_of_the_last_records_is_not_called_a_probability() -> None:
    expected = ExpectedIncludes(records=100, expected=17.8, low=11.5, high=26.5, basis="recent yield")
    value, meaning = figure("includes in the next 100", expected=expected)
    assert value == "about 17.8 (11.5 to 26.5), if the yield stays"
    assert "In a good order, the next records contain fewer." in meaning


def test_a_second_reader_whose_records_the_first_one_chose_is_named() -> None:
    nothing = DoubleReading(records=90, includes=0, missed_by_one=0, whole=False, counts=False, selected=True)
    value, meaning = figure("read by two", double_reading=nothing)
    assert value == "90 records; not measured"
    assert "The first reader's decisions decided which records the second one read." in meaning
    assert "The promise ignores overlooked includes" in meaning
    checked = DoubleReading(records=100, includes=80, missed_by_one=12, whole=False, counts=True, selected=True)
    value, meaning = figure("read by two", double_reading=checked, miss_rate=0.25)
    assert value == "100 records; the second reader missed 12 of the first one's 80 includes"
    assert "Only the second reader's rate can be measured. The promise allows for up to 25%" in meaning
    done = told(verdict=StopVerdict.ENOUGH, needed=(), promised=0.96, missed=1, double_reading=checked, miss_rate=0.25)
    assert "if others overlooked no more than the second reviewer" in str(done.methods)


def test_a_stale_sample_is_named_in_the_figures_and_the_methods() -> None:
    at = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    terms = {"id": "s", "batch_id": "b", "number": 1, "seed": 7, "recall": 0.95, "confidence": 0.9, "population": 600}
    fresh = StopSample.model_validate({**terms, "created_at": at, "records": ()})
    stale = fresh.model_copy(update={"changed": 20})
    assert "stale" not in figure("sample 1", samples=(fresh,))[1]
    assert (
        "It may be stale: after it was drawn, people changed their decisions on 20 records."
        in (figure("sample 1", samples=(stale,))[1])
    )
    done = told(verdict=StopVerdict.ENOUGH, needed=(), promised=0.96, missed=1, samples=(stale,))
    assert "After it was drawn, people changed their decisions on 20 records." in str(done.methods)


def test_an_update_says_that_includes_of_the_earlier_search_do_not_count() -> None:
    assert "earlier" not in figure("includes found")[1]
    assert figure("includes found", updates="b0")[1].endswith(
        "Includes of the updated search (batch b0) do not count here."
    )
    for unread in (600, 0):
        done = told(verdict=StopVerdict.ENOUGH, needed=(), promised=0.96, missed=1, unread=unread, updates="b0")
        assert "Includes of the earlier search do not count in this update." in str(done.methods)


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
