"""Figures over HTTP are those of the client: agreement, failures, panel; and the priority is set there, too."""

from typing import Any

import pytest
from sqlalchemy import update

from stage.gateway import signed_in
from stage.panelled import PANELLED, of_a_panel
from stage.screened import SCREENING, Ledgered, decided, failed, written_batch
from tamis_producer import Batch, Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import decide, measure_agreement, measure_panel, read_failures
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.quality.panel_words import panel_sentences
from tamis_schemas import Extract, InclusionDecision, Operation
from tamis_schemas.ledger import batches


def judged(n: int, status: str) -> Ledgered:
    decision = {"status": status, "confidence": 0.8, "rationale": ""}
    return decided({"id": f"r{n}", "title": f"Title {n}"}, InclusionDecision.model_validate(decision))


def batch_of(client: Client, *rows: Ledgered, operation: Operation = SCREENING, state: str = "completed") -> Batch:
    return written_batch(client, rows, operation=operation, state=state)


def test_the_agreement_is_that_of_the_client(client: Client) -> None:
    batch = batch_of(client, *(judged(n, "include" if n < 2 else "exclude") for n in range(4)))
    decide(batch, [HumanDecision(place, "include", "Reviewer A") for place in range(3)])
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        answer = http.get(f"/v1/batches/{batch.id[:8]}/agreement")
    assert answer.status_code == 200, answer.text
    assert answer.json() == measure_agreement(batch).model_dump(mode="json")
    assert (answer.json()["overrides"]["n"], answer.json()["undecided"]) == (3, 0)


def test_each_cell_of_a_table_leads_to_its_records(client: Client) -> None:
    batch = batch_of(client, *(judged(n, "include" if n < 3 else "exclude") for n in range(6)))
    said = {
        "Reviewer A": ("include", "include", "exclude", "exclude"),
        "Reviewer B": ("include", "exclude", "uncertain"),
    }
    for name, words in said.items():
        decide(batch, [HumanDecision(place, word, name) for place, word in enumerate(words)])
    decide(batch, [HumanDecision(1, "include", "Reviewer C", settles=True)])
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        at = f"/v1/batches/{batch.id}/agreement"
        told = http.get(at).json()
        (pair,) = told["people"]
        tables: list[tuple[dict[str, str], dict[str, Any]]] = [
            ({"among": "overrides"}, told["overrides"]),
            ({"among": "together"}, told["together"]),
        ]
        names = {"among": "people", "stage": "own", "first": pair["first"], "second": pair["second"]}
        tables.append((names, pair["agreement"]))
        behind: dict[str, dict[tuple[str, str], list[int]]] = {}
        for asked, table in tables:
            behind[asked["among"]] = cells = {}
            for cell in table["cells"]:
                cell_words = {name: cell[name] for name in ("first_said", "second_said")}
                found = http.get(f"{at}/records", params=asked | cell_words).json()
                assert found["n"] == cell["n"] == len(found["items"])
                cells[cell["first_said"], cell["second_said"]] = [one["index"] for one in found["items"]]
            assert sum(cell["n"] for cell in table["cells"]) == table["n"]
    assert behind["overrides"] == {
        ("include", "include"): [0, 1],
        ("include", "exclude"): [],
        ("exclude", "include"): [],
        ("exclude", "exclude"): [3],
    }
    assert {cell: places for cell, places in behind["people"].items() if places} == {
        ("include", "include"): [0],
        ("include", "exclude"): [1],
        ("exclude", "uncertain"): [2],
    }
    assert len(behind["people"]) == 9


def test_the_records_of_a_cell_come_page_by_page_with_their_titles(client: Client) -> None:
    batch = batch_of(client, *(judged(n, "exclude") for n in range(5)))
    decide(batch, [HumanDecision(place, "include", "Reviewer A") for place in (0, 2, 4)])
    cell: dict[str, str | int] = {"among": "overrides", "first_said": "exclude", "second_said": "include", "limit": 2}
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        at = f"/v1/batches/{batch.id}/agreement/records"
        first = http.get(at, params=cell).json()
        assert (first["n"], first["next"]) == (3, 2)
        assert first["items"][1] == {"index": 2, "item_id": "r2", "title": "Title 2"}
        last = http.get(at, params=cell | {"after": first["next"]}).json()
        assert ([one["index"] for one in last["items"]], last["next"]) == ([4], None)
        refused = http.get(at, params=cell | {"among": "people"})
        assert (refused.status_code, "first, second" in refused.json()["detail"]) == (422, True)


def test_an_operation_that_decides_nothing_has_no_agreement(client: Client) -> None:
    batch = batch_of(client, operation=Extract(instruction="The year"))
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        answer = http.get(f"/v1/batches/{batch.id}/agreement")
    assert (answer.status_code, "includes and excludes nothing" in answer.json()["detail"]) == (422, True)


def test_failures_are_told_round_by_round(client: Client) -> None:
    batch = batch_of(client, judged(0, "include"), failed({"id": "r1", "title": "Title 1"}, "timeout"))
    sound = batch_of(client, judged(0, "include"))
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        told = http.get(f"/v1/batches/{batch.id}/failures").json()
        assert told == read_failures(batch).model_dump(mode="json")
        assert [(one["round"], one["failed"]) for one in told["rounds"]] == [(1, 1)]
        assert http.get(f"/v1/batches/{sound.id}/failures").json()["rounds"] == []


def test_a_batch_of_one_model_has_no_panel_figures(client: Client) -> None:
    batch = batch_of(client, judged(0, "include"))
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        answer = http.get(f"/v1/batches/{batch.id}/panel")
    assert (answer.status_code, "asks one model" in answer.json()["detail"]) == (422, True)


def test_the_figures_of_a_panel_are_those_of_the_client_with_their_words(client: Client) -> None:
    batch = batch_of(client, *of_a_panel(), operation=PANELLED)
    decide(batch, [HumanDecision(n, "include" if n < 3 else "exclude", "Reviewer A") for n in range(6)])
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        told = http.get(f"/v1/batches/{batch.id}/panel").json()
    words, found = told.pop("words"), measure_panel(batch)
    assert told == found.model_dump(mode="json")
    assert words["sentences"] == list(panel_sentences(found))
    rows = [dict(zip(words["member_heads"], row, strict=True)) for row in words["members"]]
    assert [(row["model"], row["include"], row["missed includes"]) for row in rows] == [
        ("small", "2", "1 of 3 (33.3%)"),
        ("large", "4", "0 of 3 (0.0%)"),
    ]
    assert [len(row) for row in words["pairs"]] == [len(words["pair_heads"])]


@pytest.mark.parametrize("body", [{"priority": "urgent"}, {}, {"priority": "high", "more": 1}])
def test_a_priority_that_there_is_not_is_refused(client: Client, body: dict[str, object]) -> None:
    batch = batch_of(client, judged(0, "include"), state="running")
    with signed_in(client, "An operator", Scope.CONTROL) as http:
        assert http.put(f"/v1/batches/{batch.id}/priority", json=body).status_code == 422


def test_an_open_batch_gets_another_priority_and_a_completed_one_does_not(client: Client) -> None:
    batch = batch_of(client, judged(0, "include"), state="running")
    with signed_in(client, "An operator", Scope.CONTROL) as http:
        answer = http.put(f"/v1/batches/{batch.id}/priority", json={"priority": "high"})
        assert (answer.status_code, answer.json()["batch"]["priority"]) == (200, "high"), answer.text
        with client.engine.begin() as connection:
            connection.execute(update(batches).values(state="completed"))
        assert http.put(f"/v1/batches/{batch.id}/priority", json={"priority": "low"}).status_code == 409
