"""While people read blind, no answer of the gateway tells a decision that is hidden from whoever asks."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import httpx2 as httpx
import pytest
from sqlalchemy import func, select

from stage.gateway import gateway
from stage.plain_http import http_client
from stage.screened import SCREENING, Ledgered, Place, decided, write_batch, write_review, written_batch
from tamis_producer import Batch, Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_review import (
    count_labels,
    draw_audit,
    list_audits,
    list_conflicts,
    list_overrides,
    override,
    set_screening_mode,
)
from tamis_schemas import InclusionDecision, ScreeningMode
from tamis_schemas.ledger import overrides

OURS, THEIRS = "Reviewer A", "Reviewer B"
MODELS, HUMANS = "zebra", "xylophone"  # words that stand in no answer but by a leak
PAIRS = pytest.mark.parametrize("mode", [ScreeningMode.PAIR, ScreeningMode.MODEL_SECOND])


def said(status: str) -> InclusionDecision:
    return InclusionDecision.model_validate({"status": status, "confidence": 0.8125, "rationale": f"a {MODELS}"})


def screened() -> list[Ledgered]:
    return [
        decided({"id": f"r{n}", "title": f"Title {n}", "abstract": "A randomised trial of walking."}, said(status))
        for n, status in enumerate(("include", "exclude", "include", "include"))
    ]


@pytest.fixture
def batch(client: Client) -> Batch:
    return written_batch(client, screened())


@contextmanager
def people(client: Client, *names: str) -> Iterator[list[httpx.Client]]:
    keys = [api_keys.create(client.engine, name, [*Scope]) for name in names]
    with gateway(client) as base:
        asking = [http_client(base, key) for key in keys]
        try:
            yield asking
        finally:
            for one in asking:
                one.close()


def decide(http: httpx.Client, batch: Batch, index: int, value: str, **more: Any) -> httpx.Response:
    return http.post(f"/v1/batches/{batch.id}/items/{index}/override", json={"value": value, **more})


def forms_of(route: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    """Every form in which a route answers; none: it has one."""
    for one in route.get("parameters", ()):
        if one["name"] == "form":
            named = one["schema"].get("$ref", "").rpartition("/")[-1]
            forms: list[str] = schemas.get(named, one["schema"])["enum"]
            return forms
    return []


def problem(answer: httpx.Response) -> str:
    assert answer.status_code == 403, answer.text
    assert answer.json()["type"] == "urn:tamis:problem:blinded"
    detail: str = answer.json()["detail"]
    return detail


def asked_without_a_leak(ours: httpx.Client, batch: Batch, index: int) -> int:
    """Ask every route of a batch, in every form, and of this record; how many there are."""
    asked, described = 0, ours.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        if "get" not in methods or "{batch_id}" not in path:
            continue
        forms = [f"?form={form}" for form in forms_of(methods["get"], described["components"]["schemas"])] or [""]
        for form in forms:
            at = path.format(batch_id=batch.id, index=index) + form
            with ours.stream("GET", at) as answer:
                text = answer.read().decode("utf-8", "replace") if answer.status_code != 404 else ""
            assert answer.status_code < 500, at
            assert MODELS not in text, at
            assert HUMANS not in text, at
            assert "0.8125" not in text, at
            asked += 1
    return asked


@pytest.mark.night
@PAIRS
def test_no_route_that_names_a_batch_tells_a_hidden_decision(client: Client, batch: Batch, mode: ScreeningMode) -> None:
    set_screening_mode(batch, mode, set_by="Lead")
    with people(client, OURS, THEIRS) as (ours, theirs):
        made = decide(theirs, batch, 0, "exclude", note=f"a {HUMANS}", reason=f"the {HUMANS}")
        assert made.status_code == 201
        marked = {"labels": [HUMANS], "notes": [f"{HUMANS}s"]}
        assert theirs.post(f"/v1/batches/{batch.id}/items/0/remarks", json=marked).status_code == 201
        assert asked_without_a_leak(ours, batch, 0) > 15


@PAIRS
def test_what_tells_of_all_records_at_once_waits_for_the_last_of_them(
    client: Client, batch: Batch, mode: ScreeningMode
) -> None:
    set_screening_mode(batch, mode, set_by="Lead")
    with people(client, OURS, THEIRS) as (ours, theirs):
        for form in ("html", "svg", "md", "json"):
            refused = problem(ours.get(f"/v1/batches/{batch.id}/report", params={"form": form}))
            assert refused.startswith("4 records are still read blind")
            assert f"PUT /v1/batches/{batch.id[:8]}/mode" in refused
        assert "4 records" in problem(ours.get(f"/v1/batches/{batch.id}/results", params={"limit": 2}))
        assert "4 records" in problem(ours.get(f"/v1/batches/{batch.id}/export", params={"format": "csv"}))
        cell = {"among": "overrides", "first_said": "include", "second_said": "include"}
        assert "4 records" in problem(ours.get(f"/v1/batches/{batch.id}/agreement/records", params=cell))
        for route in ("judgement", "judgement/dry-run"):
            terms = {"operation": {"operation": "judge", "guidelines": "Only what the record says."}}
            assert "4 records" in problem(ours.post(f"/v1/batches/{batch.id}/{route}", json=terms))
        for index in range(4):
            for http in (ours, theirs):
                assert decide(http, batch, index, "include").status_code == 201
        assert ours.get(f"/v1/batches/{batch.id}/report", params={"form": "md"}).status_code == 200
        assert MODELS in ours.get(f"/v1/batches/{batch.id}/results").text


@PAIRS
def test_a_record_is_told_of_as_it_is_to_be_read_until_it_opens(
    client: Client, batch: Batch, mode: ScreeningMode
) -> None:
    set_screening_mode(batch, mode, set_by="Lead")
    with people(client, OURS, THEIRS) as (ours, theirs):
        decide(theirs, batch, 1, "include", note="seen")
        (row,) = ours.get(f"/v1/batches/{batch.id}/records", params={"index": 1}).json()["rows"]
        assert row.keys() == {"i", "id", "ids", "title", "fields", "outcome", "hidden"}
        assert row["fields"] == [{"name": "abstract", "text": "A randomised trial of walking."}]
        hidden = problem(ours.get(f"/v1/batches/{batch.id}/records/1/explanation"))
        assert "No. 2 (index 1) is still read blind" in hidden
        assert ours.get(f"/v1/batches/{batch.id}/overrides").json()["items"] == []
        (mine,) = theirs.get(f"/v1/batches/{batch.id}/overrides").json()["items"]
        assert mine["system_decided"] is (mode is ScreeningMode.MODEL_SECOND)
        decide(ours, batch, 1, "include")
        (row,) = ours.get(f"/v1/batches/{batch.id}/records", params={"index": 1}).json()["rows"]
        assert (row["outcome"], row["system"]) == ("passed", "excluded")
        assert MODELS in ours.get(f"/v1/batches/{batch.id}/records/1/explanation").text
        assert len(ours.get(f"/v1/batches/{batch.id}/overrides").json()["items"]) == 2


def test_a_record_that_is_none_is_no_fault_of_the_gateway(client: Client, batch: Batch) -> None:
    set_screening_mode(batch, "pair", set_by="Lead")
    with people(client, OURS) as (ours,):
        at = f"/v1/batches/{batch.id}/records"
        assert ours.get(f"{at}/null,null/explanation").status_code == 422
        assert ours.get(f"{at}/99/explanation").status_code == 404


def test_an_answer_that_is_kept_is_not_told_to_be_unchanged_to_somebody_else(client: Client, batch: Batch) -> None:
    with people(client, OURS, THEIRS) as (ours, theirs):
        at = f"/v1/batches/{batch.id}/records"
        openly = ours.get(at).headers["etag"]
        set_screening_mode(batch, "model_second", set_by="Lead")
        blindly = ours.get(at, headers={"If-None-Match": openly})
        assert blindly.status_code == 200
        again = {"If-None-Match": blindly.headers["etag"]}
        assert theirs.get(at, headers=again).status_code == 200
        assert ours.get(at, headers=again).status_code == 304


@PAIRS
def test_who_reads_blind_decides_in_their_own_name_alone(client: Client, batch: Batch, mode: ScreeningMode) -> None:
    set_screening_mode(batch, mode, set_by="Lead")
    with people(client, OURS, THEIRS) as (ours, theirs):
        assert decide(theirs, batch, 0, "include").status_code == 201
        assert "as 'Reviewer A'" in problem(decide(ours, batch, 0, "include", reviewer="Reviewer C"))
        assert decide(ours, batch, 1, "include", reviewer=OURS).status_code == 201
        at = f"/v1/batches/{batch.id}/items/0"
        problem(ours.delete(f"{at}/override", params={"reviewer": THEIRS}))
        problem(ours.post(f"{at}/remarks", json={"labels": ["x"], "reviewer": THEIRS}))
        problem(ours.get(f"/v1/batches/{batch.id}/next", params={"reviewer": THEIRS}))
        problem(decide(ours, batch, 0, "include", settles=True))
        problem(decide(ours, batch, 0, "include", stage="full-text"))
        form = {"terms": '{"reviewer": "Reviewer A"}'}, {"file": ("d.csv", b"id,decision\nr0,include\n")}
        problem(ours.post(f"/v1/batches/{batch.id}/decisions", data=form[0], files=form[1]))
        assert [one.reviewer for one in list_overrides(batch)] == [THEIRS, OURS]


def test_a_label_that_somebody_else_has_put_on_a_hidden_record_is_not_there_for_others(
    client: Client, batch: Batch
) -> None:
    set_screening_mode(batch, "pair", set_by="Lead")
    with people(client, OURS, THEIRS) as (ours, theirs):
        at = f"/v1/batches/{batch.id}"
        for http in (theirs, ours):
            assert http.post(f"{at}/items/0/remarks", json={"labels": ["odd"]}).json() == {"changed": 1}
            assert http.get(f"{at}/labels").json()["items"] == [{"label": "odd", "n": 1}]
        assert theirs.post(f"{at}/items/1/remarks", json={"labels": ["odd"]}).json() == {"changed": 1}
        assert ours.get(f"{at}/labels").json()["items"] == [{"label": "odd", "n": 1}]
        assert count_labels(batch) == {"odd": 2}


def test_next_offers_records_by_number_where_people_read_blind(client: Client, batch: Batch) -> None:
    set_screening_mode(batch, "pair", set_by="Lead")
    with people(client, OURS, THEIRS) as (ours, theirs):
        decide(theirs, batch, 2, "exclude")
        told = ours.get(f"/v1/batches/{batch.id}/next").json()
        assert [(one["index"], one["reason"]) for one in told["records"]] == [
            (2, "pair"),
            (0, "number"),
            (1, "number"),
            (3, "number"),
        ]
        assert told["reviewer"] == OURS
        assert all(one["score"] is None for one in told["records"])
        problem(ours.get(f"/v1/batches/{batch.id}/next", params={"by": "disagreement"}))


def test_where_the_model_is_the_second_reader_its_contradictions_wait_to_be_settled(client: Client) -> None:
    with client.engine.begin() as connection:
        review = write_review(connection, "r", SCREENING, finished=True)
        batch_id = write_batch(connection, screened(), place=Place(review, 0))
    batch = client.batch(str(batch_id))
    set_screening_mode(batch, "model_second", set_by="Lead")
    with people(client, OURS, THEIRS) as (ours, theirs):
        decide(ours, batch, 0, "include")  # as the model
        decide(ours, batch, 1, "include")
        at = f"/v1/batches/{batch.id}/conflicts"
        (conflict,) = ours.get(at).json()["items"]
        assert (conflict["index"], conflict["system_differs"], conflict["system_value"]) == (1, True, "exclude")
        assert theirs.get(at).json()["items"] == []
        for one, places in ((ours, [1]), (theirs, [])):
            work = one.get(f"/v1/batches/{batch.id}/work", params={"show": "conflicts"}).json()
            assert [record["index"] for record in work["items"]] == places
            assert work["counts"]["conflicts"] == len(places)
            stage = one.get(f"/v1/reviews/{review}").json()["stages"][0]
            assert (stage["conflicts"], stage["todo"]) == (len(places), work["counts"]["todo"])
        listed = ours.get(f"/v1/batches/{batch.id}/work", params={"show": "all", "order": "disagreement"}).json()
        assert listed["items"][0]["index"] == 1
        assert [row.final_value for row in batch.results([1])] == ["include"]
        assert decide(ours, batch, 1, "exclude", settles=True).status_code == 201
        assert ours.get(at).json()["items"] == []
        assert ours.get(f"/v1/reviews/{review}").json()["next_step"] == "2 records to read"


def test_in_pairs_the_models_contradiction_is_no_conflict(client: Client, batch: Batch) -> None:
    set_screening_mode(batch, "pair", set_by="Lead")
    for name in (OURS, THEIRS):
        override(batch, 1, "include", reviewer=name)
    assert list_conflicts(batch) == []


def test_the_mode_is_set_by_who_may_control_and_says_by_whom(client: Client, batch: Batch) -> None:
    with people(client, "Lead") as (lead,):
        at = f"/v1/batches/{batch.id}/mode"
        assert lead.get(at).json() == {"mode": "single", "set_by": None, "set_at": None}
        put = lead.put(at, json={"mode": "pair"})
        assert (put.status_code, put.json()["mode"], put.json()["set_by"]) == (200, "pair", "Lead")
        assert lead.get(at).json() == put.json()
        assert lead.put(at, json={"mode": "blind"}).status_code == 422


def test_a_decision_sent_again_is_answered_with_what_was_written(client: Client, batch: Batch) -> None:
    with people(client, OURS) as (ours,):
        sent = {"decision_id": str(uuid4()), "note": "seen", "reason": "in rats"}
        first = decide(ours, batch, 0, "exclude", **sent)
        assert (first.status_code, first.json()["reason"]) == (201, "in rats")
        assert decide(ours, batch, 0, "include").status_code == 201
        again = decide(ours, batch, 0, "exclude", **sent)
        assert (again.status_code, again.json()) == (201, first.json())
        assert [one.value for one in list_overrides(batch)] == ["include"]
        assert len(list_overrides(batch, history=True)) == 2
        for index, value, more in ((0, "include", sent), (1, "exclude", sent), (0, "exclude", sent | {"note": "no"})):
            refused = decide(ours, batch, index, value, **more)
            assert refused.status_code == 409, refused.text
            assert refused.json()["type"] == "urn:tamis:problem:idempotency-conflict"


def test_an_id_is_known_again_where_the_same_words_stood_already(client: Client, batch: Batch) -> None:
    override(batch, 0, "include", reviewer=OURS)
    with people(client, OURS) as (ours,):
        sent = {"decision_id": str(uuid4())}
        decide(ours, batch, 0, "include", **sent)
        decide(ours, batch, 0, "exclude")
        assert decide(ours, batch, 0, "include", **sent).status_code == 201
        assert [one.value for one in list_overrides(batch)] == ["exclude"]


def test_two_requests_at_once_with_one_id_write_one_decision(client: Client, batch: Batch) -> None:
    sent = {"decision_id": str(uuid4())}
    with people(client, OURS) as (ours,), ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: decide(ours, batch, 0, "exclude", **sent), range(4)))
    assert [one.status_code for one in answers] == [201] * 4
    assert len({one.text for one in answers}) == 1
    with client.engine.connect() as connection:
        count = select(func.count()).where(overrides.c.batch_id == UUID(batch.id))
        assert connection.execute(count.select_from(overrides)).scalar() == 1


def two_stages(client: Client) -> tuple[UUID, UUID]:
    """The stages of a review of two records; the second record is in both."""
    rows = [decided({"id": f"r{n}", "title": f"Title {n}"}, said("include")) for n in range(2)]
    with client.engine.begin() as connection:
        review = write_review(connection, "r", SCREENING, SCREENING)
        first = write_batch(connection, rows, place=Place(review, 0))
        second = write_batch(connection, [replace(rows[1], origin=1)], place=Place(review, 1))
    return first, second


def test_a_later_stage_of_a_review_does_not_tell_what_is_hidden_in_an_earlier_one(client: Client) -> None:
    first, second = two_stages(client)
    set_screening_mode(client.batch(str(first)), "pair", set_by="Lead")
    with people(client, OURS) as (ours,):
        assert "2 records" in problem(ours.get(f"/v1/batches/{second}/report", params={"form": "md"}))
        for route in ("work", "records", "records/0/explanation", "next", "stop", "overrides", "labels"):
            assert "2 records" in problem(ours.get(f"/v1/batches/{second}/{route}")), route  # they name who passed
        for name in (OURS, THEIRS):
            override(client.batch(str(first)), 1, "include", reviewer=name)
        assert "1 record is still" in problem(ours.get(f"/v1/batches/{second}/records/0/explanation"))
        for name in (OURS, THEIRS):
            override(client.batch(str(first)), 0, "exclude", reviewer=name)
        assert MODELS in ours.get(f"/v1/batches/{second}/records/0/explanation").text


def test_an_earlier_stage_does_not_explain_what_is_hidden_of_a_record_in_a_later_one(client: Client) -> None:
    first, second = two_stages(client)
    set_screening_mode(client.batch(str(second)), "pair", set_by="Lead")
    with people(client, OURS) as (ours,):
        assert "No. 1 (index 0) is" in problem(ours.get(f"/v1/batches/{first}/records/1/explanation"))
        assert ours.get(f"/v1/batches/{first}/records/0/explanation").status_code == 200


@pytest.fixture
def audited(client: Client) -> Batch:
    """A batch of exclusions alone, whose model is audited; every record is drawn."""
    rows = [decided({"id": f"r{n}", "title": f"Title {n}", "abstract": "Walking."}, said("exclude")) for n in range(4)]
    with client.engine.begin() as connection:
        batch_id = write_batch(connection, rows)
    batch = client.batch(str(batch_id))
    set_screening_mode(batch, ScreeningMode.MODEL_AUDITED, set_by="Lead")
    draw_audit(batch, 4, seed=7)
    return batch


@pytest.mark.night
def test_no_route_tells_what_the_model_said_of_a_record_that_is_drawn_and_not_judged(
    client: Client, audited: Batch
) -> None:
    (audit,) = list_audits(audited)
    drawn = [item.index for item in audit.items]
    at = f"/v1/batches/{audited.id}"
    with people(client, OURS, THEIRS) as (ours, theirs):
        assert decide(theirs, audited, drawn[0], "include", note=f"a {HUMANS}").status_code == 201
        assert asked_without_a_leak(ours, audited, drawn[0]) > 15
        assert "4 records are still read blind" in problem(ours.get(f"{at}/results"))
        assert "once it is judged in Work" in problem(ours.get(f"{at}/records/{drawn[0]}/explanation"))
        problem(ours.post(f"{at}/audits", json={"n": 1, "seed": 1}))
        one = {"index": drawn[0], "include": True}
        judging = f"/v1/audits/{audit.id}/decisions"
        problem(ours.post(judging, json={"decisions": [one], "reviewer": THEIRS}))
        assert ours.get(f"/v1/audits/{audit.id}").json()["verdict"]["decided"] == 0
        assert ours.post(judging, json={"decisions": [one]}).json()["audit"]["verdict"]["decided"] == 1
        # What is judged is open, to everybody; the others are not.
        for http in (ours, theirs):
            assert MODELS in http.get(f"{at}/records/{drawn[0]}/explanation").text
            assert "3 records" in problem(http.get(f"{at}/report", params={"form": "md"}))
        rest = [{"index": place, "include": False} for place in drawn[1:]]
        assert theirs.post(judging, json={"decisions": rest}).status_code == 201
        assert MODELS in ours.get(f"{at}/results").text
        assert ours.post(f"{at}/audits", json={"n": 1, "seed": 1}).status_code == 201


def test_an_answer_that_is_kept_is_not_told_to_be_unchanged_once_a_record_is_judged(
    client: Client, audited: Batch
) -> None:
    (audit,) = list_audits(audited)
    with people(client, OURS) as (ours,):
        at = f"/v1/batches/{audited.id}/records"
        known = {"If-None-Match": ours.get(at).headers["etag"]}
        assert ours.get(at, headers=known).status_code == 304
        one = {"index": audit.items[0].index, "include": False}
        assert ours.post(f"/v1/audits/{audit.id}/decisions", json={"decisions": [one]}).status_code == 201
        assert MODELS in ours.get(at, headers=known).text


def test_a_later_stage_of_a_review_does_not_tell_what_is_hidden_of_an_audit(client: Client) -> None:
    rows = [decided({"id": f"r{n}", "title": f"Title {n}"}, said("exclude")) for n in range(2)]
    with client.engine.begin() as connection:
        review = write_review(connection, "r", SCREENING, SCREENING, finished=True)
        written = write_batch(connection, rows, place=Place(review, 0))
        second = write_batch(connection, [replace(rows[1], origin=1)], place=Place(review, 1))
    first = client.batch(str(written))
    set_screening_mode(first, ScreeningMode.MODEL_AUDITED, set_by="Lead")
    override(client.batch(str(second)), 0, "include", reviewer="Lead")
    with people(client, OURS) as (ours,):
        assert ours.get(f"/v1/reviews/{review}").json()["next_step"] == "an audit to draw"
        audit = draw_audit(first, 2, seed=1)
        assert ours.get(f"/v1/reviews/{review}").json()["stages"][0]["todo"] == 2
        assert "No. 2 (index 1) is" in problem(ours.get(f"/v1/batches/{second}/records/0/explanation"))
        assert ours.get(f"/v1/batches/{second}/audits").json()["items"] == []
        judged = [{"index": item.index, "include": False} for item in audit.items]
        assert ours.post(f"/v1/audits/{audit.id}/decisions", json={"decisions": judged}).status_code == 201
        assert ours.get(f"/v1/reviews/{review}").json()["stages"][0]["todo"] == 0
        assert ours.get(f"/v1/batches/{second}/records/0/explanation").status_code == 200
