"""Audits of exclusions through the command line: drawn, filled in, handed back, and what they then say."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from stage import Finished
from stage.screened import Ledgered, decided, failed, kept_out, written_batch
from tamis_producer import Batch, Client
from tamis_review import draw_audit, list_audits, list_overrides, override, record_audit
from tamis_review.decisions.audits import AuditDecision
from tamis_review.decisions.record_overrides import RefusedDecision
from tamis_schemas import (
    Exclusion,
    InclusionDecision,
    InvalidRequest,
    ItemStatus,
    Score,
    Stratum,
)
from tamis_schemas.records.random_order import sample

Run = Callable[..., Finished]


def record(n: int) -> dict[str, object]:
    return {"id": f"r{n}", "title": f"=Title {n}", "abstract": f"Abstract {n}"}


def said(status: str) -> InclusionDecision:
    return InclusionDecision.model_validate({"status": status, "confidence": 0.8, "rationale": "because"})


# 20 by the model, 10 by a rule, a copy, and 3 that nobody excluded.
ROWS = [
    *(decided(record(n), said("exclude")) for n in range(20)),
    *(kept_out(record(n), Exclusion(rule="title_pattern", reason="in rats")) for n in range(20, 30)),
    kept_out(record(30), Exclusion(rule="duplicate", reason="the same DOI", duplicate_of=0)),
    decided(record(31), said("include")),
    decided(record(32), said("uncertain")),
    failed(record(33), "timeout"),
]


@pytest.fixture
def batch(client: Client) -> Batch:
    return written_batch(client, ROWS)


def filled(path: Path, decisions: dict[int, str], **columns: str) -> list[dict[str, str]]:
    """Fill in a file by place of the row, as a person would; the rows."""
    text = path.read_text("utf-8-sig")
    delimiter = ";" if text.startswith("audit;") else ","
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    for place, include in decisions.items():
        rows[place] |= {"include": include, **columns}
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, rows[0].keys(), delimiter=";")  # as a spreadsheet of many countries saves it
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(stream.getvalue(), "utf-8-sig", newline="")
    return rows


def test_the_population_is_what_software_excluded_and_no_human_decided_about(batch: Batch) -> None:
    everything = draw_audit(batch, 100, seed=1)
    assert sorted(item.index for item in everything.items) == list(range(30))
    assert (everything.population, everything.sample) == (30, 30)
    assert draw_audit(batch, 100, seed=1, stratum=Stratum.RULES).population == 10
    assert draw_audit(batch, 100, seed=1, stratum=Stratum.MODEL).population == 20
    override(batch, 3, "exclude", reviewer="Reviewer A")
    override(batch, 4, "include", reviewer="Reviewer A")
    assert draw_audit(batch, 100, seed=2).population == 28


def test_the_same_seed_draws_the_same_sample_and_is_one_audit(batch: Batch) -> None:
    one = draw_audit(batch, 5, seed=7)
    assert draw_audit(batch, 5, seed=7) == one
    assert [item.index for item in one.items] == sample(range(30), 5, seed=7)
    assert [item.index for item in draw_audit(batch, 9, seed=7).items][:5] == [item.index for item in one.items]
    assert [item.index for item in draw_audit(batch, 5, seed=8).items] != [item.index for item in one.items]
    assert len(list_audits(batch)) == 3


def test_the_order_is_the_same_on_every_machine() -> None:
    assert sample(range(10), 4, seed=1) == [7, 4, 8, 6]


def test_every_record_is_drawn_about_equally_often() -> None:
    drawn = [place for seed in range(2000) for place in sample(range(20), 5, seed=seed)]  # 500 each expected
    counts = [drawn.count(place) for place in range(20)]
    chi_square = sum((count - 500) ** 2 / 500 for count in counts)
    assert chi_square < 45  # 19 degrees of freedom: beyond it lie 0.07 %; the seeds are fixed


@pytest.mark.parametrize(
    ("rows", "more", "complaint"),
    [
        (ROWS, {"state": "running"}, "is running: an audit covers all exclusions"),
        (ROWS[31:], {}, "has no exclusion without a human decision"),
        (
            [Ledgered(record(0), ItemStatus.DECIDED, value=1.0)],
            {"operation": Score(criteria="x")},
            "has the operation score",
        ),
    ],
)
def test_where_there_is_nothing_to_audit_it_says_so(
    client: Client, rows: list[Ledgered], more: dict[str, object], complaint: str
) -> None:
    with pytest.raises(InvalidRequest, match=complaint):
        draw_audit(written_batch(client, rows, **more), 5, seed=1)


def test_an_audit_from_draw_to_override(run: Run, client: Client, batch: Batch, tmp_path: Path) -> None:
    done = run("audit", batch.id, "--n", "10", "--seed", "3", "-o", "a.csv")
    assert done.code == 0, done.err
    (audit,) = list_audits(batch)
    assert f"audit {audit.id}: 10 of 30 excluded records, drawn with seed 3, written to a.csv" in done.err
    path = tmp_path / "a.csv"
    rows = filled(path, {})
    assert list(rows[0]) == [
        "audit",
        "index",
        "id",
        "title",
        "abstract",
        "include",
        "reviewer",
        "note",
        "number",
    ]  # blind
    assert rows[0]["title"].startswith("'=Title")
    assert [int(row["index"]) for row in rows] == [item.index for item in audit.items]

    # a part of it, nobody named in the rows
    filled(path, dict.fromkeys(range(6), "No"))
    done = run("audit", "record", "a.csv")
    assert done.code == 2
    assert "a.csv:2: field 'reviewer': who decided?" in done.err
    done = run("audit", "record", "a.csv", TAMIS_REVIEWER="Reviewer A")
    assert done.code == 0, done.err
    assert "6 new decisions recorded" in done.out
    assert "The 4 records not judged yet count as missed" in done.out

    # the same again, and the rest
    rows = filled(path, {6: "yes", 7: "no", 8: "no", 9: "no"}, reviewer="Reviewer B", note="adults")
    done = run("audit", "record", "a.csv", "--reviewer", "Reviewer A")
    assert "4 new decisions recorded" in done.out
    # 1 found in 10 of 30: K = 10: (C(20,10) + 10 C(20,9)) / C(30,10) = 0.062; K = 11: 0.037
    assert (
        "Of 30 records excluded by software, 10 were drawn at random and 10 judged by a human: 1 record should have "
        "been included. With 95% confidence, at most 10 of all 30 (33.3%) should have been, including that one."
    ) in done.out
    missed = int(rows[6]["index"])
    assert f"missed No. {missed + 1} (r{missed}), according to Reviewer B: adults" in done.out
    assert list_overrides(batch) == []

    done = run("audit", "record", "a.csv", "--reviewer", "Reviewer A", "--override")
    assert "0 new decisions recorded" in done.out
    assert f"Included by override: No. {missed + 1} (r{missed})." in done.out
    (one,) = list_overrides(batch)
    assert (one.index, one.value, one.reviewer, one.note) == (missed, "include", "Reviewer B", "adults")
    assert run("audit", "record", "a.csv", "--reviewer", "Reviewer A", "--override").code == 0
    assert len(list_overrides(batch, history=True)) == 1

    shown = json.loads(run("audit", "show", audit.id[:8], "--json").out)
    assert (shown["verdict"]["most"], shown["verdict"]["missed"], shown["population"]) == (10, 1, 30)
    assert "10" in run("audit", "list", batch.id).out
    agreed = json.loads(run("agreement", batch.id, "--json").out)
    assert (agreed["audits"]["n"], agreed["audits"]["observed"]) == (10, 0.9)
    assert (agreed["overrides"]["n"], agreed["together"]["n"]) == (1, 10)


def test_a_file_is_taken_as_a_whole_and_its_errors_name_the_line(run: Run, batch: Batch, tmp_path: Path) -> None:
    run("audit", batch.id, "-n", "5", "--seed", "3", "-o", "a.csv", "--with-reasons")
    path = tmp_path / "a.csv"
    blank = path.read_bytes()
    reasons = {row["excluded_by"] for row in filled(path, {})}
    assert reasons <= {"model", "title_pattern"}
    for place, columns, complaint in (
        (1, {"include": "maybe"}, "a.csv:3: field 'include': 'maybe' is not a decision"),
        (2, {"index": "31", "id": ""}, "a.csv:4: No. 32 (index 31) is not in the sample"),
        (2, {"id": "r999"}, "were columns sorted separately?"),
        (3, {"audit": "0" * 8}, "a.csv:5: field 'audit': the column 'audit' must name the same audit"),
        (4, {"index": "x"}, "a.csv:6: field 'index': 'x' is not an index"),
    ):
        path.write_bytes(blank)
        filled(path, dict.fromkeys(range(5), "no"), reviewer="Reviewer A")
        filled(path, {place: columns.get("include", "no")}, **columns)
        done = run("audit", "record", "a.csv")
        assert done.code == 2
        assert complaint in done.err
        assert list_audits(batch)[0].decided == 0


def test_a_changed_decision_needs_to_be_meant_and_both_stay(client: Client, batch: Batch, database_url: str) -> None:
    audit = draw_audit(batch, 3, seed=1)
    index = audit.items[0].index
    record_audit(client, audit.id, [AuditDecision(index, include=False, reviewer="Reviewer A")])
    with pytest.raises(RefusedDecision, match=r"Reviewer A said exclude before.*--correct"):
        record_audit(client, audit.id, [AuditDecision(index, include=True, reviewer="Reviewer A")])
    done = record_audit(client, audit.id, [AuditDecision(index, include=True, reviewer="Reviewer A")], correct=True)
    assert (done.new, done.audit.items[0].include) == (1, True)
    with psycopg.connect(database_url.replace("+psycopg", "")) as connection:
        kept = connection.execute("SELECT include FROM audit_decisions ORDER BY id").fetchall()
        assert kept == [(False,), (True,)]
        with pytest.raises(psycopg.errors.CheckViolation, match="never changed"):
            connection.execute("UPDATE audits SET population = 1")


def test_an_override_of_before_is_not_touched_by_an_audit(client: Client, batch: Batch) -> None:
    audit = draw_audit(batch, 3, seed=1)
    index = audit.items[0].index
    override(batch, index, "exclude", reviewer="Reviewer B", note="seen")
    done = record_audit(
        client, audit.id, [AuditDecision(index, include=True, reviewer="Reviewer A")], include_missed=True
    )
    assert done.overrides == ()
    assert [one.reviewer for one in list_overrides(batch)] == ["Reviewer B"]
