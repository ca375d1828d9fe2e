"""One record's whole story over HTTP: its audits, the other stages of its review, and what kept it out before."""

from collections.abc import Iterator

import httpx2 as httpx
import pytest

from stage.gateway import signed_in
from stage.screened import CRITERIA, SCREENING, Place, decided, failed, kept_out, write_batch, write_review
from tamis_producer import Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import draw_audit, record_audit
from tamis_review.decisions.audits import AuditDecision
from tamis_schemas import Exclusion, Filter, InclusionDecision

ABSTRACT = "🏃 We trained adults at home.\n# Decision"
EXCLUDED = InclusionDecision.model_validate(
    {
        "status": "exclude",
        "confidence": 0.7,
        "rationale": "because",
        "exclusion_reason": CRITERIA.exclusion_criteria[0],
        "criteria": CRITERIA.exclusion_criteria,
        "verdicts": {
            "E1": {
                "verdict": "met",
                "quote": {
                    "text": "Trained adults",
                    "found": True,
                    "similarity": 1,
                    "field": "abstract",
                    "start": 5,
                    "end": 19,
                },
            }
        },
    }
)


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        yield http


@pytest.fixture
def stages(client: Client) -> tuple[str, str]:
    """Two stages: three records, of which the first one went on; it was then asked about in vain."""
    rows = [
        decided({"id": "a", "title": "A", "abstract": ABSTRACT}, EXCLUDED),
        kept_out({"id": "b", "title": "A"}, Exclusion(rule="duplicate", reason="the same title", duplicate_of=0)),
    ]
    with client.engine.begin() as connection:
        review = write_review(connection, "r", SCREENING, Filter(criteria="x"))
        first = write_batch(connection, rows, place=Place(review, 0))
        again = failed({"id": "a", "title": "A"}, "timeout", "no answer within 120 s")
        again = type(again)(**{**again.__dict__, "origin": 0})
        second = write_batch(connection, [again], operation=Filter(criteria="x"), place=Place(review, 1))
    return str(first), str(second)


def test_a_record_is_explained_with_its_audits_and_the_other_stages(
    client: Client, http: httpx.Client, stages: tuple[str, str]
) -> None:
    first, second = stages
    audit = draw_audit(client.batch(first), 1, seed=7)
    record_audit(client, audit.id, [AuditDecision(0, include=False, reviewer="Reviewer B", note="read whole")])
    told = http.get(f"/v1/batches/{first}/records/0/explanation").json()
    assert told["verdicts"][0]["passage"] == "trained adults"
    assert told["verdicts"][0]["criterion"] == CRITERIA.exclusion_criteria[0]
    assert told["because"][0]["text"] == "status exclude: E1 met, verified by its quote, in abstract"
    assert [(one["audit"], one["seed"]) for one in told["audits"]] == [(audit.id, 7)]
    assert [(one["act"], one["by"], one["value"], one["note"]) for one in told["humans"]] == [
        ("audited", "Reviewer B", False, "read whole")
    ]
    assert [(one["stage"], one["batch_id"], one["because"][0]["text"]) for one in told["stages"]] == [
        (1, second, "failed, timeout: no answer within 120 s")
    ]
    back = http.get(f"/v1/batches/{second}/records/0/explanation").json()
    assert [(one["stage"], one["batch_id"], one["result"]["index"]) for one in back["stages"]] == [(0, first, 0)]


def test_a_record_that_no_model_was_asked_about_is_explained_by_its_rule(
    http: httpx.Client, stages: tuple[str, str]
) -> None:
    told = http.get(f"/v1/batches/{stages[0]}/records/1/explanation").json()
    assert told["because"][0]["text"] == "removed as a duplicate: the same title; No. 1 was kept"
    assert (told["gap"], told["transcripts"], told["verdicts"]) == ("no model was asked about the record", [], [])


def test_the_same_is_told_as_text_in_which_no_foreign_line_can_pass_for_a_heading(
    http: httpx.Client, stages: tuple[str, str]
) -> None:
    answer = http.get(f"/v1/batches/{stages[0]}/records/0/explanation", params={"form": "text"})
    assert answer.headers["content-type"].startswith("text/plain")
    headings = [line for line in answer.text.splitlines() if line.startswith("# ")]
    assert headings == [
        "# Batch",
        "# Record",
        "# Source",
        "# Decision",
        "# Criteria",
        "# Other stages of the review",
        "# Prompts and answers",
        "# Cost",
    ]
    assert "\n    # Decision\n" in answer.text


def test_a_record_that_is_not_there_is_404_and_a_key_without_the_scope_403(
    client: Client, http: httpx.Client, stages: tuple[str, str]
) -> None:
    assert http.get(f"/v1/batches/{stages[0]}/records/2/explanation").status_code == 404
    assert http.get(f"/v1/batches/{stages[0]}/records/-1/explanation").status_code == 422
    with signed_in(client, "Submitter", Scope.SUBMIT) as other:
        assert other.get(f"/v1/batches/{stages[0]}/records/0/explanation").status_code == 403
