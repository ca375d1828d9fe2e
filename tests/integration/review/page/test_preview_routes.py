"""A dry run and a look for duplicates over HTTP: what a batch would ask and cost, and nothing is submitted."""

import csv
import io
import json
from collections.abc import Iterator

import httpx2 as httpx
import pytest

from stage.gateway import signed_in
from tamis_producer import Client
from tamis_producer.gateway.api_keys import Scope
from tamis_producer.runs.dry_run import Planned
from tamis_review import list_reviews
from tamis_review.example import CITATIONS, CRITERIA
from tamis_review.page import preview_routes
from tamis_review.page.preview_routes import nothing_renders
from tamis_review.plans.criteria_file import read_criteria
from tamis_schemas import ConfigurationError, Filter

FILTER = {"operation": "filter", "criteria": "Is this about oncology?"}
TABLE = "id,doi,title\n1,10.1000/a,A title of a record\n2,10.1000/a,A title of a record\n3,,Another one altogether\n"


@pytest.fixture
def http(client: Client) -> Iterator[httpx.Client]:
    with signed_in(client, "Reviewer A", Scope.SUBMIT) as http:
        yield http


def sent(http: httpx.Client, path: str, content: bytes | str, name: str, **terms: object) -> httpx.Response:
    raw = content if isinstance(content, bytes) else content.encode()
    return http.post(path, data={"terms": json.dumps(terms)}, files={"file": (name, raw)})


def test_three_prompts_are_shown_with_what_it_would_take_and_nothing_is_submitted(
    http: httpx.Client, client: Client
) -> None:
    criteria = read_criteria(CRITERIA).model_dump(mode="json")
    operation = {"operation": "inclusion", "criteria": criteria}
    answer = sent(http, "/v1/dry-run", CITATIONS.read_bytes(), "citations.ris", operation=operation, model="gpt-5-mini")
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["records"] == 24
    assert told["asked"] == 24 - told["duplicates"] - told["rejected"]
    (model,) = told["models"]
    assert (model["model"], model["items"], len(model["samples"])) == ("gpt-5-mini", told["asked"], 3)
    assert [message["role"] for message in model["samples"][0]["messages"]] == ["system", "user"]
    assert told["calls"] == model["questions"] - (model["cached"] or 0)
    assert 0 < float(told["cost"]) < float(told["most_cost"])
    assert model["duration"]["bound"]
    assert client.batches() == []


def test_a_panel_is_rehearsed_model_by_model(http: httpx.Client) -> None:
    panel = {"models": ["gpt-5-mini", "gpt-5"], "policy": "any"}
    told = sent(http, "/v1/dry-run", TABLE, "records.csv", operation=FILTER | {"panel": panel}).json()
    assert [one["model"] for one in told["models"]] == ["gpt-5-mini", "gpt-5"]
    assert (told["policy"], told["asked"], told["calls"]) == ("any", 2, 4)
    assert [len(one["samples"]) for one in told["models"]] == [2, 0]


def test_copies_are_counted_and_not_asked_about(http: httpx.Client) -> None:
    told = sent(http, "/v1/dry-run", TABLE, "records.csv", operation=FILTER).json()
    assert (told["records"], told["duplicates"], told["asked"], told["policy"]) == (3, 1, 2, None)


def test_a_further_stage_is_rehearsed_as_if_every_record_passed_and_a_judge_is_not(
    http: httpx.Client, client: Client
) -> None:
    rated = {"operation": {"operation": "score", "criteria": "How good?"}, "model": "gpt-5-mini", "max_cost": 1}
    judged = {"operation": {"operation": "judge", "guidelines": "Only what it says."}}
    terms = {"operation": FILTER, "review": "Sieves", "stages": [rated, judged]}
    told = sent(http, "/v1/dry-run", TABLE, "records.csv", **terms).json()
    score, judge = told["stages"]
    assert (told["asked"], score["name"], score["dry_run"]["calls"]) == (2, "score", 2)
    assert (score["dry_run"]["models"][0]["model"], score["dry_run"]["max_cost"]) == ("gpt-5-mini", "1")
    assert 0 < float(score["dry_run"]["cost"]) < float(score["dry_run"]["most_cost"])
    assert "How good?" in json.dumps(score["dry_run"]["models"][0]["samples"])
    assert judge == {"name": "judge", "dry_run": None}
    assert list_reviews(client) == []


def test_more_records_than_are_rehearsed_here_are_refused(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview_routes, "MOST_ASKED", 1)
    answer = sent(http, "/v1/dry-run", TABLE, "records.csv", operation=FILTER)
    assert (answer.status_code, answer.json()["detail"][:38]) == (422, "a dry run here takes at most 1 records")


def test_a_gateway_that_renders_no_prompts_says_what_does() -> None:
    with pytest.raises(ConfigurationError, match="with the extra `worker`"):
        nothing_renders(Planned(Filter(criteria="Is this about oncology?"), [], None))


def test_what_cannot_be_read_is_told_under_the_files_own_name(http: httpx.Client) -> None:
    for path, terms in (("/v1/dry-run", {"operation": FILTER}), ("/v1/duplicates", {})):
        answer = sent(http, path, "%PDF-1.4", "paper.pdf", **terms)
        assert (answer.status_code, "paper.pdf" in answer.json()["detail"]) == (422, True), answer.text
        assert "tamis-files-" not in answer.text


def test_pairs_of_records_are_told_with_their_reasons(http: httpx.Client) -> None:
    told = sent(http, "/v1/duplicates", TABLE, "records.csv").json()
    assert (told["records"], told["copies"], told["doubts"]) == (3, 1, 0)
    (pair,) = told["pairs"]
    assert (pair["kind"], pair["record"]["id"], pair["stays"]["id"]) == ("copy", "2", "1")
    assert (pair["record"]["file"], pair["record"]["line"], bool(pair["reason"])) == ("records.csv", 3, True)


def test_pairs_are_a_table_as_well(http: httpx.Client) -> None:
    answer = sent(http, "/v1/duplicates?form=csv", TABLE, "records.csv")
    (row,) = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert (row["kind"], row["file"], row["stays_id"]) == ("copy", "records.csv", "1")


def test_each_file_is_shown_as_it_was_read_with_what_became_no_record(http: httpx.Client) -> None:
    ris = CITATIONS.read_text("utf-8") + "TY  - JOUR\nAU  - Nobody\nER  - \n"
    stated = [{"name": "Embase", "files": ["records.csv"]}]
    parts = [("file", ("records.csv", TABLE.encode())), ("file", ("citations.ris", ris.encode()))]
    answer = http.post("/v1/duplicates", data={"terms": json.dumps({"sources": stated})}, files=parts)
    assert answer.status_code == 200, answer.text
    table, citations = answer.json()["files"]
    assert (table["file"], table["source"], table["format"], table["records"]) == ("records.csv", "Embase", "CSV", 3)
    assert (citations["source"], citations["kind"]) == ("citations.ris", "database")  # it does not tell itself
    first = citations["first"][0]
    assert first["title"].startswith("Home-based progressive strength training")
    assert (first["authors"], first["year"]) == ("Quillmark, Odessa; Tarnwick, Bel", "2019")
    assert [len(one["first"]) for one in (table, citations)] == [3, 5]
    assert (citations["records"] + citations["lost"], len(citations["notes"])) == (25, citations["lost"])


def test_a_source_that_names_a_file_that_is_not_there_is_refused(http: httpx.Client) -> None:
    stated = [{"name": "Embase", "files": ["other.csv"]}]
    answer = sent(http, "/v1/duplicates", TABLE, "records.csv", sources=stated)
    assert (answer.status_code, "has no other file 'other.csv'" in answer.text) == (422, True)


def test_of_many_pairs_the_first_of_each_kind_are_shown_and_all_are_counted(http: httpx.Client) -> None:
    copies = TABLE + "4,10.1000/a,A title of a record\n"
    told = sent(http, "/v1/duplicates?limit=1", copies, "records.csv").json()
    assert (told["copies"], len(told["pairs"])) == (2, 1)
    whole = sent(http, "/v1/duplicates?form=csv&limit=1", copies, "records.csv").text
    assert len(whole.splitlines()) == 3
