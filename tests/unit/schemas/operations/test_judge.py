"""A judge's parameters are checked before anything is written."""

import pytest
from pydantic import ValidationError

from tamis_schemas.operations.judge import Judge


def test_the_defaults_are_those_of_spec_5() -> None:
    judge = Judge(guidelines="Stated ages only.")
    assert (judge.operation, judge.noun, judge.plural, judge.block_threshold) == ("judge", "Email", None, 0.15)


def test_stored_parameters_give_the_judge_back() -> None:
    judge = Judge(guidelines="## Age\nStated only.", noun="Study", plural="studies", block_threshold=0)
    assert Judge.model_validate(judge.model_dump(mode="json")) == judge
    assert judge.block_threshold == 0.0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"guidelines": " "}, "guidelines"),
        ({"guidelines": None}, "guidelines"),
        ({"noun": ""}, "noun"),
        ({"noun": "Email\n## Your Task"}, "noun\n.*not a noun for numbered things"),
        ({"noun": "Email 3"}, "noun\n.*not a noun for numbered things"),
        ({"noun": "x" * 41}, "noun"),
        ({"plural": "e\nmails"}, "plural\n.*not a noun for numbered things"),
        ({"block_threshold": 15}, "block_threshold must be from 0 to 1, not 15.*: write 0.15 for 15 %"),
        ({"block_threshold": -0.1}, "block_threshold must be from 0 to 1"),
        ({"block_threshold": float("nan")}, "block_threshold"),
        ({"block_threshold": True}, "block_threshold"),
        ({"block_threshold": "0.15"}, "block_threshold"),
        ({"threshold": 0.2}, "threshold"),
    ],
)
def test_wrong_parameters_are_refused_naming_the_field(changes: dict[str, object], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        Judge.model_validate({"guidelines": "Stated ages only."} | changes)
