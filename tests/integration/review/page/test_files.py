"""Files over HTTP: a bibliographic file as a batch, a file of criteria as criteria."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from sqlalchemy import text

from stage.gateway import gateway, signed_in
from stage.plain_http import http_client
from stage.searches import write_searches
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.ledger.allowance import read_key_id
from tamis_review import find_review, list_reviews
from tamis_review.example import CITATIONS, CRITERIA
from tamis_review.intake import record_count
from tamis_review.plans.criteria_file import read_criteria
from tamis_schemas import Inclusion, InclusionStatus, Judge, ReviewPlan, ReviewStage, Score

FILTER = {"operation": "filter", "criteria": "Is this about oncology?"}
TABLE = "id,title\n1,Sieves\n2,Screens\n1,Sieves\n"


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", Scope.SUBMIT, Scope.READ) as http:
        yield http


def upload(http: httpx.Client, content: bytes | str, /, name: str = "records.csv", **terms: object) -> httpx.Response:
    raw = content if isinstance(content, bytes) else content.encode()
    return http.post(
        "/v1/files", data={"terms": json.dumps({"operation": FILTER, **terms})}, files={"file": (name, raw)}
    )


def test_the_example_is_screened_with_its_copies_and_rejections_kept_out(http: httpx.Client, client: Client) -> None:
    criteria = read_criteria(CRITERIA).model_dump(mode="json")
    operation = {"operation": "inclusion", "criteria": criteria, "unclear": "refer"}
    answer = upload(http, CITATIONS.read_bytes(), name="citations.ris", operation=operation)
    assert answer.status_code == 201, answer.text
    standing = answer.json()["batch"]
    assert answer.headers["Location"] == f"/v1/batches/{standing['id']}"
    assert (standing["label"], standing["counts"]["n_items"]) == ("citations.ris", 24)
    figures = http.get(f"/v1/batches/{standing['id']}/report", params={"form": "json"}).json()
    assert figures["batches"][0]["source"]["file"] == "citations.ris"
    assert figures["batches"][0]["source"]["initial_filter"] is True
    assert len(list(client.batch(standing["id"]).results())) == 24


def test_copies_are_kept_out_unless_they_are_asked_for(http: httpx.Client) -> None:
    titled = "id,doi,title\n1,10.1000/a,A title of a record\n2,10.1000/a,A title of a record\n"
    kept_out = upload(http, titled).json()["batch"]["counts"]
    assert (kept_out["excluded_by_filter"], kept_out["pending"]) == (1, 1)
    kept = upload(http, titled, keep_duplicates=True).json()["batch"]["counts"]
    assert (kept["excluded_by_filter"], kept["pending"]) == (0, 2)


def test_what_became_no_record_is_told_or_an_error_where_the_terms_are_strict(http: httpx.Client) -> None:
    broken = "1.\nTY  - JOUR\nTI  - a\nER  - \n2.\nTY  - JOUR\nTI  - b\n"
    told = upload(http, broken).json()
    assert (told["batch"]["counts"]["n_items"], told["skipped"], told["lost"]) == (1, 2, 1)
    assert [(note["kind"], note["line"], note["n"]) for note in told["notes"]] == [("skipped", 1, 2), ("lost", 6, 1)]
    refused = upload(http, broken, name="b.ris", strict=True)
    assert refused.status_code == 422
    assert "b.ris:6: a record without its end" in refused.json()["detail"]


def test_terms_state_the_encoding_of_a_file(http: httpx.Client) -> None:
    old = "id,title\n1,Sailing with żagle in towns\n".encode("cp1250")
    (note,) = upload(http, old).json()["notes"]
    assert (note["kind"], "read as cp1252, which is a guess" in note["text"]) == ("doubt", True)
    assert upload(http, old, name="b.csv", encoding="cp1250").json()["notes"] == []
    terms, files = {"terms": json.dumps({"encoding": "cp1250"})}, {"file": ("c.csv", old)}
    (file,) = http.post("/v1/duplicates", data=terms, files=files).json()["files"]
    assert (file["first"][0]["title"], file["encoding"]) == ("Sailing with żagle in towns", "cp1250")
    refused = upload(http, old, name="d.csv", encoding="cp12500")
    assert (refused.status_code, "'cp12500' is no known encoding" in refused.json()["detail"]) == (422, True)


def test_the_same_attempt_again_is_the_same_batch(http: httpx.Client, client: Client) -> None:
    http.headers["Idempotency-Key"] = "attempt-1"
    first, again = (upload(http, TABLE).json() for _ in range(2))
    assert first["batch"]["id"] == again["batch"]["id"]
    assert len(client.batches()) == 1


@pytest.mark.parametrize(
    ("content", "terms", "told"),
    [
        ("", {}, "file: 'records.csv' is empty"),
        ("%PDF-1.7 ...", {}, "records.csv: this is a PDF"),
        ('{"id": "1"}\n{"id": ', {"strict": True}, "records.csv:2"),
        (TABLE, {"color": "red"}, "terms: color: Extra inputs are not permitted"),
        (TABLE, {"name": "a\u200bb"}, "file: a file name must have"),
        (TABLE, {"name": "n" * 201}, "file: a file name must have"),
        (TABLE, {"operation": {"operation": "guess"}}, "operation"),
    ],
)
def test_what_is_wrong_is_told_by_the_file_s_own_name_and_nothing_is_written(
    http: httpx.Client, client: Client, content: str, terms: dict[str, object], told: str
) -> None:
    answer = upload(http, content, **terms)
    assert answer.status_code == 422, answer.text
    assert told in answer.json()["detail"]
    assert "tamis-files-" not in answer.text  # the folder in which it was kept meanwhile
    assert client.batches() == []


def upload_all(http: httpx.Client, paths: list[Path], **terms: object) -> httpx.Response:
    parts = [("file", (path.name, path.read_bytes())) for path in paths]
    return http.post("/v1/files", data={"terms": json.dumps({"operation": FILTER, **terms})}, files=parts)


def test_several_files_are_one_batch_of_several_sources(http: httpx.Client, client: Client, tmp_path: Path) -> None:
    paths = list(write_searches(tmp_path).values())
    stated = [
        {"name": "MEDLINE", "files": ["medline.csv", "pubmed.nbib"], "searched": "2024-03-01", "query": "hip AND walk"},
        {"files": ["trials.csv"], "name": "ClinicalTrials.gov"},
    ]
    answer = upload_all(http, paths, sources=stated)
    assert answer.status_code == 201, answer.text
    assert answer.json()["batch"]["label"] == "medline.csv and 3 more files"
    batch = client.batch(answer.json()["batch"]["id"])
    assert [row.source for row in batch.results()] == ["MEDLINE"] * 6 + ["ClinicalTrials.gov"] * 2 + ["Embase"] * 4
    report = http.get(f"/v1/batches/{batch.id}/report", params={"form": "json"}).json()
    first, second, third = report["batches"][0]["sources"]
    assert (first["searched"], first["query"], first["records"]) == ("2024-03-01", "hip AND walk", 6)
    assert [first["file"], first["more_files"][0]["file"]] == ["medline.csv", "pubmed.nbib"]
    assert (second["kind"], third["kind"]) == ("register", "database")
    http.headers["Idempotency-Key"] = "again"
    ids = {upload_all(http, paths, sources=stated).json()["batch"]["id"] for _ in range(2)}
    assert len(ids) == 1
    for sources, told in (
        ([{"name": "A", "files": ["other.csv"]}], "sources.0.files: the form has no other file 'other.csv'"),
        ([{"files": ["medline.csv"]}, {"files": ["medline.csv"]}], "sources.1.files: the form has no other file"),
        ([{"name": "A", "files": []}], "sources.0.files"),
        ([{"files": ["medline.csv"], "kind": "registry"}], "sources.0.kind"),
    ):
        refused = upload_all(http, paths, sources=sources)
        assert refused.status_code == 422, refused.text
        assert told in refused.json()["detail"]
    for others, told in (
        ([paths[0], paths[0]], "two files are called 'medline.csv'"),
        ([paths[0], _written(tmp_path / "empty.csv", "")], "file: 'empty.csv' is empty"),
        (
            [paths[0], _written(tmp_path / "same.csv", paths[0].read_text("utf-8"))],
            "this file is identical to medline.csv",
        ),
        ([paths[0], _written(tmp_path / "broken.csv", "%PDF-1.7 ...")], "broken.csv: this is a PDF"),
    ):
        refused = upload_all(http, others)
        assert (refused.status_code, told in refused.text) == (422, True), refused.text
        assert "tamis-files-" not in refused.text  # the folder in which they were kept meanwhile


def test_with_a_title_the_batch_is_the_stage_of_a_review_and_sent_again_the_same_one(
    http: httpx.Client, client: Client
) -> None:
    terms = {"review": "Exercise after hip replacement", "max_cost": 2, "model": "gpt-5-mini"}
    first, again = (upload(http, TABLE, **terms) for _ in range(2))
    assert first.status_code == 201, first.text
    assert (again.json()["batch"]["id"], again.headers["Idempotency-Replayed"]) == (first.json()["batch"]["id"], "true")
    assert "Idempotency-Replayed" not in first.headers
    (review,) = list_reviews(client)
    assert (review.label, review.planned) == ("Exercise after hip replacement", ("filter",))
    (stage,) = review.stages
    assert (stage.id, stage.model) == (first.json()["batch"]["id"], "gpt-5-mini")
    assert stage.budget is not None
    assert stage.budget.max_cost == 2
    with client.reading() as connection:
        assert read_key_id(connection, client.batch(stage.id).uuid) is not None
    for title, told in (
        ("", "review"),
        ("  ", "review"),
        ("a" * 301, "review"),
        ("a\0b", "label"),
        ("a\ud800b", "review"),
    ):
        refused = upload(http, TABLE, review=title)
        assert (refused.status_code, told in refused.text) == (422, True), refused.text


SCREENING = Inclusion(criteria=read_criteria(CRITERIA))
RATED = {"operation": {"operation": "score", "criteria": "How good?"}, "at_least": 0.5}
JUDGED = {
    "operation": {"operation": "judge", "guidelines": "Only what it says."},
    "steering": {"reasoning_effort": "low"},
}


def test_further_stages_make_the_review_that_a_plan_makes(http: httpx.Client, client: Client) -> None:
    screening = {"operation": SCREENING.model_dump(mode="json"), "passes": ["include", "uncertain"]}
    terms = {**screening, "review": "Sieves", "stages": [RATED | {"model": "gpt-5-mini", "max_cost": 1}, JUDGED]}
    first, again, other = (upload(http, TABLE, **terms, **more) for more in ({}, {}, {"use_cache": False}))
    assert first.status_code == 201, first.text
    ids = [answer.json()["batch"]["review_id"] for answer in (first, again, other)]
    assert ids == [ids[0]] * 3
    assert again.headers["Idempotency-Replayed"] == "true"
    assert upload(http, TABLE, **terms | {"stages": [JUDGED]}).json()["batch"]["review_id"] != ids[0]
    assert find_review(client, ids[0]).status().planned == ("inclusion", "score", "judge")
    rated = ReviewStage(operation=Score(criteria="How good?"), at_least=0.5, model="gpt-5-mini", max_cost=1)
    judged = ReviewStage(operation=Judge(guidelines="Only what it says."), steering={"reasoning_effort": "low"})
    both = (InclusionStatus.INCLUDE, InclusionStatus.UNCERTAIN)
    with client.engine.connect() as connection:
        kept = connection.execute(text("SELECT plan FROM reviews WHERE id = :id"), {"id": ids[0]}).scalar_one()
    assert ReviewPlan.model_validate(kept) == ReviewPlan(
        stages=(ReviewStage(operation=SCREENING, passes=both), rated, judged)
    )


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ({"review": None, "stages": [RATED]}, "terms: stages, passes and at_least belong to a review"),
        ({"stages": [RATED, {"operation": {"operation": "guess"}}]}, "terms: stages.1.operation: Input tag 'guess'"),
        ({"stages": [{"operation": FILTER, "at_least": 1}]}, "terms: stages.0: at_least belongs to a score, not to"),
        ({"stages": [RATED | {"color": "red"}]}, "terms: stages.0.color: Extra inputs are not permitted"),
        ({"stages": [JUDGED, RATED]}, "terms: review: stages: a judge must be the last stage"),
        ({"stages": [RATED] * 10}, "terms: review: stages: Tuple should have at most 10 items"),
        ({"passes": ["uncertain"]}, "terms: review: passes belongs to an inclusion, not to filter"),
        ({"stages": [RATED | {"model": "new-1", "max_cost": 1}]}, "stage 2, score: max_cost: no price is known"),
    ],
)
def test_what_is_wrong_with_a_stage_is_told_as_of_a_plan_with_its_place(
    http: httpx.Client, client: Client, terms: dict[str, object], told: str
) -> None:
    answer = upload(http, TABLE, **{"review": "Sieves", **terms})
    assert (answer.status_code, told in answer.json()["detail"]) == (422, True), answer.text
    assert list_reviews(client) == []


def test_who_may_only_submit_begins_a_review_of_stages_and_reads_and_sets_nothing_of_it(client: Client) -> None:
    with signed_in(client, "A pipeline", Scope.SUBMIT) as http:
        terms = {"review": "Sieves", "stages": [RATED | {"model": "gpt-5-mini", "max_cost": 1}]}
        begun = upload(http, TABLE, **terms)
        assert begun.status_code == 201, begun.text
        of_batch = f"/v1/batches/{begun.json()['batch']['id']}"
        of_review = f"/v1/reviews/{begun.json()['batch']['review_id']}"
        refused = [http.get(address) for address in ("/v1/reviews", of_review, of_batch, f"{of_batch}/results")]
        refused.append(http.put(f"{of_batch}/mode", json={"mode": "pair"}))
        refused.append(http.post(f"{of_batch}/pause"))
        assert [answer.status_code for answer in refused] == [403] * 6
        cheaper = upload(http, TABLE, **terms | {"stages": [RATED | {"model": "gpt-5-mini", "max_cost": 0.5}]})
    assert (cheaper.status_code, "the review's stage score already exists" in cheaper.text) == (409, True)
    assert [review.planned for review in list_reviews(client)] == [("filter", "score")]


def test_a_later_search_asks_only_about_what_the_earlier_one_did_not_have(http: httpx.Client, client: Client) -> None:
    earlier = upload(http, "id,doi,title\n1,10.1000/a,Sieves and their meshes\n").json()["batch"]["id"]
    table = "id,doi,title\n1,10.1000/a,Sieves and their meshes\n2,10.1000/b,Screens in another mill\n"
    later = upload(http, table, updates=earlier[:8])
    assert later.status_code == 201, later.text
    counts = later.json()["batch"]["counts"]
    assert (counts["n_items"], counts["excluded_by_filter"]) == (2, 1)
    assert upload(http, table, updates="ffffffff").status_code == 404


def _written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "terms: missing"),
        ({"terms": "{"}, "terms is not JSON"),
        ({"terms": "{" * 1_000_100}, "The request cannot be read"),
        ({"terms": "{}", "more": "1"}, "The request cannot be read"),
    ],
)
def test_a_form_without_terms_that_can_be_read_is_refused(
    http: httpx.Client, client: Client, fields: dict[str, str], told: str
) -> None:
    answer = http.post("/v1/files", data=fields, files={"file": ("records.csv", TABLE)})
    assert answer.status_code == 422
    assert told in answer.text
    assert client.batches() == []


def test_another_media_type_is_refused(http: httpx.Client) -> None:
    answer = http.post("/v1/files", content=TABLE, headers={"Content-Type": "text/csv"})
    assert answer.status_code == 415


def test_a_file_that_is_too_large_is_refused(client: Client) -> None:
    key = api_keys.create(client.engine, "Reviewer A", [Scope.SUBMIT])
    small = Client(client.settings.model_copy(update={"max_file_bytes": 1_000}))
    with small, gateway(small) as base, http_client(base) as http:
        http.headers["Authorization"] = f"Bearer {key}"
        answer = upload(http, "x" * 5_000)
    assert answer.status_code == 413
    assert "TAMIS_MAX_FILE_BYTES" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/files", "/v1/dry-run", "/v1/duplicates", "/v1/batches/{}/{}"])
def test_a_file_of_too_many_records_is_refused_unread_on_every_route(
    http: httpx.Client, client: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = upload(http, TABLE).json()["batch"]["id"]
    http.headers["Authorization"] = f"Bearer {api_keys.create(client.engine, 'All', list(Scope))}"
    monkeypatch.setattr(record_count, "MOST_RECORDS", 2)
    terms = {"operation": FILTER} if path in ("/v1/files", "/v1/dry-run") else {}
    for name in ("decisions", "evaluation", "calibration") if "{" in path else ("",):
        answer = http.post(
            path.format(batch, name),
            data={"terms": json.dumps(terms)},
            files={"file": ("many.ris", b"TY  - JOUR\nTI  - x\nER  - \n" * 4)},
        )
        assert answer.status_code == 413, answer.text
        assert answer.json()["detail"] == "many.ris: more than 2 records, the maximum: split the search"
    assert len(client.batches()) == 1


def test_terms_of_too_many_values_are_refused_unread(http: httpx.Client) -> None:
    answer = http.post("/v1/files", data={"terms": "[" + "{}," * 100_000}, files={"file": ("a.csv", TABLE)})
    assert answer.status_code == 413
    assert "100,000 JSON values" in answer.json()["detail"]


def test_criteria_are_read_as_they_are_from_a_file_with_what_is_doubtful(http: httpx.Client) -> None:
    answer = http.post("/v1/criteria", json={"text": CRITERIA.read_text("utf-8")})
    assert answer.status_code == 200, answer.text
    assert answer.json()["criteria"] == read_criteria(CRITERIA).model_dump(mode="json")
    doubtful = {"research_question": "Q?", "inclusion_criteria": ["Adults", "Adults"]}
    assert http.post("/v1/criteria", json={"text": json.dumps(doubtful)}).json()["doubts"]


def test_examples_in_a_file_of_criteria_are_read_and_submitted_with_them(http: httpx.Client, client: Client) -> None:
    text = "research_question: Q?\ninclusion_criteria: [adults]\nexamples:\n  - {title: A trial, decision: include}\n"
    criteria = http.post("/v1/criteria", json={"text": text}).json()["criteria"]
    example = {"title": "A trial", "abstract": None, "decision": "include", "reason": None}
    assert criteria["examples"] == [example]
    answer = upload(http, TABLE, operation={"operation": "inclusion", "criteria": criteria})
    operation = client.batch(answer.json()["batch"]["id"]).operation()
    assert isinstance(operation, Inclusion)
    assert [one.model_dump() for one in operation.criteria.examples] == [example]
    too_many = criteria | {"examples": [example] * 21}
    assert upload(http, TABLE, operation={"operation": "inclusion", "criteria": too_many}).status_code == 422


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("research_question: Q?\ninclusion: [a]\n", "criteria:2: field 'inclusion': unknown field"),
        ("- a list", "criteria:1"),
        ("", "criteria: the file is empty"),
        ("research_question: [", "criteria:"),
    ],
)
def test_what_is_wrong_with_criteria_is_told_with_its_line(http: httpx.Client, text: str, told: str) -> None:
    answer = http.post("/v1/criteria", json={"text": text})
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert "tamis-criteria-" not in answer.text


@pytest.mark.parametrize("path", ["/v1/files", "/v1/criteria"])
def test_each_asks_for_a_key_that_may_submit(client: Client, http: httpx.Client, path: str) -> None:
    key = api_keys.create(client.engine, "A reader", [Scope.READ])
    answer = http.post(path, json={"text": ""}, headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 403
    assert http.post(path, json={"text": ""}, headers={"Authorization": ""}).status_code == 401
