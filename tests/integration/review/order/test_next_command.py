"""`tamis next`: what a person types, reads, fills in and hands back."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

from stage import Finished
from stage.screened import Ledgered, decided, written_batch
from tamis_producer import Batch, Client
from tamis_schemas import InclusionDecision, Score

Run = Callable[..., Finished]
WALKING = "supervised walking exercise after surgery of the hip in adults, a trial with two groups and long follow-up"


def record(n: int, confidence: float) -> Ledgered:
    said = InclusionDecision.model_validate({"status": "include", "confidence": confidence, "rationale": "because"})
    return decided({"id": f"r{n}", "title": f"=Title {n}: {WALKING}", "abstract": f"{WALKING}, {n}"}, said)


def written(client: Client) -> Batch:
    return written_batch(client, [record(n, 0.9 - n / 100) for n in range(30)])


def test_a_person_reads_in_the_order_fills_in_a_sheet_and_hands_it_back(
    run: Run, client: Client, tmp_path: Path
) -> None:
    batch = written(client)
    shown = run("next", batch.id, "--n", "3", "--explore", "0", COLUMNS="100")
    assert shown.code == 0, shown.err
    head, first, *_ = shown.out.splitlines()
    assert head.split() == ["No.", "id", "title", "why", "score"]
    assert re.fullmatch(r" +1  r0  =Title 0: supervised \S.*…  the model scores it 0.90 +0.90 +", first)
    assert len(first) <= 100
    assert "30 records left to read; 0 decided, 0 of them included." in shown.out
    assert "until people decide. Places are ranks, not probabilities. Read from the top" in shown.out

    done = run("next", batch.id, "-n", "12", "--explore", "0", "-o", "read.csv")
    assert done.code == 0, done.err
    assert f"tamis override {batch.id} --file read.csv" in " ".join(done.out.split())
    sheet = (tmp_path / "read.csv").read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(sheet, newline="")))
    columns = ["reading_order", "index", "id", "title", "abstract", "decision", "reviewer", "note", "number"]  # blind
    assert list(rows[0]) == columns
    assert [row["index"] for row in rows] == [str(n) for n in range(12)]
    assert [row["number"] for row in rows] == [str(n) for n in range(1, 13)]
    assert rows[0]["title"].startswith("'=Title")
    assert "may contain decisions" in run("next", batch.id, "-o", "read.csv").err
    for row in rows:
        row["decision"] = "include" if int(row["index"]) % 2 else "exclude"
    with (tmp_path / "read.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    assert run("override", batch.id, "--file", "read.csv", "--reviewer", "Reviewer A").code == 0

    assert "12 records were read in the order of" in run("report", batch.id, "--format", "md").out
    told = json.loads(run("next", batch.id, "--n", "100", "--json").out)
    assert (told["unread"], told["decided"], told["included"], told["made_after"]) == (18, 12, 6, 12)
    assert not {record["index"] for record in told["records"]} & set(range(12))
    assert told["current"] is True
    assert "probability" not in told["records"][0]  # a place is a rank
    for_other = json.loads(run("next", batch.id, "--reviewer", "Reviewer B", "--json").out)
    assert [record["index"] for record in for_other["records"][:12]] == list(range(12))


def test_what_cannot_be_asked_for_is_refused_with_the_likely_mistake(run: Run, client: Client) -> None:
    scored = written_batch(client, [Ledgered({"id": "r0"}, value=0.5)], operation=Score(criteria="x"))
    for arguments, complaint in (
        ((scored.id,), "which includes and excludes nothing. A reading order needs"),
        (("00000000",), "there is no batch or review '00000000'"),
        ((scored.id, "--n", "1001"), "less than or equal to 1000"),
        ((scored.id, "--explore", "2"), "less than or equal to 1"),
    ):
        done = run("next", *arguments)
        assert done.code == 2, done.out
        assert complaint in " ".join(done.err.split())
