"""An answer's parameters are checked before anything is written."""

import pytest
from pydantic import ValidationError

from tamis_schemas.operations.answer import Answer

GIVEN: dict[str, object] = {"instruct": "Explain it", "resp_format": "one paragraph", "eval_crit": "no jargon"}


@pytest.mark.spec("2.14")
def test_the_defaults_are_those_of_spec_2() -> None:
    answer = Answer.model_validate(GIVEN)
    assert answer.operation == "answer"
    assert (answer.iter_max, answer.score_threshold, answer.parallel_attempts) == (3, 0.8, 1)


def test_stored_parameters_give_the_answer_back() -> None:
    answer = Answer.model_validate(GIVEN | {"iter_max": 10, "score_threshold": 1, "parallel_attempts": 2})
    assert Answer.model_validate(answer.model_dump(mode="json")) == answer


@pytest.mark.parametrize("threshold", [0, 0.0, 1, 0.85])
def test_every_threshold_from_0_to_1_is_kept_as_given(threshold: float) -> None:
    assert Answer.model_validate(GIVEN | {"score_threshold": threshold}).score_threshold == threshold


@pytest.mark.spec("2.23")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"instruct": " "}, "instruct"),
        ({"resp_format": ""}, "resp_format"),
        ({"eval_crit": None}, "eval_crit"),
        ({"iter_max": 0}, "iter_max"),
        ({"iter_max": 11}, "iter_max"),
        ({"iter_max": True}, "iter_max"),
        ({"iter_max": 2.5}, "iter_max"),
        ({"parallel_attempts": 0}, "parallel_attempts"),
        ({"parallel_attempts": 11}, "parallel_attempts"),
        ({"score_threshold": 80}, "score_threshold must be from 0 to 1, not 80.*: write 0.8 for 80 %"),
        ({"score_threshold": -0.1}, "score_threshold must be from 0 to 1"),
        ({"score_threshold": None}, "score_threshold"),
        ({"score_threshold": float("nan")}, "score_threshold"),
        ({"score_threshold": True}, "score_threshold"),
        ({"model": "gpt-4o"}, "model"),
    ],
)
def test_wrong_parameters_are_refused_naming_the_field(changes: dict[str, object], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Answer.model_validate(GIVEN | changes)
