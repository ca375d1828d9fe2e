"""Whether evidence is in its chunk, and whether it says the value."""

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_schemas import Chunk, Extraction
from tamis_schemas.answers.results import QuoteState
from tamis_worker.evaluation.grounding import Passages, numbers_in, says

TEXT = (
    "We enrolled 1,250 adults (mean age 54\u00b73 years) between 2015 and 2019. Participants were randomised to "
    "low-dose Aspirin or placebo; twelve were lost to follow-up. The risk fell by 5 % (p = .03)."
)


@pytest.mark.spec("4.24")
@pytest.mark.parametrize(
    ("passage", "value", "said"),
    [
        ("1,250 adults", 1250, True),
        ("1,250 adults", 125, False),
        ("1.250 Patienten", 1250, True),
        ("1 250 patients", 1250, True),
        ("1\u202f250 patients", 1250, True),
        ("12,5 mg", 12.5, True),
        ("12\u00b75 mg", 12.5, True),
        ("1,234,567.5 units", 1234567.5, True),
        ("1.234.567,5 units", 1234567.5, True),
        ("0,125 mg", 0.125, True),
        ("p = .05", 0.05, True),
        ("a fall of 5 %", 0.05, True),
        ("a fall of 5 percent", 5, True),
        ("10\u201312 weeks", 12, True),
        ("10\u201312 weeks", -12, False),
        ("a change of \u22123.2", -3.2, True),
        ("twelve patients", 12, True),
        ("Twenty-five patients", 25, True),
        ("none died", 0, False),
        ("0 died", 0, True),
        ("n=40", 40, True),
        ("1.5e3 cells", 1500, True),
        ("version 1.2.3", 1.2, False),
        ("no number at all", 7, False),
        ("Low-dose aspirin", "low-dose Aspirin", True),
        ("low\u2011dose  aspirin", "Low-Dose Aspirin", True),
        ("placebo", "aspirin", False),
        ("patients without aspirin", "aspirin", True),  # a value is no quote: it may be what is excluded
        ("treatment", "men", False),
        ("adults and children", ["adults", "children"], True),
        ("adults alone", ["adults", "children"], False),
        ("40 adults", {"n": 40, "who": "adults", "other": None}, True),
        ("41 adults", {"n": 40, "who": "adults"}, False),
        ("whatever", True, True),
        ("CRP +++ at entry", "+++", True),
        ("CRP at entry", "+++", False),
    ],
)
def test_texts_are_compared_as_texts_and_numbers_as_numbers(passage: str, value: Any, said: bool) -> None:
    assert says(passage, value) is said


@given(st.integers(-(10**12), 10**12))
def test_a_number_is_found_in_every_common_spelling(number: int) -> None:
    for written in (f"{number}", f"{number:,}", f"{number:,}".replace(",", " "), f"n={number}", f"({number})"):
        assert Decimal(number) in set(numbers_in(written)), written


@given(st.floats(-1e9, 1e9, allow_nan=False))
def test_a_decimal_number_is_found_as_it_is_written(number: float) -> None:
    assert says(f"it was {number!r} in all", number)


@pytest.mark.spec("4.24")
@pytest.mark.parametrize(
    ("evidence", "value", "found", "validated"),
    [
        ("We enrolled 1,250 adults", 1250, True, True),
        ("we enrolled 1,250 ADULTS", 1250, True, True),  # folded
        ("We enrolled 1,250 adults", 1251, True, False),
        ("We enrolled 9,999 adults from twelve countries", 9999, False, False),  # invented
        ("Participants were randomised to low-dose aspirin", "low-dose aspirin", True, True),
        ("Participants were randomised to low-dose aspirin", "ibuprofen", True, False),
        ("The risk fell by 5 %", 0.05, True, True),
        ("Participants were randomised to", 12, True, False),  # the chunk says twelve behind it
        ("Participants were randomised to", 1250, True, False),  # and 1,250 before it
        ("mean age 54.3 years", 54.3, False, False),  # short, and not the chunk's own words
    ],
)
def test_a_value_is_validated_by_the_chunks_own_words(evidence: str, value: Any, found: bool, validated: bool) -> None:
    one = Extraction(value=value, chunk_number=1, evidence=evidence)
    after = Passages([Chunk(text=TEXT)]).validated(one)
    assert after.quote is not None
    assert (after.quote.found, after.validated) == (found, validated)


def test_a_number_that_a_quote_cuts_off_is_read_whole() -> None:
    one = Extraction(value=12, chunk_number=1, evidence="In this study we enrolled 12")
    chunk = Chunk(text="In this study we enrolled 1250 adults, or 12,500 in all.")
    assert Passages([chunk]).validated(one).validated is False


def test_evidence_with_a_changed_number_is_altered_and_validates_nothing() -> None:
    said = "Between 2015 and 2019 we enrolled 1350 adults with diabetes in forty-one hospitals of two countries"
    chunk = Chunk(text=said.replace("1350", "1250"))
    for value in (1350, 1250):
        after = Passages([chunk]).validated(Extraction(value=value, chunk_number=1, evidence=said))
        assert after.quote is not None
        assert (after.quote.state, after.validated) == (QuoteState.ALTERED, False)
        assert [(one.quoted, one.recorded) for one in after.quote.differences] == [("1350", "1250")]


@pytest.mark.spec("4.24")
def test_of_a_value_that_is_listed_only_the_evidence_must_be_there() -> None:
    passages = Passages([Chunk(text=TEXT)])
    one = Extraction(
        value="RCT", chunk_number=1, evidence="Participants were randomised to low-dose aspirin or placebo"
    )
    assert passages.validated(one).validated is False
    assert passages.validated(one, by_value=False).validated is True
    invented = one.model_copy(update={"evidence": "This was a randomised controlled trial in four countries"})
    assert passages.validated(invented, by_value=False).validated is False


@pytest.mark.parametrize("evidence", [None, "", "  ", "n/a", "..."])
def test_without_evidence_nothing_is_validated(evidence: str | None) -> None:
    one = Extraction(value="x", chunk_number=1, evidence=evidence)
    assert Passages([Chunk(text=TEXT)]).validated(one) == one


def test_evidence_is_looked_for_in_the_chunk_that_is_cited_and_in_no_other() -> None:
    passages = Passages([Chunk(text="Nothing of the kind."), Chunk(text=TEXT)])
    one = Extraction(value=1250, chunk_number=1, evidence="We enrolled 1,250 adults")
    assert passages.validated(one).validated is False
    assert passages.validated(one.model_copy(update={"chunk_number": 2})).validated is True


def test_five_hundred_long_quotes_in_a_chunk_of_1_mb_take_bounded_time() -> None:
    passages = Passages([Chunk(text="plausible words " * 62_500)])
    begun = time.process_time()
    for n in range(500):
        passages.validated(Extraction(value="v" * 2000, chunk_number=1, evidence=f"implausible {n} " * 140))
    assert time.process_time() - begun < 5
