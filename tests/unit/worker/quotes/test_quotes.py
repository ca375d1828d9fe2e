"""Quotes checked against their record: found where it says so, in its own characters, and never where it does not."""

import itertools
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_schemas.answers.results import Quote, QuoteState
from tamis_worker.quotes import quotes
from tamis_worker.quotes.quotes import NO_QUOTE_PHRASES, QuotedRecord, confidence_after

ABSTRACT = (
    "BACKGROUND: Fewer than half of the patients \u201crecover fully\u201d.\n  METHODS: We randomised 118 adults (mean "
    "age 45.2\u00a0years; 10 men) to home\u2013based exercise or usual care \u2026 for 12 weeks.<sup>2</sup> RESULTS: "
    "Treatment was well tolerated by all of the participants. Andr\u00e9 M\u00fcller is not one of them; nor is "
    "\u5c0f\u9f20\u6a21\u578b."
)
RECORD = {
    "id": "hidden-id-31415",
    "title": "Home-based exercise after hip replacement",
    "abstract": ABSTRACT,
    "authors": ["Smith J", "Jones M"],
    "year": 2020,
    "mesh": [{"heading": "Exercise Therapy"}],
    "_note": "included by the first reader",
}


def find(text: str) -> Quote | None:
    return QuotedRecord(RECORD).find(text)


def words_of(quote: Quote) -> str | None:
    """The record's own characters that the quote stands for."""
    if quote.start is None or quote.field is None:
        return None
    return str(RECORD[quote.field])[quote.start : quote.end]


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        ("Home-based exercise", "title", "Home-based exercise"),
        ("We randomised 118 adults", "abstract", "We randomised 118 adults"),
        ("  we RANDOMISED\n118 adults. ", "abstract", "We randomised 118 adults"),
        ('"recover fully"', "abstract", "recover fully"),
        ("patients 'recover fully'", "abstract", "patients \u201crecover fully"),
        ("\u2026 home-based exercise or usual care ... for 12 weeks", "abstract", None),
        ("mean age 45.2 years", "abstract", "mean age 45.2\u00a0years"),
        ("Andre Muller is not one of them", "abstract", "Andr\u00e9 M\u00fcller is not one of them"),
        ("12 weeks.< sup>2< /sup> RESULTS", "abstract", "12 weeks.<sup>2</sup> RESULTS"),  # as the prompt shows it
        ("title: Home-based exercise after hip replacement", "title", "Home-based exercise after hip replacement"),
        ("Abstract: We randomised 118 adults", "abstract", "We randomised 118 adults"),
        ("BACKGROUND: Fewer than half", "abstract", "BACKGROUND: Fewer than half"),
        ("10 men", "abstract", "10 men"),
        ("118", "abstract", "118"),
        ("\u5c0f\u9f20", "abstract", "\u5c0f\u9f20"),
    ],
)
def test_a_quote_is_found_with_its_place_in_the_fields_own_characters(text: str, field: str, words: str | None) -> None:
    quote = find(text)
    assert quote is not None
    assert (quote.found, quote.similarity, quote.field, quote.text) == (True, 1.0, field, text)
    if words is not None:
        assert words_of(quote) == words


@pytest.mark.parametrize(
    ("text", "field"), [("Smith J, Jones M", "authors"), ("2020", "year"), ('"heading": "Exercise Therapy"', "mesh")]
)
def test_what_is_no_text_is_searched_as_it_is_shown_and_has_no_place(text: str, field: str) -> None:
    quote = find(text)
    assert quote is not None
    assert (quote.found, quote.field, quote.start, quote.end) == (True, field, None, None)


@pytest.mark.parametrize(
    "text",
    [
        "We randomised 118 children with asthma",
        "men with diabetes",
        "title",  # a field's name is not what it says
        "abstract:",
        "treat",  # not a word of the record, only a part of one
        "rest",
        "11",
        "included by the first reader",  # not shown to the model
        "hidden-id-31415",
        "Home-based exercise after hip replacement, which is a much longer sentence than the title that it begins with",
    ],
)
def test_what_the_record_does_not_say_is_not_found(text: str) -> None:
    quote = find(text)
    assert quote is not None
    assert (quote.found, quote.field, quote.start, quote.end) == (False, None, None, None)
    assert quote.similarity < 0.95


@pytest.mark.parametrize(
    "text", ["", "  ", '""', "...", "-", "null", "None.", "N/A", "Not mentioned", *sorted(NO_QUOTE_PHRASES)]
)
def test_a_text_that_says_that_there_is_no_quote_is_none(text: str) -> None:
    assert find(text) is None


def test_what_reads_like_no_quote_is_one_where_the_record_says_it() -> None:
    quote = QuotedRecord({"abstract": "Funding: none. Blinding was unclear."}).find("unclear")
    assert quote is not None
    assert (quote.start, quote.end) == (28, 35)


def test_a_short_quote_must_stand_there_word_for_word() -> None:
    # of 17 characters 16 are in common, which is 0.94; of 24 they are 23, which is 0.96
    short, longer = find("We randomised 119"), find("We randomised 119 adults")
    assert short is not None
    assert longer is not None
    assert (short.state, short.similarity) == (QuoteState.NOT_FOUND, 0.0)
    assert (longer.state, longer.similarity) == (QuoteState.ALTERED, 0.9583)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("118 adults ... well tolerated", True),
        ("118 adults [\u2026] well tolerated", True),
        ("118 adults . . . usual care (...) all of the participants", True),
        ("well tolerated ... 118 adults", False),  # not in this order
        ("hip replacement ... 118 adults", False),  # not in one field
        ("118 adults ... were cured", False),
        ("118 adults ... Treatment was well tolerated by all participants", True),
        ("118 adults ... Treatment was well tolerated by any of the participants", False),
        ("well tolerated ... We randomized 118 adults (mean age 45.2 years", False),
    ],
)
def test_the_parts_around_an_ellipsis_stand_in_order_in_one_field(text: str, found: bool) -> None:
    quote = find(text)
    assert quote is not None
    assert quote.found is found
    if found:
        words = words_of(quote)
        assert words is not None
        assert words.startswith("118 adults")
        assert words.endswith(("well tolerated", "participants"))


def test_the_same_words_go_before_similar_ones_in_an_earlier_field() -> None:
    record = {"title": "Treatment was well tolerated by any of the participants", "abstract": ABSTRACT}
    for said in (
        "Treatment was well tolerated by all of the participants",
        "abstract: treatment was well tolerated by all",
    ):
        quote = QuotedRecord(record).find(said)
        assert quote is not None
        assert (quote.field, quote.similarity) == ("abstract", 1.0)


def test_a_record_is_searched_as_far_as_any_model_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    title = str(RECORD["title"])
    monkeypatch.setattr(quotes, "SEARCHED", len(title) + ABSTRACT.index("adults") + len("adults"))
    record = QuotedRecord(RECORD)
    found = [record.find(text) for text in ("randomised 118 adults", "home-based exercise or usual care", "Smith J")]
    assert [quote is not None and quote.found for quote in found] == [True, False, False]


@given(st.data())
@settings(max_examples=30)
def test_all_words_of_a_text_from_one_to_another_are_found_in_it(data: st.DataObject) -> None:
    words = [found.span() for found in re.finditer(r"\S+", ABSTRACT)]
    first = data.draw(st.integers(0, len(words) - 6))
    last = data.draw(st.integers(first + 5, len(words) - 1))
    quote = find(ABSTRACT[words[first][0] : words[last][1]])
    assert quote is not None
    negated = "not" in ABSTRACT[: words[first][0]].split()[-1:] + ABSTRACT[words[last][1] :].split()[:1]
    state = QuoteState.ALTERED if negated else QuoteState.FOUND
    assert (quote.state, quote.similarity, quote.field) == (state, 1.0, "abstract")


any_text = st.text(st.characters()) | st.text(st.sampled_from("ab \n.\u2026[]'\u201c:null\u0301\u2014<"))


@given(any_text, any_text, any_text)
def test_any_quote_of_any_record_has_a_place_within_its_field_or_none(title: str, abstract: str, text: str) -> None:
    record = {"title": title, "abstract": abstract}
    for sought in (text, abstract, title[1:]):
        quote = QuotedRecord(record).find(sought)
        if quote is None:
            continue
        assert (quote.state is QuoteState.NOT_FOUND) is (quote.field is None)
        assert (quote.state is QuoteState.ALTERED) is bool(quote.differences)
        for one in quote.differences:
            assert sought[one.start : one.end] == one.quoted
            assert one.quoted or one.recorded
            assert one.recorded in (title + abstract)
        if quote.field is not None:
            assert quote.field is not None
            assert quote.start is not None
            assert quote.end is not None
            assert 0 <= quote.start < quote.end <= len(record[quote.field])


@pytest.mark.parametrize(
    "abstract",
    [
        "The randomised trial of \u00e9 treatment in adults was followed for weeks. " * 15_000,
        "ab" * 500_000,
        "aab" * 333_333,
        "x" * 1_000_000,
        "\u0301" * 1_000_000,
        " \n" * 500_000,
        ". " * 500_000,
        "cat sat " + "the " * 100_000 + "ran cats sat not " * 30_000,
        "with ab cd the " * 60_000,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_thirty_quotes_of_a_record_of_one_megabyte_are_checked_within_the_bound(abstract: str) -> None:
    asked = ["ab" * n for n in range(1, 16)] + [
        f"invented sentence {n} about children ... with asthma " * 3 for n in range(15)
    ]
    asked += ["in cat, sat and the the", "of ab, cd, ab (cd) of it that has", "the not cats ran ... cat ... sat " * 30]
    began = time.thread_time()
    record = QuotedRecord({"title": "x", "abstract": abstract})
    for text in asked:
        record.find(text)
    assert time.thread_time() - began < 2.0  # 0.3 s where it was measured; without bounds it is 10 s and more


@pytest.mark.parametrize(("longest", "state"), [(55, QuoteState.ALTERED), (54, QuoteState.NOT_FOUND)])
def test_a_quote_that_is_too_long_to_compare_must_stand_there_word_for_word(
    monkeypatch: pytest.MonkeyPatch, longest: int, state: QuoteState
) -> None:
    monkeypatch.setattr(quotes, "LONGEST", longest)
    quote = find("Treatment was well tolerated by any of the participants")  # 55 characters
    assert quote is not None
    assert quote.state is state


def test_what_is_compared_for_similarity_is_bounded_and_then_only_exact_words_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nearly = "Treatment was well tolerated by any of the participants"
    monkeypatch.setattr(quotes, "COMPARED", 3 * len(nearly) * len(ABSTRACT))
    record = QuotedRecord(RECORD)
    found = [record.find(nearly) for _ in range(6)]
    states = [None if quote is None else quote.state for quote in found]
    assert states == [QuoteState.ALTERED] * 2 + [QuoteState.NOT_FOUND] * 4
    exact = record.find("We randomised 118 adults")
    assert exact is not None
    assert exact.found


def made(*found: bool) -> list[Quote]:
    """Quotes that are found, and others: altered and not found by turns, which cost the same."""
    wrong = itertools.cycle((QuoteState.ALTERED, QuoteState.NOT_FOUND))
    return [Quote(text="q", state=QuoteState.FOUND if one else next(wrong), similarity=float(one)) for one in found]


@pytest.mark.spec("3.21")
@pytest.mark.parametrize(
    ("confidence", "given_quotes", "left"),
    [
        (0.9, made(), 0.9),  # no quote was given: nothing was invented
        (0.9, made(True, True), 0.9),
        (0.9, made(False), 0.45),  # 0.9 x (1 - 0.5 x 1/1)
        (0.8, made(True, False), 0.6),  # 0.8 x (1 - 0.5 x 1/2)
        (0.8, made(True, True, True, False), 0.7),  # 0.8 x (1 - 0.5 x 1/4)
        (1.0, made(False, False), 0.5),
        (0.0, made(False), 0.0),
    ],
)
def test_a_quote_that_is_not_there_lowers_the_confidence(
    confidence: float, given_quotes: list[Quote], left: float
) -> None:
    assert confidence_after(confidence, given_quotes) == pytest.approx(left)


@given(st.floats(0, 1), st.lists(st.booleans(), max_size=30))
def test_more_invented_quotes_never_leave_more_and_never_less_than_half(confidence: float, found: list[bool]) -> None:
    left = confidence_after(confidence, made(*found))
    assert confidence / 2 - 1e-12 <= left <= confidence
    worse = [False, *sorted(found)[1:]]
    if found:
        assert confidence_after(confidence, made(*worse)) <= left
