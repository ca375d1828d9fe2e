"""The stop rule over HTTP: looked at, drawn, read next, and closed."""

import csv
import io

import httpx2 as httpx

from stage.gateway import signed_in
from stage.screened import decided, written_batch
from tamis_producer import Client
from tamis_producer.gateway.api_keys import Scope
from tamis_review import decide, draw_stop_sample, may_stop, next_records, set_screening_mode
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_schemas import InclusionDecision, ScreeningMode

ROWS = [
    decided(
        {"id": f"r{n}", "title": f"Title {n}"},
        InclusionDecision.model_validate(
            {"status": "include" if n < 9 else "exclude", "confidence": 0.8, "rationale": ""}
        ),
    )
    for n in range(60)
]


def test_a_team_looks_draws_reads_and_closes(client: Client) -> None:
    batch = written_batch(client, ROWS)
    decide(batch, [HumanDecision(place, "include", "Reviewer A") for place in range(9)])
    with signed_in(client, "Reviewer A", Scope.READ, Scope.DECIDE) as http:

        def told(answer: httpx.Response, status: int = 200) -> dict[str, object]:
            assert answer.status_code == status, answer.text
            body: dict[str, object] = answer.json()
            return body

        base = f"/v1/batches/{batch.id[:8]}"
        told(http.get(f"{base}/stop", params={"form": "csv"}), 422)
        looked = told(http.get(f"{base}/stop", params={"recall": 0.5, "confidence": 0.8}))
        assert (looked["verdict"], looked["unread"], looked["samples"]) == ("not yet", 51, [])
        assert len(looked["prices"]) == 20  # type: ignore[arg-type]  # a list
        report = http.get(f"{base}/report", params={"form": "md"})
        assert "Stop rule" not in report.text
        drawn = told(http.post(f"{base}/stop-samples", json={"recall": 0.5, "confidence": 0.8, "seed": 3}), 201)
        (sample,) = drawn["samples"]  # type: ignore[misc]  # a list
        assert (sample["seed"], sample["population"], sample["read"]) == (3, 51, 0)
        again = http.get(f"{base}/report", params={"form": "md"}, headers={"If-None-Match": report.headers["etag"]})
        assert "## Stop rule" in again.text
        for body, status in (({"seed": 4}, 422), ({"seed": 3}, 201), ({"seed": "3"}, 422), ({"recall": 0}, 422)):
            told(http.post(f"{base}/stop-samples", json=body), status)
        places = [one["index"] for one in sample["records"]]
        assert [one.index for one in next_records(batch, 5).records] == places[:5]
        table = http.get(f"{base}/stop", params={"form": "csv"})
        assert table.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(table.text.removeprefix("\ufeff"), newline="")))
        assert [(one["seed"], one["index"]) for one in rows] == [("3", str(place)) for place in places]
        decide(batch, [HumanDecision(place, "exclude", "Reviewer A") for place in places])
        assert told(http.get(f"{base}/stop"))["verdict"] == "enough"
        closed = told(http.post(f"{base}/stop-samples/close"))
        assert (closed["verdict"], closed["samples"][0]["closed_at"] is None) == ("enough", False)  # type: ignore[index]
        told(http.post(f"{base}/stop-samples/close"), 422)


def test_the_table_of_a_sample_does_not_tell_what_is_hidden(client: Client) -> None:
    batch = written_batch(client, ROWS)
    set_screening_mode(batch, ScreeningMode.PAIR, set_by="Lead")
    drawn = draw_stop_sample(batch, 0.5, 0.8, seed=3).sample
    assert drawn is not None
    places = [one.index for one in drawn.records]
    decide(batch, [HumanDecision(places[0], "include", "Reviewer B")])
    read = may_stop(batch).sample
    assert read is not None
    assert read.records[0].included is True
    with signed_in(client, "Reviewer A", Scope.READ) as http:
        table = http.get(f"/v1/batches/{batch.id}/stop", params={"form": "csv"}).text
    rows = list(csv.DictReader(io.StringIO(table.removeprefix("\ufeff"), newline="")))
    assert [(int(one["index"]), one["decision"]) for one in rows] == [(place, "") for place in places]
