"""The variants of a keyword, and the pattern that finds each of them."""

import unicodedata

import re2
from hypothesis import given
from hypothesis import strategies as st

from tamis_review.filter.keywords import MOST, Keyword, Keywords, folded, pattern, variants
from tamis_review.filter.rules import ASKED_FOR
from tamis_review.filter.soft_hyphens import without_soft_hyphens

KEYWORDS = (
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\\"), min_size=1, max_size=30)
    .map(lambda text: unicodedata.normalize("NFC", text))
    .filter(lambda text: any(map(str.isalnum, text)))
)


def test_singular_and_plural_are_variants_of_each_other() -> None:
    for one, many in {
        "case report": "case reports",
        "animal study": "animal studies",
        "meta-analysis": "meta analyses",
        "box": "boxes",
        "mouse assay": "mouse assays",
    }.items():
        assert folded(many) in variants(one)
        assert folded(one) in variants(many)


def test_a_word_that_is_both_or_no_plural_stays() -> None:
    assert variants("case series") == ["case series"]
    assert variants("virus") == ["virus"]


def test_an_article_after_a_preposition_is_no_difference() -> None:
    assert folded("Letter to the Editor") == folded("letter to editor") == "letter to editor"
    assert re2.search(f"(?i){pattern('letter to editor')}", "A Letter to the Editor")


@given(KEYWORDS)
def test_a_keyword_is_found_where_it_stands_alone(keyword: str) -> None:
    keywords = Keywords([Keyword(keyword, ASKED_FOR, "k")])
    found = list(keywords.mentions(without_soft_hyphens(f" {keyword} ").encode()))
    assert found, keyword
    assert len(variants(keyword)) <= MOST


@given(KEYWORDS, st.sampled_from("aZé9я"))
def test_a_keyword_within_a_word_is_not_found(keyword: str, letter: str) -> None:
    keyword = keyword.strip()
    first, last = folded(keyword)[0], folded(keyword)[-1]
    if first.isalpha() and last.isalpha() and max(first, last) < "\u0e00":
        keywords = Keywords([Keyword(keyword, ASKED_FOR, "k")])
        assert not list(keywords.mentions(without_soft_hyphens(f"{letter}{keyword}{letter}").encode()))
