"""Audits over HTTP: drawn, judged, and what they say of everything that was excluded."""

import httpx2 as httpx
import pytest

from stage.screened import decided, written_batch
from tamis_producer import Batch, Client
from tamis_review import list_overrides, set_screening_mode
from tamis_schemas import InclusionDecision, ScreeningMode

EXCLUDED = 20
ROWS = [
    decided(
        {"id": f"r{n}", "title": f"Title {n}"},
        InclusionDecision.model_validate(
            {"status": "exclude" if n < EXCLUDED else "include", "confidence": 0.8, "rationale": ""}
        ),
    )
    for n in range(EXCLUDED + 2)
]


@pytest.fixture
def batch(client: Client) -> Batch:
    return written_batch(client, ROWS)


def drawn(http: httpx.Client, batch: Batch, **terms: object) -> dict[str, object]:
    answer = http.post(f"/v1/batches/{batch.id}/audits", json={"n": 5, "seed": 7, **terms})
    assert answer.status_code == 201, answer.text
    audit: dict[str, object] = answer.json()
    return audit


def places(audit: dict[str, object]) -> list[int]:
    return [item["index"] for item in audit["items"]]  # type: ignore[attr-defined]  # a list


def test_a_sample_is_drawn_judged_and_told_in_words(batch: Batch, http: httpx.Client) -> None:
    audit = drawn(http, batch)
    assert (audit["population"], audit["seed"], len(places(audit))) == (EXCLUDED, 7, 5)
    said = [{"index": place, "include": place == places(audit)[0], "note": "seen"} for place in places(audit)]
    answer = http.post(f"/v1/audits/{audit['id']}/decisions", json={"decisions": said})
    assert answer.status_code == 201, answer.text
    recorded = answer.json()
    assert (recorded["new"], recorded["included"]) == (5, [])
    assert {item["reviewer"] for item in recorded["audit"]["items"]} == {"Reviewer A"}
    verdict = recorded["audit"]["verdict"]
    assert (verdict["decided"], verdict["missed"]) == (5, 1)
    assert f"at most {verdict['most']} of all 20" in verdict["words"]
    assert http.get(f"/v1/audits/{str(audit['id'])[:8]}").json() == recorded["audit"]
    assert http.get(f"/v1/batches/{batch.id}/audits").json() == {"items": [recorded["audit"]], "next": None}


def test_the_same_seed_gives_back_the_same_audit(batch: Batch, http: httpx.Client) -> None:
    assert drawn(http, batch) == drawn(http, batch)
    assert len(http.get(f"/v1/batches/{batch.id}/audits").json()["items"]) == 1


def test_what_was_missed_is_included_where_that_is_asked_for(batch: Batch, http: httpx.Client) -> None:
    audit = drawn(http, batch)
    missed = places(audit)[2]
    body = {"decisions": [{"index": missed, "include": True}], "include_missed": True}
    answer = http.post(f"/v1/audits/{audit['id']}/decisions", json=body)
    assert answer.json()["included"] == [missed]
    assert [(one.index, one.value, one.reviewer) for one in list_overrides(batch)] == [
        (missed, "include", "Reviewer A")
    ]


def test_a_changed_decision_has_to_be_meant(batch: Batch, http: httpx.Client) -> None:
    audit = drawn(http, batch)
    path, place = f"/v1/audits/{audit['id']}/decisions", places(audit)[0]
    for body, status in (
        ({"decisions": [{"index": place, "include": True}]}, 201),
        ({"decisions": [{"index": place, "include": False}]}, 422),
        ({"decisions": [{"index": place, "include": False}], "correct": True}, 201),
    ):
        assert http.post(path, json=body).status_code == status, body


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ({"index": EXCLUDED, "include": True}, "is not in the sample"),
        ({"index": 0, "include": "yes"}, "include"),
        ({"index": 0}, "include"),
    ],
)
def test_what_is_no_decision_on_the_sample_is_refused_and_nothing_is_written(
    batch: Batch, http: httpx.Client, decision: dict[str, object], told: str
) -> None:
    audit = drawn(http, batch)
    right = {"index": places(audit)[0], "include": True}
    answer = http.post(f"/v1/audits/{audit['id']}/decisions", json={"decisions": [right, decision]})
    assert (answer.status_code, told in answer.json()["detail"]) == (422, True), answer.text
    assert http.get(f"/v1/audits/{audit['id']}").json()["verdict"]["decided"] == 0


def test_an_audit_that_there_is_not_is_unknown(batch: Batch, http: httpx.Client) -> None:
    assert http.get(f"/v1/audits/{batch.id}").status_code == 404


def test_exclusions_of_rules_are_not_audited_where_no_rule_excluded(batch: Batch, http: httpx.Client) -> None:
    answer = http.post(f"/v1/batches/{batch.id}/audits", json={"n": 5, "seed": 7, "stratum": "rules"})
    assert (answer.status_code, "no exclusion by a rule" in answer.json()["detail"]) == (422, True)


def test_while_people_read_blind_no_audit_is_told_or_drawn(batch: Batch, http: httpx.Client) -> None:
    audit = drawn(http, batch)
    set_screening_mode(batch, ScreeningMode.MODEL_SECOND, set_by="Lead")
    for answer in (
        http.post(f"/v1/batches/{batch.id}/audits", json={"n": 5, "seed": 8}),
        http.get(f"/v1/batches/{batch.id}/audits"),
        http.get(f"/v1/audits/{audit['id']}"),
        http.post(f"/v1/audits/{audit['id']}/decisions", json={"decisions": []}),
    ):
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:tamis:problem:blinded"), answer.text
