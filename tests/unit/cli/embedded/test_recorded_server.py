"""The recorded answers: one for each record of the example, correct by the ordinary rules, and never a guess."""

import json
from http import HTTPStatus
from typing import Any

import pytest

from tamis_cli.embedded.recorded_server import MODEL_NAME, Recordings, completion
from tamis_review.example import ANSWERS, CITATIONS, CRITERIA
from tamis_review.intake import read_records
from tamis_review.plans.criteria_file import read_criteria
from tamis_schemas import Inclusion, InclusionDecision
from tamis_worker.operations.inclusion import messages, parse

OPERATION = Inclusion(criteria=read_criteria(CRITERIA))
RECORDS = {str(record["id"]): record for record in read_records(CITATIONS)}
CUT_OFF = "DEMO-05"

# By hand, from the citations: what a careful reviewer of titles and abstracts decides.
INCLUDED = {"DEMO-01", "DEMO-02", "DEMO-03", "DEMO-04", "DEMO-05", "DEMO-06", "DEMO-23"}
UNCERTAIN = {"DEMO-17", "DEMO-18", "DEMO-19"}


def asked(recordings: Recordings, record: dict[str, Any]) -> tuple[HTTPStatus, dict[str, Any]]:
    """The response to the question that a worker asks about a record."""
    told = [{"role": message.role, "content": message.content} for message in messages(OPERATION, record)]
    return completion(recordings, {"model": "any", "messages": told})


def content(answer: tuple[HTTPStatus, dict[str, Any]]) -> str:
    status, body = answer
    assert status == HTTPStatus.OK
    return str(body["choices"][0]["message"]["content"])


def example() -> Recordings:
    return Recordings(json.loads(ANSWERS.read_text("utf-8")))


def whole() -> Recordings:
    """The recordings, after those answers that are cut off."""
    recordings = example()
    for _ in range(2):
        asked(recordings, RECORDS[CUT_OFF])
    return recordings


def test_every_record_has_the_decision_of_a_careful_reviewer_and_each_quote_is_in_the_record() -> None:
    recordings = whole()
    for name, record in RECORDS.items():
        decision = parse(OPERATION, record, json.loads(content(asked(recordings, record)))).detail
        assert isinstance(decision, InclusionDecision)
        expected = "include" if name in INCLUDED else "uncertain" if name in UNCERTAIN else "exclude"
        assert (name, decision.status, decision.model_status) == (name, expected, None)
        assert not decision.flagged, name
        if expected == "exclude":
            reason = next(each for each in OPERATION.criteria.labelled() if each.text == decision.criteria[0])
            quote = decision.verdicts[reason.label].quote
            assert quote is not None, name
            assert quote.found, name


def test_two_answers_about_one_record_are_cut_off_and_the_third_is_whole() -> None:
    recordings = example()
    for _ in range(2):
        with pytest.raises(json.JSONDecodeError):
            json.loads(content(asked(recordings, RECORDS[CUT_OFF])))
    assert json.loads(content(asked(recordings, RECORDS[CUT_OFF])))["status"] == "include"


def test_usage_is_counted_and_the_model_says_that_it_is_none() -> None:
    _, body = asked(example(), RECORDS["DEMO-01"])
    assert body["model"] == MODEL_NAME == "recorded-answers"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens"] > usage["completion_tokens"] > 0


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"messages": [{"role": "user", "content": "title: Another record"}]}, "no answer is recorded"),
        ({"messages": [{"role": "user", "content": "about title: Known"}]}, "no answer is recorded"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "not text"),
        ({"model": "any"}, "no messages"),
        ([], "no messages"),
    ],
)
def test_what_is_not_recorded_is_refused(request_: Any, said: str) -> None:
    status, body = completion(Recordings([{"title": "Known", "answer": {}}]), request_)
    assert status == HTTPStatus.BAD_REQUEST
    assert said in body["error"]["message"]
