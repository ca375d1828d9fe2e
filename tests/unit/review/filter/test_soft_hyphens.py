"""Soft hyphens: a word that holds one is the word."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.filter import InitialFilter
from tamis_review.filter.inclusions import switched_off
from tamis_review.filter.soft_hyphens import place_in_original, without_soft_hyphens
from tamis_schemas import SearchCriteria
from tamis_schemas.records.paper import PaperData


def criteria(included: str = "statins", **more: object) -> SearchCriteria:
    fields = {"research_question": "Do statins help?", "inclusion_criteria": [included]}
    return SearchCriteria.model_validate(fields | more)


@pytest.mark.parametrize(
    ("text", "rule", "matched"),
    [
        ("An ani\u00admal model of falls", "animal", "ani\u00admal model"),
        ("Tested in vi\u00adtro", "in_vitro", "in vi\u00adtro"),
        ("Falls: a case re\u00ad\n  port", "case_report", "case re\u00ad\n  port"),
        ("Effects \u00adin mi\u00adce\u00ad", "animal", "in mi\u00adce"),
        ("Falls: a cohort: case re\u00adports", None, None),
        ("Falls in pa\u00adtients and in vitro", None, None),  # people are studied
        ("An animal \u00admodel", "animal", "animal \u00admodel"),
        ("A simu\u00adlation", "keyword", "simu\u00adlation"),
    ],
)
def test_a_soft_hyphen_is_inside_a_word(text: str, rule: str | None, matched: str | None) -> None:
    result = InitialFilter(criteria(custom_keywords=["sim\u00adulation"])).filter_paper(PaperData(title=text))
    assert (result.rule, result.matched) == (rule, matched)
    if matched is not None:
        assert text[result.start : result.end] == matched


def test_an_abstract_and_the_criteria_are_read_without_soft_hyphens() -> None:
    protected = PaperData(title="T", abstract="Stud\u00adies in vitro were ex\u00adcluded.")
    assert InitialFilter(criteria()).filter_paper(protected).passed
    assert {"animal", "in_vitro"} == set(switched_off(criteria("ani\u00admal studies")))
    assert not switched_off(criteria("ani\u00admal studies are ex\u00adcluded"))


PIECES = st.lists(st.sampled_from(["a", "é", "动", " ", "\n", "\u00ad", "\u00ad \n\t"]), max_size=12).map("".join)


@settings(max_examples=60)
@given(PIECES, PIECES, PIECES)
def test_a_place_in_the_original_holds_the_same_letters(before: str, inside: str, after: str) -> None:
    text = f"{before}x{inside}y{after}"
    whole = without_soft_hyphens(text)
    start, end = whole.index("x"), whole.index("y") + 1
    place = place_in_original(text, start, end)
    assert text[place] == f"x{inside}y"
    assert without_soft_hyphens(text[place]) == whole[start:end]
