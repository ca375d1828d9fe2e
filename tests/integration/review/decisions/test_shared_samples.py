"""Audit, pilot and stop rule are one family: which sample serves what besides, and which is refused."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from stage import Finished
from stage.half_read import ROWS, half_read, read
from stage.screened import written_batch
from tamis_producer import Batch, Client
from tamis_review import (
    calibrate,
    close_stop_sample,
    draw_audit,
    draw_pilot,
    draw_stop_sample,
    list_audits,
    list_overrides,
    may_stop,
    record_audit,
    withdraw_override,
)
from tamis_review.decisions.audits import AuditDecision
from tamis_schemas import InvalidParameters, InvalidRequest, StopVerdict, Stratum
from tamis_schemas.records.random_order import sample

Run = Callable[..., Finished]


@pytest.fixture
def batch(client: Client) -> Batch:
    return half_read(client)


def judged(client: Client, batch: Batch, n: int, *, seed: int, missed: int = 0) -> str:
    """An audit of which everything is judged; the first are missed. Its id."""
    audit = draw_audit(batch, n, seed=seed)
    said = [AuditDecision(one.index, place < missed, "Reviewer B") for place, one in enumerate(audit.items)]
    record_audit(client, audit.id, said)
    return audit.id


def test_an_audit_of_all_that_is_unread_is_the_beginning_of_a_sample(
    run: Run, client: Client, batch: Batch, database_url: str
) -> None:
    part = draw_audit(batch, 9, seed=1, stratum=Stratum.RULES)  # could not have been a sample: it is no attempt
    record_audit(client, part.id, [AuditDecision(one.index, include=False, reviewer="B") for one in part.items])
    before = may_stop(batch, recall=0.8)
    audit = judged(client, batch, 80, seed=5)
    # A fresh sample after it is the second attempt: 0.05 / 6 / 2 = 0.00417. n = 131: C(209, 11) / C(340, 11) = 0.0043;
    # n = 132: 0.0040
    fresh = may_stop(batch, recall=0.8)
    assert (before.needed[0], fresh.needed[0]) == (111, 132)
    assert (fresh.read, fresh.samples) == (60, ())
    done = run("stop", batch.id, "--recall", "0.8", "--draw", "--audit", audit[:8], "-o", "s.csv")
    assert done.code == 0, done.err
    taken = may_stop(batch)
    (frame,) = taken.samples
    assert (frame.number, frame.seed, frame.population, frame.drawn, frame.read) == (1, 5, 340, 111, 80)
    assert [one.index for one in frame.records] == sample(range(60, 400), 111, seed=5)
    assert (taken.read, taken.needed[0]) == (140, 31)  # what it took is not read again
    assert {one.reviewer for one in list_overrides(batch) if one.index == frame.records[0].index} == {"Reviewer B"}
    read(batch, [one.index for one in frame.waiting])
    assert may_stop(batch).verdict is StopVerdict.ENOUGH
    with pytest.raises(InvalidParameters, match="sample 1 is open"):
        draw_stop_sample(batch, audit=audit)
    close_stop_sample(batch)
    judged(client, batch, 20, seed=6)
    assert draw_stop_sample(batch, recall=0.9).samples[-1].number == 3  # the audit between them was one, too


def test_an_audit_that_does_not_speak_for_the_unread_rest_is_refused_with_the_reason(
    client: Client, batch: Batch
) -> None:
    everything = judged(client, batch, 20, seed=5)
    part = draw_audit(batch, 20, seed=5, stratum=Stratum.MODEL)
    for refused, why in ((part.id, "a part of the exclusions \\(model\\)"), ("0" * 8, "there is no audit")):
        with pytest.raises(InvalidRequest, match=why):
            draw_stop_sample(batch, recall=0.8, audit=refused)
    with pytest.raises(InvalidParameters, match="an audit has its own"):
        draw_stop_sample(batch, audit=everything, seed=3)
    other = half_read(client)
    with pytest.raises(InvalidRequest, match=f"belongs to batch {batch.id}, not to {other.id}"):
        draw_stop_sample(other, audit=everything)
    # a record that the model included is unread again
    withdraw_override(batch, 0, reviewer="Reviewer A")
    with pytest.raises(
        InvalidRequest, match=r"Read the other records first \(unread records that are not excluded: 1\)"
    ):
        draw_stop_sample(batch, recall=0.8, audit=everything)
    read(batch, [0])
    judged(client, batch, 20, seed=9)
    with pytest.raises(InvalidRequest, match="a later audit was drawn"):
        draw_stop_sample(batch, recall=0.8, audit=everything)
    drawn = {item.index for audit in list_audits(batch) for item in audit.items}
    read(batch, [next(place for place in range(60, 400) if place not in drawn)])
    with pytest.raises(InvalidRequest, match="it was drawn from 340 records, but other records are unread now"):
        draw_stop_sample(batch, recall=0.8, audit=everything)
    assert may_stop(batch).samples == ()
    assert may_stop(batch).read == 61  # nothing was taken over


def filled_in(path: Path, column: str, include: Callable[[int], bool]) -> None:
    rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    for row in rows:
        row[column] = "include" if include(int(row["index"])) else "exclude"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def test_a_sample_of_everything_is_a_pilot_and_one_of_the_rest_is_none(
    run: Run, client: Client, tmp_path: Path
) -> None:
    batch = written_batch(client, ROWS)
    assert run("stop", batch.id, "--draw", "--seed", "3", "--recall", "0.5", "-o", "whole.csv").code == 0
    drawn = may_stop(batch).samples[0]
    assert [one.index for one in drawn.records] == list(draw_pilot(batch, drawn.drawn, seed=3).places)
    filled_in(tmp_path / "whole.csv", "decision", lambda place: place < 40)
    whole = calibrate(batch, tmp_path / "whole.csv").calibration
    assert whole.sampling.promises
    # what a pilot's file says counts as read once it is a decision
    assert run("pilot", batch.id, "-n", "50", "--seed", "3", "-o", "pilot.csv").code == 0
    filled_in(tmp_path / "pilot.csv", "include", lambda place: place < 40)
    done = run("import-decisions", batch.id, "pilot.csv", "--reviewer", "Reviewer A")
    assert done.code == 0, done.err
    assert may_stop(batch).samples[0].read == 50
    later = half_read(client)
    assert run("stop", later.id, "--draw", "--seed", "3", "--recall", "0.8", "-o", "rest.csv").code == 0
    filled_in(tmp_path / "rest.csv", "decision", lambda _: False)
    assert not calibrate(later, tmp_path / "rest.csv").calibration.sampling.promises


def test_an_audits_file_makes_decisions_that_count_as_read(run: Run, batch: Batch, tmp_path: Path) -> None:
    assert run("audit", batch.id, "-n", "25", "--seed", "3", "-o", "a.csv").code == 0
    filled_in(tmp_path / "a.csv", "include", lambda _: False)
    done = run("import-decisions", batch.id, "a.csv", "--reviewer", "Reviewer A")
    assert done.code == 0, done.err
    assert may_stop(batch).read == 85
