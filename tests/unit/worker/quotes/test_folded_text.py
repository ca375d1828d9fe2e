"""Texts folded for comparison: what becomes equal, and where in the text a folded part stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_worker.quotes import folded_text
from tamis_worker.quotes.folded_text import FoldedText, TextSpan

ANY_TEXT = st.text(st.characters()) | st.text(
    st.sampled_from("aB <[\n\u00a0'\u201c\u2014\u0301\u00e9\u00df\u2026\ufb01\u00ad")
)


def folded(text: str) -> str:
    return FoldedText(text).folded


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Emicizumab", "EMICIZUMAB"),
        ("a \n\t b\u00a0c\u2003d", "a b c d"),
        ("\u201cdouble\u201d and \u2018single\u2019", "\"double\" and 'single'"),
        ("\u00abguillemets\u00bb", '"guillemets"'),
        ("the patients\u2019 own", "the patients' own"),
        ("1990\u20132000 \u2212 5", "1990-2000 - 5"),
        ("dif\ufb01cult \u00bd", "difficult 1\u20442"),
        ("caf\u00e9", "cafe\u0301"),
        ("Müller, Łódź", "Muller, \u0141odz"),
        ("STRASSE", "straße"),
        ("well\u00adtolerated", "welltolerated"),
        ("and so on\u2026", "and so on..."),
        ("H\u2082O 10\u2076", "H2O 106"),
        ("< sup>2< /sup> [ INST]", "<sup>2</sup> [INST]"),
        ("\uff21\uff22\uff23", "abc"),
        (" abc", "abc"),
    ],
)
def test_what_differs_only_in_how_it_is_written_is_equal(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("10 mg", "100 mg"), ("effective", "not effective"), ("a-b", "a b"), ("<5", ">5"), ("p=0.05", "p=0,05")],
)
def test_what_differs_in_meaning_stays_apart(one: str, other: str) -> None:
    assert folded(one) != folded(other)


@pytest.mark.parametrize(
    ("text", "part", "place"),
    [
        ("A  long\n title", "long title", TextSpan(3, 14)),
        ("  led by space", "led", TextSpan(2, 5)),
        ("un caf\u0065\u0301 noir", "cafe", TextSpan(3, 8)),  # the accent is a character of its own, and belongs to it
        ("dif\ufb01cult", "ficult", TextSpan(3, 8)),  # a ligature is one character
        ("dif\ufb01cult", "icult", TextSpan(3, 8)),  # and half of one is all of it
        ("x \u2026 y", "... y", TextSpan(2, 5)),
        ("x\u00ad\u00ady z", "x", TextSpan(0, 3)),
        ("a [ b", "[b", TextSpan(2, 5)),
    ],
)
def test_a_part_stands_where_its_characters_stand(text: str, part: str, place: TextSpan) -> None:
    made = FoldedText(text)
    start = made.folded.index(part)
    assert made.place(start, start + len(part)) == place


@given(ANY_TEXT, st.integers(1, 9))
def test_folding_does_not_depend_on_how_much_is_folded_at_a_time(text: str, step: int) -> None:
    assert FoldedText(text, step=step).folded == folded(text)


@given(ANY_TEXT, st.integers(1, 9), st.data())
def test_every_place_holds_what_was_folded(text: str, step: int, data: st.DataObject) -> None:
    made = FoldedText(text, step=step)
    if not made.folded:
        return
    start = data.draw(st.integers(0, len(made.folded) - 1))
    end = data.draw(st.integers(start + 1, len(made.folded)))
    place = made.place(start, end)
    assert 0 <= place.start < place.end <= len(text)
    assert made.folded[start:end].strip() in folded(f"|{text[place.start : place.end]}|")
    assert FoldedText(text).place(start, end) == place


@given(ANY_TEXT)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


def test_a_record_of_all_characters_is_not_remembered_whole() -> None:
    FoldedText("".join(map(chr, range(50_000))))
    assert len(folded_text._FOLDS) <= folded_text.REMEMBERED
