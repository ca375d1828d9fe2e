"""Worked examples out of what people decided: which are chosen, and what is refused."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis_producer.submission.worked_examples import CUT, MOST, MOST_CHARACTERS, SHOWN_ABSTRACT, choose, with_examples
from tamis_schemas import (
    Exclusion,
    Filter,
    Inclusion,
    InclusionDecision,
    InvalidParameters,
    ItemResult,
    Override,
    SearchCriteria,
)

CRITERIA = SearchCriteria(research_question="Does it work?", inclusion_criteria=["humans"])
SCREENING = Inclusion(criteria=CRITERIA, examples_from="7c01")


def row(title: str | None, human: Any, *, model: str = "include", note: str | None = None, **more: Any) -> ItemResult:
    """A record about which a model and a person decided."""
    decided = Override(
        batch_id="7c01",
        index=0,
        item_id="a",
        value=human,
        note=note,
        reviewer="ann",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        system_decided=True,
        system_value=model,
    )
    reason = "humans" if model == "exclude" else None
    given = {
        "index": 0,
        "item_id": "a",
        "status": "decided",
        "override": None if human is None else decided,
        "item": {"title": title, "abstract": "We studied it."},
        "decision": InclusionDecision(status=model, confidence=0.9, rationale="", exclusion_reason=reason),
    }
    return ItemResult(**given | more)


def test_an_example_is_the_record_the_persons_decision_and_their_note() -> None:
    first, second = choose([row("A trial", "include"), row("In rats", "exclude", note="Rats\nonly")])
    assert first.model_dump() == {
        "title": "A trial",
        "abstract": "We studied it.",
        "decision": "include",
        "reason": None,
    }
    assert (second.decision, second.reason) == ("exclude", "Rats only")


def test_where_a_person_agrees_with_an_exclusion_its_reason_is_theirs_and_otherwise_it_is_not() -> None:
    _, agreed = choose([row("A", "include"), row("B", "exclude", model="exclude")])
    assert agreed.reason == "humans"
    overruled, _ = choose([row("A", "include", model="exclude"), row("B", "exclude")])
    assert overruled.reason is None


@pytest.mark.parametrize(
    "left_out",
    [
        row("C", None),
        row("C", "uncertain"),
        row(None, "exclude"),
        row("  ", "exclude"),
        row("C", "exclude", exclusion=Exclusion(rule="duplicate", reason="the same DOI")),
    ],
)
def test_only_records_with_a_title_that_a_model_was_asked_about_and_a_person_decided_are_examples(
    left_out: ItemResult,
) -> None:
    assert choose([row("A", "include"), left_out]) == []
    assert {one.title for one in choose([row("A", "include"), left_out, row("B", "exclude")])} == {"A", "B"}


def test_one_title_decided_differently_is_no_example_and_decided_alike_is_one() -> None:
    rows = [row("A", "include"), row("B", "exclude"), row("Same", "include"), row("same ", "exclude")]
    assert {one.title for one in choose(rows)} == {"A", "B"}
    assert len(choose([row("A", "include"), row("A", "include"), row("B", "exclude"), row("C", "exclude")])) == 2


def test_a_long_abstract_ends_at_a_word_with_a_mark() -> None:
    long = {"title": "A", "abstract": "word " * 1000}
    (example, _) = choose([row("A", "include", item=long), row("B", "exclude")])
    assert example.abstract is not None
    assert example.abstract.endswith(f"word{CUT}")
    assert SHOWN_ABSTRACT - len("word ") <= len(example.abstract) <= SHOWN_ABSTRACT


rows = st.lists(
    st.builds(
        lambda n, human, size: row(f"Title {n}", human, item={"title": f"Title {n}", "abstract": f"word{n} " * size}),
        st.integers(0, 30),
        st.sampled_from(["include", "exclude", "uncertain"]),
        st.integers(0, 600),
    ),
    max_size=30,
)


@given(rows, st.randoms())
def test_the_choice_is_balanced_bounded_and_the_same_in_any_order(given_: list[ItemResult], random: Any) -> None:
    distinct = list({one.item["title"]: one for one in given_}.values())
    chosen = choose(distinct)
    decisions = [one.decision for one in chosen]
    assert decisions == ["include", "exclude"] * (len(chosen) // 2)
    assert len(chosen) <= MOST
    assert sum(len(text) for one in chosen for text in (one.title, one.abstract or "")) <= MOST_CHARACTERS
    shuffled = list(distinct)
    random.shuffle(shuffled)
    assert choose(shuffled) == chosen
    both = {one.override.value for one in distinct if one.override} >= {"include", "exclude"}
    assert bool(chosen) is both


def test_a_decision_more_moves_no_other_out_of_its_order() -> None:
    before = choose([row(f"I{n}", "include") for n in range(2)] + [row(f"E{n}", "exclude") for n in range(2)])
    after = choose([row(f"I{n}", "include") for n in range(3)] + [row(f"E{n}", "exclude") for n in range(3)])
    assert [one for one in after if one in before and one.decision == "include"] == before[::2]


def test_the_criteria_get_the_examples_and_keep_everything_else() -> None:
    made = with_examples(SCREENING, SCREENING, "7c01-whole", [row("A", "include"), row("B", "exclude")])
    assert [one.title for one in made.criteria.examples] == ["A", "B"]
    assert made.examples_from == "7c01-whole"
    assert made.criteria.model_copy(update={"examples": []}) == CRITERIA


def test_what_can_be_no_example_for_this_review_is_refused() -> None:
    enough = [row("A", "include"), row("B", "exclude")]
    other = Inclusion(criteria=CRITERIA.model_copy(update={"research_question": "Is it cheap?"}))
    own = SCREENING.model_copy(
        update={"criteria": CRITERIA.model_copy(update={"examples": [{"title": "A", "decision": "include"}]})}
    )
    for operation, earlier, decided, told in (
        (SCREENING, other, enough, "has another research question"),
        (SCREENING, Filter(criteria="Is it?"), enough, "is not an inclusion"),
        (SCREENING, SCREENING, enough[:1], "needs a record that a person included"),
        (own, SCREENING, enough, "use one of the two"),
    ):
        with pytest.raises(InvalidParameters, match=told):
            with_examples(operation, earlier, "7c01", decided)
