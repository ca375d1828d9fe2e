"""Which records of an order a person is offered, and in what words."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tamis_review.order.candidates import Candidate, HumanSays, texts_of
from tamis_review.order.next_records import Offered, meaning, offered, why
from tamis_review.order.order_store import OrderTerms, ReadingOrder, by_number
from tamis_schemas import ReadingReason as Reason

A, B = "Reviewer A", "Reviewer B"
ORDER = ReadingOrder(
    places=[4, 2, 0, 3, 1],
    reasons=["both", "exploration", "text", "rule", "returned"],
    decided=1,
    included=1,
    text_weight=0.4,
)


def says(*reviewers: str, conflict: bool = False, first: int = 1) -> HumanSays:
    return HumanSays(None if conflict else "include", conflict, reviewers, first)


def told(given: list[Offered]) -> list[tuple[int, str]]:
    return [(one.index, one.reason.value) for one in given]


def test_what_is_decided_is_left_out_and_what_rules_exclude_comes_last() -> None:
    assert told(offered(ORDER, {1: says(A)})) == [(4, "both"), (2, "exploration"), (0, "text"), (3, "rule")]
    assert told(offered(ORDER, {4: says(A), 0: says(A, B)})) == [(2, "exploration"), (1, "returned"), (3, "rule")]
    assert offered(ORDER, {})[0] == Offered(4, Reason.BOTH)


def test_who_reads_blind_is_offered_what_others_began_and_then_the_rest_by_number() -> None:
    human = {4: says(A, first=7)}
    _, order = by_number(OrderTerms(0, 0), {0: None, 1: None, 2: None, 3: "date_range", 4: None})
    blind = offered(order, human, reviewer=B, first=[2])
    assert told(blind) == [(2, "sample"), (4, "pair"), (0, "number"), (1, "number"), (3, "rule")]


def test_a_conflict_is_undecided_and_stays_at_its_place() -> None:
    assert told(offered(ORDER, {2: says(A, B, conflict=True), 1: says(A)}))[1] == (2, "conflict")
    assert told(offered(ORDER, {2: says(A, B, conflict=True)}, reviewer=A))[:2] == [(4, "both"), (0, "text")]


def test_a_pair_reads_the_same_records_in_the_order_in_which_the_first_read_them() -> None:
    human = {0: says(A, first=9), 3: says(A, first=5), 4: says(A, B, first=7), 1: says(B, first=3)}
    assert told(offered(ORDER, human, reviewer=B)) == [(3, "pair"), (0, "pair"), (2, "exploration")]
    assert told(offered(ORDER, human, reviewer=A)) == [(1, "pair"), (2, "exploration")]


def test_a_sample_comes_first_in_the_order_in_which_it_was_drawn_without_what_is_decided() -> None:
    given_first = offered(ORDER, {2: says(A)}, first=[3, 2, 0, 99])
    assert told(given_first) == [(3, "sample"), (0, "sample"), (4, "both"), (1, "returned")]


@settings(max_examples=30)
@given(
    places=st.permutations(range(8)),
    decided=st.sets(st.integers(0, 7)),
    first=st.lists(st.integers(0, 9), unique=True, max_size=4),
    reviewer=st.sampled_from([None, A, B]),
)
def test_every_record_that_is_left_is_offered_once(
    places: list[int], decided: set[int], first: list[int], reviewer: str | None
) -> None:
    order = ReadingOrder(places, ["model"] * 8, 0, 0, 0.0)
    human = {place: says(A, first=place) for place in decided}
    got = [one.index for one in offered(order, human, reviewer=reviewer, first=first)]
    assert sorted(got) == sorted(set(range(8)) - (set() if reviewer == B else decided))


def candidate(score: float | None = 0.93, rule: str | None = None) -> Candidate:
    return Candidate(3, "r3", "Title", "", score, rule, decided=False, included=None)


def test_each_reason_is_a_sentence_of_its_own() -> None:
    said = {reason: why(reason, candidate(rule="title_pattern"), 12) for reason in Reason}
    assert said[Reason.BOTH] == "the model scores it 0.93, and its text resembles the 12 included records"
    assert said[Reason.RULE] == "last, because the rule title_pattern excluded it"
    assert why(Reason.MODEL, candidate(None), 1) == "the model did not decide it"
    assert why(Reason.TEXT, candidate(), 1) == "its text resembles the included record"
    assert len(set(said.values())) == len(Reason)


def test_the_meaning_says_what_the_order_was_made_from() -> None:
    learned = meaning(ORDER, decided=5, unread=3, current=True)
    assert "from 1 decisions, 1 of them to include. Texts count for 40%" in learned
    assert "being updated" not in learned
    assert "Places are ranks, not probabilities." in learned
    behind = meaning(ORDER, decided=5, unread=3, current=False)
    assert "It is being updated (5 records are decided now), and omits decided records." in behind
    one_sided = ReadingOrder([0], ["model"], decided=7, included=0, text_weight=0.0)
    assert "People excluded all 7 records" in meaning(one_sided, decided=7, unread=1, current=True)
    single = ReadingOrder([0], ["model"], decided=1, included=1, text_weight=0.0)
    assert "People included the only record known to the order." in meaning(single, decided=1, unread=1, current=True)
    assert "(1 record is decided now)" in meaning(single, decided=1, unread=1, current=False)
    fresh = ReadingOrder([0], ["model"], decided=0, included=0, text_weight=0.0)
    assert meaning(fresh, decided=0, unread=1, current=True).startswith("The order follows the model's scores")
    assert (
        meaning(ORDER, decided=5, unread=0, current=True) == "No record is left to read: every record has a decision."
    )


def test_a_record_without_an_abstract_is_known_by_its_other_fields() -> None:
    assert texts_of({"id": "1", "title": "T", "abstract": "A", "year": 1999}) == ("T", "A")
    catalogued = {"id": "1", "title": "T", "abstract": " ", "journal": "J", "year": 1999, "keywords": "k", "_label": 1}
    assert texts_of(catalogued) == ("T", "k")  # not where it was published
    assert texts_of({"name": "x", "tags": ["a", "b"]}) == ("", 'x\n["a", "b"]')
