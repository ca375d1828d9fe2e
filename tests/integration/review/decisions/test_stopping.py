"""The stop rule through the command line and the client: looked at, drawn, read, extended, closed, and enough."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import text

from stage import Finished, wait_until
from stage.half_read import ROWS, half_read, read, record
from stage.screened import Ledgered, written_batch
from tamis_producer import Batch, Client
from tamis_producer.ledger.overrides import one_at_a_time
from tamis_review import (
    close_stop_sample,
    decide,
    draw_stop_sample,
    import_decisions,
    may_stop,
    override,
    withdraw_override,
)
from tamis_review.decisions.record_overrides import HumanDecision
from tamis_review.decisions.stop_samples import draw_sample, read_reading_state
from tamis_schemas import InvalidParameters, InvalidRequest, Score, StopVerdict
from tamis_schemas.records.random_order import sample

Run = Callable[..., Finished]


@pytest.fixture
def batch(client: Client) -> Batch:
    return half_read(client)


def test_from_the_first_look_to_the_sentence_for_the_methods(run: Run, batch: Batch, tmp_path: Path) -> None:
    looked = may_stop(batch, recall=0.8)
    assert (looked.records, looked.read, looked.found, looked.unread) == (400, 60, 40, 340)
    assert (looked.excluded_by_rules, looked.excluded_by_model) == (30, 310)
    assert (looked.verdict, looked.samples, looked.missed) == (StopVerdict.NOT_YET, (), 340)
    # 40 of at most 50 are 80 %: eleven hidden ones must be unlikely. n = 110: C(340 - 110, 11) / C(340, 11) = 0.01254;
    # n = 111: 0.0119, less than 0.0125: the half of 0.05 for the first sample, and of that for one without an include.
    needed = looked.needed[0]
    assert needed == 111
    assert looked.headline == (
        "Not yet: draw a random sample of the 340 unread records. 111 of them are enough if they contain no further "
        "include."
    )
    assert may_stop(batch, recall=0.8).samples == ()  # who looks draws nothing

    done = run("stop", batch.id, "--recall", "0.8", "--draw", "--seed", "7", "-o", "s.csv")
    assert done.code == 0, done.err
    assert "Not yet: read 111 more of the sample" in done.out
    assert "tamis override" in done.err
    expected = sample(range(60, 400), 340, seed=7)
    path = tmp_path / "s.csv"
    rows = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    assert list(rows[0]) == [
        "seed",
        "index",
        "id",
        "title",
        "abstract",
        "decision",
        "reviewer",
        "note",
        "number",
    ]  # blind
    assert [int(row["index"]) for row in rows] == expected[:111]
    assert rows[0]["title"].startswith("'=Title")
    (drawn,) = may_stop(batch).samples
    assert (drawn.seed, drawn.population, drawn.drawn, drawn.recall) == (7, 340, 111, 0.8)
    assert (drawn.read, drawn.found, len(drawn.waiting)) == (0, 0, 111)
    assert run("stop", batch.id, "--draw", "-o", "s.csv").code == 2  # it may hold decisions

    # a gap: what is read behind it does not count yet
    read(batch, (place for place in expected[:50] if place != expected[3]))
    looked = may_stop(batch)
    assert (looked.recall, looked.samples[0].read, looked.needed[0]) == (0.8, 3, 108)
    assert any("46 more after the first unread one" in figure.value for figure in looked.figures)
    assert str(expected[3]) in run("stop", batch.id).out.split("To read next")[1]
    # the rest by the file, as a reviewer hands it back
    for row in rows:
        row["decision"] = "exclude" if int(row["index"]) not in expected[:50] else ""
    rows[3]["decision"] = "exclude"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    assert run("override", batch.id, "--file", "s.csv", "--reviewer", "Reviewer B").code == 0
    enough = may_stop(batch)
    assert (enough.verdict, enough.missed) == (StopVerdict.ENOUGH, 10)
    assert enough.headline == "Enough: at least 80% of the includes are found, with 95% confidence."
    assert enough.methods == (
        "Reviewers read 171 of 400 records (42.8%) and included 40. A simple random sample was drawn without "
        f"replacement from 340 records unread on {drawn.created_at:%Y-%m-%d} (sample 1, seed 7, in the order of the "
        "SHA-256 of seed and record). Its first 111 were read, and 0 of them were included. With 95% confidence, at "
        "most 10 of the 229 unread records would be included, so at least 80% of all includes were found (exact "
        "hypergeometric bound, valid for repeated looks). This figure does not cover includes that reviewers "
        "overlooked in records that they read."
    )
    shown = run("stop", batch.id).out
    assert "Enough: at least 80%" in shown
    assert "For your methods section" in shown
    told = json.loads(run("stop", batch.id, "--json").out)
    assert (told["verdict"], told["samples"][0]["read"], told["written_to"]) == ("enough", 111, None)
    assert draw_stop_sample(batch).samples == enough.samples  # enough: nothing more is drawn

    # a decision that is withdrawn is followed
    withdraw_override(batch, expected[110], reviewer="Reviewer B")
    assert may_stop(batch).verdict is StopVerdict.NOT_YET
    # more is asked for: the sample goes on where it was
    more = draw_stop_sample(batch, recall=0.9)
    assert more.sample is not None
    assert [one.index for one in more.sample.records] == expected[: more.sample.drawn]
    assert more.sample.drawn > 111
    assert more.recall == 0.9
    assert draw_stop_sample(batch, recall=0.8).samples[0].drawn == more.sample.drawn  # what is drawn stays so


def test_an_include_in_the_sample_and_elsewhere_and_a_second_sample(batch: Batch) -> None:
    read_back = draw_stop_sample(batch, recall=0.8, seed=7)
    (first,) = read_back.samples
    places = [one.index for one in first.records]
    override(batch, places[0], "include", reviewer="Reviewer A")
    read(batch, places[1:111])
    looked = may_stop(batch)
    assert (looked.verdict, looked.samples[0].found, looked.found) == (StopVerdict.NOT_YET, 1, 41)
    # found outside the sample meanwhile: it counts as found, and the bound stays
    outside = next(place for place in range(60, 400) if place not in places)
    override(batch, outside, "include", reviewer="Reviewer A")
    assert (may_stop(batch).found, may_stop(batch).missed) == (42, looked.missed - 1)

    with pytest.raises(InvalidParameters, match="sample 1 is open, and was drawn with seed 7"):
        draw_stop_sample(batch, seed=8)
    closed = close_stop_sample(batch)
    assert (closed.sample, closed.missed) == (None, looked.missed - 1)  # what was read goes on counting
    with pytest.raises(InvalidRequest, match="no open sample"):
        close_stop_sample(batch)
    second = draw_stop_sample(batch, seed=7)
    assert second.sample is not None
    unread = [place for place in range(60, 400) if place not in (*places, outside)]
    assert (second.sample.number, second.sample.population) == (2, len(unread))
    assert [one.index for one in second.sample.records] == sample(unread, second.sample.drawn, seed=7)


def test_what_people_contradict_or_leave_open_is_unread(client: Client, batch: Batch) -> None:
    drawn = draw_stop_sample(batch, recall=0.8, seed=7).samples[0]
    places = [one.index for one in drawn.records]
    read(batch, places)
    assert may_stop(batch).verdict is StopVerdict.ENOUGH
    override(batch, places[5], "include", reviewer="Reviewer B")
    override(batch, 0, "exclude", reviewer="Reviewer B")  # read before the sample was drawn
    looked = may_stop(batch)
    assert (looked.conflicts, looked.samples[0].read, looked.found) == (2, 5, 39)
    assert looked.verdict is StopVerdict.NOT_YET
    with client.engine.connect() as connection:
        state = read_reading_state(connection, UUID(batch.id), "inclusion")
    drawn_and_read = [place for place in places if place != places[5]]
    assert list(state.included) == [*range(1, 60), *drawn_and_read]  # in the order in which people first decided
    for place, value in ((places[5], "exclude"), (0, "include")):
        override(batch, place, value, reviewer="Reviewer C", settles=True)
    assert may_stop(batch).verdict is StopVerdict.ENOUGH


def test_everything_read_is_enough_and_a_recall_that_nobody_can_reach_is_refused(client: Client) -> None:
    batch = written_batch(client, ROWS[:60])
    read(batch, range(60))
    done = may_stop(batch)
    assert (done.verdict, done.headline) == (StopVerdict.ENOUGH, "Enough: every record is read.")
    assert done.methods == "Reviewers read all 60 records and included 40."
    # twenty of the includes are read by two, and each sees half of the other's
    read(batch, range(20), "Reviewer B")
    decide(batch, [HumanDecision(place, "exclude", "Reviewer B") for place in range(20, 30)])
    decide(batch, [HumanDecision(place, "include", "Reviewer C", settles=True) for place in range(20, 30)])
    override(batch, 35, "include", reviewer="Reviewer C", settles=True)  # one has read it, the other settled it
    refused = may_stop(batch)
    assert refused.double_reading is not None
    assert (refused.double_reading.includes, refused.double_reading.missed_by_one) == (30, 10)
    assert (refused.verdict, refused.methods) == (StopVerdict.IMPOSSIBLE, None)
    assert refused.headline.startswith("Cannot be promised, because people overlook includes: of 30 includes")
    with pytest.raises(InvalidRequest, match="cannot be promised, because people overlook"):
        draw_stop_sample(batch)
    assert may_stop(batch, human_errors=False).verdict is StopVerdict.ENOUGH


def test_imported_decisions_give_no_estimate_however_the_file_is_sorted(client: Client, tmp_path: Path) -> None:
    batch, path = written_batch(client, ROWS), tmp_path / "export.csv"
    rows = [f"r{place},{'include' if place < 20 else 'exclude'}" for place in range(200)]  # sorted by decision
    path.write_text("\n".join(["id,decision", *rows]), "utf-8")
    assert import_decisions(batch, path, reviewer="Reviewer A").decisions == 200
    for place in range(200, 203):
        override(batch, place, "exclude", reviewer="Reviewer A")
    looked = may_stop(batch, recall=0.75)
    assert (looked.read, looked.estimate.p, looked.estimate.stops, looked.estimate.together) == (203, None, False, 200)
    assert (looked.expected.expected, looked.expected.low, looked.expected.high) == (None, 0, 100)


def test_decisions_changed_after_the_draw_make_a_sample_stale(batch: Batch) -> None:
    override(batch, 0, "exclude", reviewer="Reviewer A")
    override(batch, 0, "include", reviewer="Reviewer A")  # changed before the draw
    (drawn,) = draw_stop_sample(batch, recall=0.8, seed=7).samples
    read(batch, [record.index for record in drawn.records])
    read(batch, range(60), "Reviewer B")  # another person's decisions change none
    assert [sample.changed for sample in may_stop(batch).samples] == [0]
    for reviewer in ("Reviewer A", "Reviewer B"):
        decide(batch, [HumanDecision(place, "include", reviewer) for place in range(40, 60)])  # looser criteria
    override(batch, 41, "uncertain", reviewer="Reviewer A")
    looked = may_stop(batch)
    assert [sample.changed for sample in looked.samples] == [20]
    assert any("people changed their decisions on 20 records" in figure.meaning for figure in looked.figures)


@pytest.mark.parametrize(("reads", "counted"), [(range(40, 60), 0), (range(30), 30)])
def test_a_second_reader_who_reads_what_the_first_one_decided_alike_is_selected(
    batch: Batch, reads: range, counted: int
) -> None:
    decide(batch, [HumanDecision(place, "exclude" if place % 5 else "include", "Reviewer B") for place in reads])
    decide(batch, [HumanDecision(place, "include", "Reviewer C", settles=True) for place in reads])
    double = may_stop(batch).double_reading
    assert double is not None
    assert (double.selected, double.records, double.includes, double.counts) == (
        True,
        len(reads),
        counted,
        bool(counted),
    )


def test_where_there_is_nothing_to_promise_it_says_so(run: Run, client: Client, batch: Batch) -> None:
    running = written_batch(client, ROWS[:60], state="running")
    assert may_stop(running).unread == 60
    with pytest.raises(InvalidRequest, match="is running: a sample of unread records can be drawn"):
        draw_stop_sample(running)
    scoring = written_batch(client, [Ledgered(record(0), value=1.0)], operation=Score(criteria="x"))
    with pytest.raises(InvalidRequest, match="has the operation score, which includes and excludes nothing"):
        may_stop(scoring)
    for terms, complaint in (({"recall": 0.0}, "recall"), ({"recall": 1.1}, "recall"), ({"confidence": 1.0}, "conf")):
        with pytest.raises(InvalidParameters, match=f"^{complaint}"):
            draw_stop_sample(batch, **terms)  # type: ignore[arg-type]  # of both
        with pytest.raises(InvalidParameters, match=f"^{complaint}"):
            may_stop(batch, **terms)  # type: ignore[arg-type]  # of both
    for arguments in (["--close", "--draw"], ["--seed", "3"], ["-o", "none.csv"]):
        assert run("stop", batch.id, *arguments).code == 2
    assert may_stop(batch).samples == ()


def test_a_draw_that_is_killed_leaves_nothing_and_two_at_once_draw_one_sample(
    client: Client, batch: Batch, database_url: str
) -> None:
    with client.engine.connect() as connection:
        draw_sample(connection, UUID(batch.id), seed=1)
        connection.invalidate()  # as the server sees it: gone before its commit
    assert may_stop(batch).samples == ()
    waiting = (
        "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
        "WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted"
    )
    both = [Thread(target=draw_stop_sample, args=(batch,), kwargs={"seed": 1}) for _ in range(2)]
    with client.engine.begin() as writer, client.engine.connect() as other:
        one_at_a_time(writer, UUID(batch.id))  # somebody decides just now
        for thread in both:
            thread.start()
        wait_until(lambda: other.execute(text(waiting)).scalar_one() == 2, within=60, what="both draws to wait")
    for thread in both:
        thread.join()
    (drawn,) = may_stop(batch).samples
    with psycopg.connect(database_url.replace("+psycopg", "")) as connection:
        for change in ("records = '{1}'", "seed = 2", "drawn = 1", "number = 3"):
            with pytest.raises(psycopg.errors.CheckViolation, match="never changed"), connection.transaction():
                connection.execute(f"UPDATE stop_samples SET {change}".encode())
        with pytest.raises(psycopg.errors.CheckViolation, match="never changed"):
            connection.execute("DELETE FROM stop_samples")
    assert may_stop(batch).samples == (drawn,)
