"""The words of a file of decisions are known, or said by whoever imports it; nothing is guessed in silence."""

import pytest

from tamis_review.decisions.decision_words import Meaning, NamedWords, meanings_of
from tamis_schemas import HumanStage, InvalidParameters

NONE = NamedWords()


def read(words: list[str], stage: HumanStage = HumanStage.OWN, named: NamedWords = NONE) -> dict[str, str]:
    return {one.word: one.meaning.value for one in meanings_of(words, stage, named)}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["Included", "Excluded", "Maybe", ""], ["include", "exclude", "uncertain", "no decision"]),
        (["1", "0", "NA"], ["include", "exclude", "no decision"]),
        (["1", "2"], ["include", "exclude"]),  # a form that numbers its answers
        (["1", "2", "NA"], ["include", "exclude", "no decision"]),
        (["TRUE", "false"], ["include", "exclude"]),
        (["relevant", "irrelevant"], ["include", "exclude"]),
        (["Yes", "No", "Unsure"], ["include", "exclude", "uncertain"]),
    ],
)
def test_usual_words_are_known_in_any_case(words: list[str], expected: list[str]) -> None:
    assert read(words) == dict(zip(words, expected, strict=True))


def test_the_words_are_shown_with_their_counts_the_most_frequent_first() -> None:
    words = meanings_of(["1"] * 17 + ["2"] * 1481, HumanStage.OWN, NONE)
    assert [one.shown for one in words] == ["2 = exclude (1,481)", "1 = include (17)"]


@pytest.mark.parametrize(
    ("words", "named", "told"),
    [
        (["1", "2", "0"], NONE, r"unknown decisions: '2' \(1\); known are 1 = include \(1\), 0 = exclude \(1\)"),
        (["1", "2", "3"], NONE, r"'2' \(1\), '3' \(1\)"),
        (["1", "2"], NamedWords(exclude=["1"]), r"'2' \(1\); known are 1 = exclude"),  # the guess would turn it round
        (
            ["so-so"],
            NONE,
            r"'so-so' \(1\)\. Give their meaning with --include VALUE, --exclude VALUE or --uncertain VALUE",
        ),
        ([f"word {n}" for n in range(30)], NONE, "and 10 more"),
    ],
)
def test_other_words_are_refused_with_their_list(words: list[str], named: NamedWords, told: str) -> None:
    with pytest.raises(InvalidParameters, match=told):
        read(words, named=named)


def test_what_the_caller_says_counts_before_what_is_known() -> None:
    named = NamedWords(include=["Keep"], exclude=["1"], uncertain=["?"])
    assert read(["keep", "1", "?"], named=named) == {"keep": "include", "1": "exclude", "?": "uncertain"}
    with pytest.raises(InvalidParameters, match="cannot mean both include and exclude"):
        read(["x"], named=NamedWords(include=["x"], exclude=["X"]))


def test_a_full_text_may_not_have_been_retrieved_and_retrieval_has_words_of_its_own() -> None:
    assert read(["exclude", "No full text"], HumanStage.FULL_TEXT)["No full text"] == Meaning.NOT_RETRIEVED
    assert read(["yes", "not available"], HumanStage.RETRIEVAL) == {
        "yes": "retrieved",
        "not available": "not retrieved",
    }
    with pytest.raises(InvalidParameters, match="'No full text'"):
        read(["No full text"])
