"""`tamis import-decisions`, `conflicts`, `agreement` and `override`: several people decide about the same records."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from stage import Finished
from stage.screened import Ledgered, decided, kept_out, written_batch
from tamis_producer import Batch, Client
from tamis_review import list_overrides, override
from tamis_schemas import Exclusion, Filter, HumanStage, InclusionDecision, Score

Run = Callable[..., Finished]


def row(n: int, status: str) -> object:
    said = InclusionDecision.model_validate({"status": status, "confidence": 0.8, "rationale": "because"})
    return decided({"id": f"r{n}", "title": f"Walking on hill number {n}"}, said)


@pytest.fixture
def batch(client: Client) -> Batch:
    """Five records, the fourth of which is a copy of the first."""
    copy = kept_out({"id": "r3", "title": "Walking"}, Exclusion(rule="duplicate", reason="the DOI", duplicate_of=0))
    rows = [row(0, "include"), row(1, "exclude"), row(2, "exclude"), copy, row(4, "uncertain")]
    return written_batch(client, rows)


def test_a_file_is_shown_as_it_was_read_and_what_is_not_recorded_is_listed(
    run: Run, batch: Batch, tmp_path: Path
) -> None:
    table = "ID,Title,response,comments\nr3,,1,seen\nr1,,2,\nr2,,,\nx,Nowhere,2,\n,walking on hill number 4,1,\n"
    (tmp_path / "a.csv").write_text(table + "r4,,2,\nr1,,2,again\n", "utf-8")
    arguments = ("import-decisions", batch.id, "a.csv", "--reviewer", "Reviewer A", "--unmatched", "left.csv")
    done = run(*arguments, "--dry-run")
    assert done.code == 0, done.err
    assert "dry run: 2 decisions would be recorded" in done.out
    assert list_overrides(batch) == []
    done = run(*arguments)
    assert "a.csv: CSV, id from 'ID', title from 'Title', decision from 'response', note from 'comments'" in done.out
    assert "2 = exclude (4), 1 = include (2), (empty) = no decision (1)" in done.out
    assert "7 rows; records found: 4 by id, 1 by title; without a decision: 1" in done.out
    assert "2 decisions recorded, by Reviewer A, title-abstract; 0 already existed" in done.out
    assert "1 rows not found in the batch:\n    line 5: x Nowhere: the batch has no such record" in done.out
    assert "line 7: r4: another row has a different decision on the same record" in done.out
    made = [(one.index, one.value, one.note) for one in list_overrides(batch)]
    assert made == [(0, "include", "seen"), (1, "exclude", None)]  # the copy's counts for the one that stays
    with (tmp_path / "left.csv").open(newline="") as stream:
        left = list(csv.DictReader(stream))
    assert [one["place"] for one in left] == ["line 5", "line 7", "line 6"]
    again = json.loads(run(*arguments, "--json").out)
    assert (again["decisions"], again["new"], again["found_by"]) == (2, 0, {"id": 4, "title": 1})


def test_records_of_one_title_are_named_by_the_numbers_that_people_see(
    run: Run, client: Client, tmp_path: Path
) -> None:
    batch = written_batch(
        client,
        [Ledgered({"id": f"r{n}", "title": "Walking"}, value=True) for n in range(2)],
        operation=Filter(criteria="x"),
    )
    (tmp_path / "a.csv").write_text("title,decision\nWalking,include\n", "utf-8")
    done = run("import-decisions", batch.id, "a.csv", "--reviewer", "A")
    assert "line 2: Walking: 2 records have its title: No. 1, No. 2" in done.out
    assert (
        run("override", batch.id, "number:2", "exclude", "--reviewer", "A").code == 0
    )  # the number that a person types


def test_all_of_a_file_is_recorded_or_nothing(run: Run, batch: Batch, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,vote\nr0,1\nr1,so-so\n", "utf-8")
    done = run("import-decisions", batch.id, "a.csv", "--reviewer", "A")
    assert (done.code, list_overrides(batch, history=True)) == (2, [])
    assert "unknown decisions: 'so-so' (1)" in done.err
    done = run("import-decisions", batch.id, "a.csv", "--reviewer", "A", "--uncertain", "so-so")
    assert [one.value for one in list_overrides(batch)] == ["include", "uncertain"]
    (unsure,) = batch.results([1])
    assert (unsure.final_value, unsure.overridden) == ("uncertain", True)
    (tmp_path / "b.csv").write_text(f"id,vote,note\nr0,1,\nr2,1,{'x' * 10_001}\n", "utf-8")
    done = run("import-decisions", batch.id, "b.csv", "--reviewer", "B")
    assert "b.csv: line 3: the note has 10,001 characters" in done.err
    assert len(list_overrides(batch)) == 2


def test_a_filter_knows_no_uncertain_and_an_extraction_no_decisions(run: Run, client: Client, tmp_path: Path) -> None:
    batch = written_batch(client, [row(0, "include")], operation=Filter(criteria="x"))
    (tmp_path / "a.csv").write_text("id,vote\nr0,yes\n", "utf-8")
    assert run("import-decisions", batch.id, "a.csv", "--reviewer", "A").code == 0
    assert [one.value for one in list_overrides(batch)] == [True]
    (tmp_path / "a.csv").write_text("id,vote\nr0,maybe\n", "utf-8")
    done = run("import-decisions", batch.id, "a.csv", "--reviewer", "A")
    assert "a.csv: line 2: 'uncertain' is not a decision" in done.err
    score = written_batch(client, [Ledgered({"id": "r0"}, value=0.5)], operation=Score(criteria="x"))
    done = run("import-decisions", score.id, "a.csv", "--reviewer", "A")
    assert (
        done.code,
        "has the operation score, which includes and excludes nothing" in done.err,
    ) == (
        2,
        True,
    )


def test_rayyan_brings_several_people_of_whom_one_may_be_named(run: Run, batch: Batch, tmp_path: Path) -> None:
    notes = '"RAYYAN-INCLUSION: {""Kim""=>""Included"", ""Noor""=>""Excluded""} | RAYYAN-EXCLUSION-REASONS: in rats"'
    (tmp_path / "r.csv").write_text(f"key,title,notes\nrayyan-1,Walking on hill number 1,{notes}\n", "utf-8")
    done = run("import-decisions", batch.id, "r.csv", "--reviewer", "Li")
    assert "the file has decisions of Kim, Noor, but none of 'Li'" in done.err
    run("import-decisions", batch.id, "r.csv", "--reviewer", "Kim")
    assert [one.reviewer for one in list_overrides(batch)] == ["Kim"]
    done = run("import-decisions", batch.id, "r.csv")
    assert "1 decisions recorded, by Kim, Noor, title-abstract; 1 already existed" in done.out
    assert "1 record in conflict: tamis conflicts" in done.out
    assert [one.reason for one in list_overrides(batch)] == [None, "in rats"]


def test_a_full_text_file_may_hold_retrieval_too(run: Run, batch: Batch, tmp_path: Path) -> None:
    table = (
        "id,decision,retrieved,reason\nr0,include,yes,\nr1,exclude,yes,wrong age\nr2,,no,paywall\nr4,no full text,,\n"
    )
    (tmp_path / "f.csv").write_text(table, "utf-8")
    arguments = ("import-decisions", batch.id, "f.csv", "--reviewer", "A", "--stage", "full-text")
    refused = run(*arguments)
    assert (refused.code, "f.csv: line 3: not passed by the screening: No. 2 (r1)" in refused.err) == (2, True)
    for index in (1, 2, 4):
        override(batch, index, "include", reviewer="B")
    done = run(*arguments)
    assert done.code == 0, done.err
    full = [one for one in list_overrides(batch) if one.stage is not HumanStage.OWN]
    made = [(one.index, one.stage, one.value, one.reason) for one in full]
    assert made == [
        (0, HumanStage.RETRIEVAL, "retrieved", None),
        (0, HumanStage.FULL_TEXT, "include", None),
        (1, HumanStage.RETRIEVAL, "retrieved", None),
        (1, HumanStage.FULL_TEXT, "exclude", "wrong age"),
        (2, HumanStage.RETRIEVAL, "not retrieved", "paywall"),
        (4, HumanStage.RETRIEVAL, "not retrieved", None),
    ]


@pytest.mark.night
def test_a_second_reviewer_is_told_whom_they_contradict_and_how_it_is_settled(run: Run, batch: Batch) -> None:
    run("override", batch.id, "r1", "include", "--reviewer", "Reviewer A", "--note", "adults")
    done = run("override", batch.id, "r1", "exclude", "--reviewer", "Reviewer B")
    assert done.code == 0, done.err
    assert "exclude by Reviewer B; the software agrees" in done.out
    assert "conflict: this contradicts Reviewer A (include), so no person's decision counts" in done.out
    assert f"tamis override {batch.id[:8]} number:2 DECISION --settle --reviewer NAME" in done.out
    third = run("override", batch.id, "r1", "include", "--reviewer", "Reviewer C")
    assert "conflict: this contradicts Reviewer B (exclude), so no person's decision counts" in third.out
    third = run("override", batch.id, "r1", "--withdraw", "--reviewer", "Reviewer C")
    assert "withdrawn by Reviewer C; others decided: Reviewer A: include; Reviewer B: exclude\n" in third.out
    differ = (
        "the remaining decisions differ: Reviewer A (include), Reviewer B (exclude), so no person's decision counts"
    )
    assert f"conflict: {differ}. To settle it: " in third.out
    listed = run("conflicts", batch.id).out
    assert "No. 2 (r1) Walking on hill number 1\n    title-abstract; the software: exclude\n" in listed
    assert "    Reviewer A: include: adults\n    Reviewer B: exclude\n1 in conflict" in listed
    (conflict,) = map(json.loads, run("conflicts", batch.id, "--json").out.splitlines())
    assert [one["reviewer"] for one in conflict["decisions"]] == ["Reviewer A", "Reviewer B"]
    assert "0 records decided, 0 of them overridden, 0 confirmed, 1 in conflict" in run("status", batch.id).out
    assert json.loads(run("status", batch.id, "--json").out)["conflicts"] == 1

    refused = run("override", batch.id, "r1", "--withdraw", "--reviewer", "Reviewer C")
    assert (refused.code, "Only Reviewer A and Reviewer B can withdraw their own decision" in refused.err) == (2, True)
    run("override", batch.id, "r1", "include", "--reviewer", "Reviewer C", "--settle")
    assert "no record is in conflict" in run("conflicts", batch.id).out
    late = run("override", batch.id, "r1", "exclude", "--reviewer", "Reviewer D")
    assert "exclude by Reviewer D; kept, but Reviewer C has settled it: include counts" in late.out
    assert ", settles" in run("overrides", batch.id).out


def test_the_agreement_of_people_is_counted_by_stage_and_pair(run: Run, batch: Batch) -> None:
    for index in range(3):
        override(batch, index, "include", reviewer="D", settles=True)
    for reviewer, said in (("A", ("include", "exclude", "exclude")), ("B", ("include", "include", "exclude"))):
        for index, value in enumerate(said):
            override(batch, index, value, reviewer=reviewer)
            override(batch, index, value, reviewer=reviewer, stage=HumanStage.FULL_TEXT)
    override(batch, 0, "exclude", reviewer="C")
    found = json.loads(run("agreement", batch.id, "--json").out)["people"]
    shown = [(one["stage"], one["first"], one["second"], one["agreement"]["n"]) for one in found]
    assert shown == [("own", "A", "B", 3), ("own", "A", "C", 1), ("own", "B", "C", 1), ("full-text", "A", "B", 3)]
    # po = 2/3, pe = 1/3 * 2/3 + 2/3 * 1/3 = 4/9, kappa = (6/9 - 4/9) / (5/9) = 0.4
    assert found[0]["agreement"]["kappa"] == pytest.approx(0.4)
    assert "full-text" in run("agreement", batch.id).out
