"""`tamis override`, `overrides`, `status`, `results` and `export`: what a reviewer types, and what they are told."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stage import Finished
from stage.screened import Place, decided, write_batch, write_review
from tamis_producer import Batch, Client
from tamis_review import get_screening_mode, list_overrides, list_reviews
from tamis_schemas import Filter, Inclusion, InclusionDecision, ScreeningMode, SearchCriteria

Run = Callable[..., Finished]
INCLUSION = Inclusion(criteria=SearchCriteria(research_question="Does it?", inclusion_criteria=["It does"]))


def row(n: int, status: str) -> object:
    said = InclusionDecision.model_validate({"status": status, "confidence": 0.8, "rationale": "because"})
    return decided({"id": f"r{n}", "title": f"Title {n}"}, said)


@pytest.fixture
def batch(client: Client) -> Batch:
    """In a review whose second stage has begun."""
    rows = [row(n, status) for n, status in enumerate(("include", "exclude", "uncertain", "exclude"))]
    with client.engine.begin() as connection:
        review = write_review(connection, "r", INCLUSION, Filter(criteria="x"))
        first = write_batch(connection, rows, operation=INCLUSION, place=Place(review, 0))  # type: ignore[arg-type]
        write_batch(connection, rows[:1], operation=INCLUSION, place=Place(review, 1))  # type: ignore[arg-type]
    return client.batch(str(first))


def test_a_reviewer_decides_withdraws_and_sees_it(run: Run, batch: Batch) -> None:
    done = run("override", batch.id, "r1", "INCLUDE", "--note", "it does", TAMIS_REVIEWER="Reviewer A")
    assert done.code == 0, done.err
    assert "No. 2 (r1) Title 1: include by Reviewer A; the software decided exclude" in done.out
    assert "The next stage of the review has begun. Records included now are not added to it" in done.out
    assert "; the software agrees" in run("override", batch.id, "4", "exclude", "--reviewer", "Reviewer B").out
    listed = run("overrides", batch.id).out
    assert "it does" in listed
    assert [json.loads(line)["index"] for line in run("overrides", batch.id, "--json").out.splitlines()] == [1, 3]
    assert "2 records decided, 1 of them overridden, 1 confirmed" in run("status", batch.id).out
    stood = json.loads(run("status", batch.id, "--json").out)
    assert (stood["human_decisions"], stood["overridden"]) == (2, 1)
    assert (stood["team"]["read"], stood["team"]["to_read"], stood["team"]["open"]) == (2, 4, True)
    assert run("status", batch.id).out.count("completed") == 0
    assert re.search(r"state +model finished +\nread +by people 2 of 4 ", run("status", batch.id).out)
    table = list(csv.DictReader(io.StringIO(run("results", batch.id).out)))
    assert [one["final_value"] for one in table] == ["include", "include", "uncertain", "exclude"]
    done = run("export", batch.id, "-o", "out.jsonl", "--only", "include")
    assert "2 records written" in done.err
    done = run("override", batch.id, "r1", "--withdraw", "--reviewer", "Reviewer A")
    assert "withdrawn by Reviewer A; the software's decision counts again: exclude" in done.out
    assert len(list_overrides(batch)) == 1


def test_nobody_decides_by_the_name_of_their_login(run: Run, batch: Batch) -> None:
    done = run("override", batch.id, "1", "include", USER="root", LOGNAME="root")
    assert done.code == 2
    assert "who decided? Add --reviewer NAME, or set TAMIS_REVIEWER" in done.err
    assert list_overrides(batch) == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["1"], "give a record and a decision"),
        (["1", "include", "--withdraw"], "give a record and a decision"),
        ([], "give a record and a decision"),
        (["1", "perhaps"], "'perhaps' is not a decision"),
        (["nobody", "include"], "no record has the id 'nobody'"),
        (["1", "include", "--file", "t.csv"], "--file contains records, decisions and notes"),
    ],
)
def test_what_is_not_said_clearly_is_refused(run: Run, batch: Batch, arguments: list[str], complaint: str) -> None:
    done = run("override", batch.id, *arguments, "--reviewer", "Reviewer A")
    assert done.code == 2
    assert complaint in done.err
    assert list_overrides(batch) == []


def test_a_table_is_taken_as_a_whole_or_not_at_all(run: Run, batch: Batch, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,decision,note,reviewer\nr1,include,seen,Reviewer B\nr2,exclude,,\nr3,,,\n", "utf-8")
    done = run("override", batch.id, "--file", "t.csv", "--reviewer", "Reviewer A")
    assert done.code == 0, done.err
    assert "1 row without a decision is skipped" in done.out
    assert [(one.index, one.value, one.reviewer) for one in list_overrides(batch)] == [
        (1, "include", "Reviewer B"),
        (2, "exclude", "Reviewer A"),
    ]
    path.write_text("index,decision\n0,exclude\n3,include\n0,include\n", "utf-8")
    done = run("override", batch.id, "--file", "t.csv", "--reviewer", "Reviewer A")
    assert done.code == 2
    assert "t.csv:4: two decisions on No. 1 (index 0)" in done.err
    assert len(list_overrides(batch)) == 2


def test_a_review_is_no_batch(run: Run, batch: Batch, client: Client) -> None:
    review = list_reviews(client)[0]
    done = run("override", review.id, "1", "include", "--reviewer", "Reviewer A")
    assert done.code == 2
    assert f"is a review: name the batch of one of its stages, which are {batch.id[:8]} (inclusion)" in done.err


def test_where_no_human_has_decided_the_commands_say_so(run: Run, batch: Batch) -> None:
    assert "no person has decided on a record" in run("overrides", batch.id).out
    assert "no person has decided on a record" in run("agreement", batch.id).out
    assert "has no audit" in run("audit", "list", batch.id).out


@pytest.mark.night
def test_blind_shows_and_sets_how_people_read_and_who_set_it(run: Run, batch: Batch) -> None:
    assert "not blind: over HTTP, everyone sees all decisions." in run("blind", batch.id).out
    assert run("blind", batch.id, "pair").code != 0
    done = run("blind", batch.id, "pair", "--reviewer", "Lead")
    assert done.code == 0, done.err
    assert "until two people have decided (set by Lead, 20" in " ".join(done.out.split())
    told = json.loads(run("blind", batch.id, "model", "--reviewer", "Lead", "--json").out)
    assert (told["id"], told["mode"], told["set_by"]) == (batch.id, "model_second", "Lead")
    assert get_screening_mode(batch).mode is ScreeningMode.MODEL_SECOND
    done = run("override", batch.id, "r1", "include", "--reviewer", "Reviewer A")
    second = "conflict: the model is the second reader and decided exclude. People's decision counts. To settle it: "
    assert second in done.out
    done = run("blind", batch.id, "audit", "--reviewer", "Lead")
    assert "drawn for the audit are hidden until it is judged (set by Lead, 20" in " ".join(done.out.split())
    assert get_screening_mode(batch).mode is ScreeningMode.MODEL_AUDITED
    run("blind", batch.id, "off", "--reviewer", "Lead")
    assert get_screening_mode(batch).mode is ScreeningMode.SINGLE
