"""The work list over HTTP: the records that a key's holder reads."""

from collections.abc import Callable
from itertools import permutations
from typing import Any
from uuid import UUID

import httpx2 as httpx
import pytest
from sqlalchemy import insert

from llm_double import Double
from stage import WorkerProcess, abstracts
from stage.gateway_page import few, write
from stage.screened import decided, written_batch
from tamis_producer import Batch, Client
from tamis_review import decide, draw_audit, list_audits, record_audit, remark
from tamis_review.decisions.audits import AuditDecision, verdict
from tamis_review.decisions.blindness import set_mode
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_schemas import Extract, Filter, InclusionDecision, ScreeningMode, Stratum
from tamis_schemas.ledger import overrides

ONCOLOGY = Filter(criteria="Is this about oncology?")


@pytest.fixture
def batch(client: Client) -> Batch:
    return client.submit(ONCOLOGY, abstracts(6))


def asked(http: httpx.Client, batch: Batch, **query: object) -> dict[str, Any]:
    answer = http.get(f"/v1/batches/{batch.id}/work", params={name: str(value) for name, value in query.items()})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def places(told: dict[str, Any]) -> list[int]:
    return [one["index"] for one in told["items"]]


def blind(client: Client, batch: Batch, mode: ScreeningMode) -> None:
    with client.engine.begin() as connection:
        set_mode(connection, UUID(batch.id), mode, set_by="Reviewer A")


def test_what_one_person_has_decided_waits_for_nobody_and_is_listed_as_theirs(batch: Batch, http: httpx.Client) -> None:
    decision = {"value": True, "note": "seen"}
    assert http.post(f"/v1/batches/{batch.id}/items/1/override", json=decision).status_code == 201
    decide(batch, [HumanDecision(3, False, "Reviewer B")])
    told = asked(http, batch)
    assert (places(told), told["me"], told["mode"]) == ([0, 2, 4, 5], "Reviewer A", "single")
    assert told["counts"] == {"records": 6, "todo": 4, "mine": 1, "conflicts": 0, "found": 4}
    (mine,) = asked(http, batch, show="mine")["items"]
    assert (mine["number"], mine["mine"]["value"], mine["mine"]["note"]) == (2, True, "seen")
    assert places(asked(http, batch, show="all")) == [0, 1, 2, 3, 4, 5]


def test_a_conflict_is_shown_until_it_is_settled(batch: Batch, http: httpx.Client) -> None:
    decide(batch, [HumanDecision(3, False, "Reviewer B"), HumanDecision(3, True, "Reviewer A")])
    told = asked(http, batch, show="conflicts")
    assert (places(told), told["counts"]["conflicts"]) == ([3], 1)
    assert places(asked(http, batch, show="all", order="disagreement"))[0] == 3
    assert places(asked(http, batch, show="all", outcome="conflict")) == [3]


def test_in_pairs_a_record_waits_for_the_second_person_and_hides_what_the_first_one_said(
    client: Client, batch: Batch, http: httpx.Client
) -> None:
    blind(client, batch, ScreeningMode.PAIR)
    decide(batch, [HumanDecision(3, False, "Reviewer B"), HumanDecision(2, True, "Reviewer A")])
    remark(batch, [3], labels=["rats"], notes=["full text: rats.pdf"], reviewer="Reviewer B")
    told = asked(http, batch)
    assert (places(told), told["mode"]) == ([0, 1, 3, 4, 5], "pair")
    (other,) = [one for one in told["items"] if one["index"] == 3]
    assert (other["hidden"], other["mine"], other["labels"]) == (True, None, [])
    assert set(other["row"]) <= {"i", "id", "ids", "title", "by", "fields"}
    assert places(asked(http, batch, show="all", outcome="excluded")) == []
    assert places(asked(http, batch, show="all", label="rats")) == []


def test_pages_lead_through_all_records_and_a_wrong_cursor_is_refused(batch: Batch, http: httpx.Client) -> None:
    first = asked(http, batch, limit=4)
    second = asked(http, batch, limit=4, after=first["next"])
    assert (places(first), places(second), second["next"]) == ([0, 1, 2, 3], [4, 5], None)
    assert http.get(f"/v1/batches/{batch.id}/work", params={"after": "here"}).status_code == 422


def test_records_are_found_by_their_words_and_by_their_labels(client: Client, http: httpx.Client) -> None:
    texts = ["Sieves of Müller", "a sieve of MULLER", "Other sieves", "title page"]
    batch = client.submit(ONCOLOGY, [{"id": str(n), "title": text} for n, text in enumerate(texts)])
    assert places(asked(http, batch, q="muller SIEVE")) == [0, 1]
    assert places(asked(http, batch, q="title")) == [3]
    remark(batch, [2], labels=["to discuss"], reviewer="Reviewer A")
    told = asked(http, batch, label="to  discuss")
    assert (places(told), told["items"][0]["labels"]) == ([2], ["to discuss"])


def test_a_search_finds_what_each_of_its_words_finds_in_whatever_order(client: Client, http: httpx.Client) -> None:
    texts = ["Sieves of Müller", "MÜLLER 50% title", "sieve of Muller 50%", "Müll title", "of a SIEVE", "50 sieves"]
    batch = client.submit(ONCOLOGY, [{"id": str(n), "title": text} for n, text in enumerate(texts)])
    words = ["sieve", "muller", "of", "title", "50%"]
    each = {word: {*places(asked(http, batch, q=word))} for word in words}
    assert each == {"sieve": {0, 2, 4, 5}, "muller": {0, 1, 2}, "of": {0, 2, 4}, "title": {1, 3}, "50%": {1, 2}}
    for several in [*permutations(words, 2), words[:2] + words[4:], words[2:0:-1] + words[4:]]:
        found = set.intersection(*(each[word] for word in several))
        assert places(asked(http, batch, q=" ".join(several))) == sorted(found)


def test_a_search_of_a_large_batch_counts_only_where_it_had_to_look_through_all_of_it(
    batch: Batch, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamis_review.report.work_list.COUNTED", 5)
    monkeypatch.setattr("tamis_review.report.work_list.AT_ONCE", 4)
    word = asked(http, batch)["items"][0]["row"]["title"].split()[0]
    whole = asked(http, batch, q=word)
    part = asked(http, batch, q=word, limit=1)
    behind = asked(http, batch, q=word, limit=200, after=part["next"])
    assert (whole["counts"]["found"], part["counts"]["found"]) == (len(whole["items"]), None)
    assert places(part) + places(behind) == places(whole)


def test_outcomes_are_those_of_the_table_of_decisions(
    client: Client, http: httpx.Client, start_worker: Callable[..., WorkerProcess], double: Double
) -> None:
    start_worker()
    batch = client.submit(ONCOLOGY, abstracts(8))
    batch.wait(timeout=60)
    rows = http.get(f"/v1/batches/{batch.id}/records").json()["rows"]
    decide(batch, [HumanDecision(0, rows[0]["outcome"] != "passed", "Reviewer B")])
    rows = http.get(f"/v1/batches/{batch.id}/records").json()["rows"]
    for outcome in {row["outcome"] for row in rows}:
        told = asked(http, batch, show="all", outcome=outcome)
        assert [one["row"] for one in told["items"]] == [row for row in rows if row["outcome"] == outcome]
    reason = next(row["reason"] for row in rows if row["outcome"] == "excluded" and "reason" in row)
    told = asked(http, batch, show="all", reason=reason)
    assert places(told) == [row["i"] for row in rows if row["outcome"] == "excluded" and row.get("reason") == reason]


def test_the_reading_order_lists_every_record_once(batch: Batch, http: httpx.Client) -> None:
    assert sorted(places(asked(http, batch, order="next"))) == [0, 1, 2, 3, 4, 5]


def test_a_batch_that_decides_nothing_has_no_work_list(client: Client, http: httpx.Client) -> None:
    batch = client.submit(Extract(instruction="The sample size"), abstracts(1))
    answer = http.get(f"/v1/batches/{batch.id}/work")
    assert (answer.status_code, "includes and excludes nothing" in answer.json()["detail"]) == (422, True)


def test_an_exclusion_is_found_by_its_criterions_label_and_by_the_reason_that_a_person_gave(
    client: Client, http: httpx.Client
) -> None:
    batch_id = write(client, few())

    def found(reason: str) -> list[int]:
        told = http.get(f"/v1/batches/{batch_id}/work", params={"show": "all", "reason": reason}).json()
        return places(told)

    assert (found("E1"), found("Animal studies"), found("in rats")) == ([1], [1], [])
    given = {"value": "exclude", "reviewer": "Reviewer B", "reason": "in rats"}
    with client.engine.begin() as connection:
        connection.execute(insert(overrides).values(batch_id=batch_id, idx=2, **given))
    assert found("in rats") == [2]


def test_what_is_kept_out_before_screening_waits_for_nobody_and_what_failed_does(
    client: Client, http: httpx.Client
) -> None:
    told = http.get(f"/v1/batches/{write(client, few())}/work").json()
    assert places(told) == [0, 1, 2, 3]
    assert told["items"][3]["row"]["outcome"] == "failed"
    assert told["values"] == {"include": "include", "exclude": "exclude", "uncertain": "uncertain"}
    assert told["reasons"][-1] == {"label": "E1", "text": "Animal studies"}
    assert (told["marked"]["exclude"], "walking" in told["marked"]["include"]) == (["animal"], False)


def test_where_the_model_is_audited_the_list_is_the_sample_in_the_order_of_the_draw(
    client: Client, http: httpx.Client
) -> None:
    said = InclusionDecision.model_validate({"status": "exclude", "confidence": 0.8, "rationale": "because"})
    batch = written_batch(client, [decided({"id": f"r{n}", "title": f"Title {n}"}, said) for n in range(40)])
    blind(client, batch, ScreeningMode.MODEL_AUDITED)
    told = asked(http, batch)
    assert (told["audit"], told["items"], told["counts"]["todo"]) == (None, [], 0)
    audit = draw_audit(batch, 6, seed=7, stratum=Stratum.MODEL)
    drawn = [item.index for item in audit.items]
    assert drawn != sorted(drawn)
    told = asked(http, batch, limit=4)
    assert told["audit"] == {"id": audit.id, "seed": 7, "sample": 6, "judged": 0, "words": None}
    assert places(told) + places(asked(http, batch, limit=4, after=told["next"])) == drawn
    assert all(one["hidden"] and "why" not in one["row"] for one in told["items"])
    record_audit(
        client, audit.id, [AuditDecision(drawn[0], True, "Reviewer B"), AuditDecision(drawn[2], False, "Reviewer A")]
    )
    told = asked(http, batch)
    assert (places(told), told["audit"]["judged"]) == ([drawn[1], *drawn[3:]], 2)
    assert told["counts"] == {"records": 6, "todo": 4, "mine": 1, "conflicts": 0, "found": 4}
    (mine,) = asked(http, batch, show="mine")["items"]
    assert (mine["index"], mine["mine"]["value"], mine["hidden"]) == (drawn[2], "exclude", False)
    assert places(asked(http, batch, show="all")) == drawn
    record_audit(client, audit.id, [AuditDecision(place, False, "Reviewer A") for place in (drawn[1], *drawn[3:])])
    told = asked(http, batch)
    assert told["items"] == []
    assert told["audit"]["words"] == verdict(list_audits(batch)[0]).sentence
    assert "at most" in told["audit"]["words"]
