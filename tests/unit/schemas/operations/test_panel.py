"""A panel: what makes one, and the decision that its models' words come to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tamis_schemas import Filter, Inclusion, InclusionStatus, Panel, PanelPolicy, ReviewPlan, Score, SearchCriteria
from tamis_schemas.operations import models_in, models_of, parse_operation
from tamis_schemas.operations.panel import Vote, confidence_in, decision, disagreement, mean_score

I, E, U = InclusionStatus.INCLUDE, InclusionStatus.EXCLUDE, InclusionStatus.UNCERTAIN  # noqa: E741 - as in a table
CRITERIA = SearchCriteria(research_question="q", inclusion_criteria=["humans"])


def voted(status: InclusionStatus | None, confidence: float = 0.9) -> Vote | None:
    match status:
        case None:
            return None
        case InclusionStatus.UNCERTAIN:
            return Vote(status, 0.5)
    return Vote(status, confidence if status is I else 1 - confidence)


def panel(policy: str) -> Panel:
    return Panel.model_validate({"models": ["m0", "m1", "m2"], "policy": policy})


def decided(policy: str, *statuses: InclusionStatus | None) -> InclusionStatus | None:
    return decision(PanelPolicy(policy), [voted(status) for status in statuses])


@pytest.mark.parametrize(
    ("votes", "any_", "majority", "mean", "unanimous"),
    [  # each sure by 0.9, so that the score of an inclusion is 0.9, of an exclusion 0.1, of a doubt 0.5
        ((I, I, I), I, I, I, I),
        ((I, I, E), I, I, I, I),  # (0.9 + 0.9 + 0.1) / 3 = 0.63
        ((I, E, E), I, E, E, I),  # 1.1 / 3 = 0.37
        ((E, E, E), E, E, E, E),
        ((E, E, U), E, E, E, U),  # 0.7 / 3 = 0.23
        ((E, U, U), U, U, E, U),  # 1.1 / 3 = 0.37
        ((I, E, U), I, U, U, I),  # 1.5 / 3 = 0.5
        ((U, U, U), U, U, U, U),
        ((I, E), I, U, U, I),  # a tie; (0.9 + 0.1) / 2 = 0.5, whatever the computer makes of 1 - 0.9
        ((E, U), U, U, E, U),  # 0.6 / 2 = 0.3
        ((I, I, E, E), I, U, U, I),
        ((I, I, E, U), I, U, I, I),  # two of four are no majority; 2.4 / 4 = 0.6
    ],
)
def test_each_policy_makes_one_decision_of_the_votes(
    votes: tuple[InclusionStatus, ...],
    any_: InclusionStatus,
    majority: InclusionStatus,
    mean: InclusionStatus,
    unanimous: InclusionStatus,
) -> None:
    assert decided("any", *votes) is any_
    assert decided("majority", *votes) is majority
    assert decided("mean", *votes) is mean
    assert decided("unanimous-exclude", *votes) is unanimous


@pytest.mark.parametrize(
    ("policy", "votes", "expected"),
    [
        ("any", (I, None, None), I),  # one inclusion is enough, whatever the others had said
        ("any", (E, E, None), None),  # the missing one may include it
        ("majority", (E, E, None), E),  # two of three are a majority in any case
        ("majority", (I, None, None), None),
        ("majority", (I, E, None), None),
        ("unanimous-exclude", (E, None), None),
        ("unanimous-exclude", (I, None), I),
        ("mean", (I, I, None), I),  # (0.9 + 0.9 + 0) / 3 = 0.6 at least
        ("mean", (I, None), None),  # 0.45 to 0.95
        ("mean", (None, None), None),
    ],
)
def test_where_a_model_failed_there_is_a_decision_only_if_its_vote_could_not_change_it(
    policy: str, votes: tuple[InclusionStatus | None, ...], expected: InclusionStatus | None
) -> None:
    assert decided(policy, *votes) is expected


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(PanelPolicy),
    st.lists(st.tuples(st.sampled_from([I, E, U]), st.floats(0, 1)), min_size=2, max_size=4),
    st.data(),
)
def test_no_vote_of_a_missing_model_changes_what_was_decided_without_it(
    policy: PanelPolicy, cast: list[tuple[InclusionStatus, float]], data: st.DataObject
) -> None:
    votes = [voted(status, confidence) for status, confidence in cast]
    place = data.draw(st.integers(0, len(votes) - 1))
    without = [*votes[:place], None, *votes[place + 1 :]]
    found = decision(policy, without)
    if found is not None:
        assert decision(policy, votes) is found


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"models": ["a", "b", "a"]}, "'a' is named twice, but a model repeats its errors"),
        ({"models": ["a"]}, "a panel needs several models"),
        ({"models": ["a", "b"], "policy": "most"}, "policy"),
        ({"models": [f"m{n}" for n in range(8)]}, "at most 7"),
        ({"models": []}, "at least 1"),
        ({"models": ["a", " "]}, "models.1"),
        ({"models": ["a", "b"], "polizy": "any"}, "polizy"),
    ],
)
def test_what_is_no_panel_is_refused_with_the_reason(given_: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        Panel.model_validate(given_)


def test_a_panel_is_named_by_its_models() -> None:
    assert panel("any").words == "m0, m1, m2"


def test_the_confidence_is_the_support_of_the_models_for_the_decision() -> None:
    votes = [vote for vote in (voted(I, 0.9), voted(E, 0.7), voted(U)) if vote is not None]
    score = mean_score(votes)  # (0.9 + 0.3 + 0.5) / 3
    assert score == pytest.approx(0.566666666667)
    assert confidence_in(I, score) == score
    assert confidence_in(E, score) == pytest.approx(1 - score)
    assert confidence_in(U, 0.5) == 1.0
    assert confidence_in(U, 0.9) == pytest.approx(0.2)  # 1 - |2 * 0.9 - 1|


@pytest.mark.parametrize(
    ("statuses", "share"),
    [([I, I, I], 0.0), ([I, I, E], 2 / 3), ([I, E, U], 1.0), ([I, E], 1.0), ([I], None), ([], None)],
)
def test_disagreement_is_the_share_of_pairs_that_say_different_things(
    statuses: list[InclusionStatus], share: float | None
) -> None:
    assert disagreement(statuses) == share


def test_an_operation_without_a_panel_is_written_as_it_always_was() -> None:
    assert "panel" not in Filter(criteria="Is it?").model_dump(mode="json")
    assert "panel" not in Inclusion(criteria=CRITERIA).model_dump(mode="json")
    asked = Inclusion(criteria=CRITERIA, panel=panel("any"))
    written = asked.model_dump(mode="json")
    assert written["panel"]["models"] == ["m0", "m1", "m2"]
    assert parse_operation(written) == asked
    assert models_of(asked, None) == models_in(written, "m0, m1, m2") == ("m0", "m1", "m2")
    assert models_of(Score(criteria="How good?"), None) == (None,)


def test_a_stage_of_a_review_asks_its_panel_and_no_model_beside_it() -> None:
    stage = {"operation": {"operation": "filter", "criteria": "Is it?", "panel": {"models": ["a", "b"]}}}
    plan = ReviewPlan.model_validate({"stages": [stage]}).asking("usual")
    assert plan.stages[0].model is None
    assert plan.stages[0].asked_of == "a, b"
    with pytest.raises(ValidationError, match="the stage has a panel"):
        ReviewPlan.model_validate({"stages": [{**stage, "model": "c"}]})
