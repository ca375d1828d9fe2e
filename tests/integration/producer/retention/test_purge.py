"""What a purge takes, what it leaves alone, and what nobody sees while it runs."""

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import Engine, func, select, text, update

from stage.kept import QUESTION, age, decide, finish, write_kept_review
from stage.screened import Ledgered, Place, write_batch, write_review
from tamis_producer.ledger import find_batch, find_review, read_reviews, read_views
from tamis_producer.retention.deletion import delete_slice, lock, mark
from tamis_producer.retention.purge import purge
from tamis_producer.retention.subjects import find_subjects, measure
from tamis_producer.runs.rounds import retry
from tamis_review.decisions import record_overrides
from tamis_schemas import IllegalTransition, InvalidRequest, UnknownBatch
from tamis_schemas.ledger import batches, metadata, reviews

from .conftest import AGE, left

ROWS = [Ledgered({"id": f"x{n}"}, value=True, confidence=0.5) for n in range(5)]
LONG_AGO = timedelta(days=AGE - 1)


def write_other(engine: Engine, *, label: str = "other", ended: bool = True, state: str = "completed") -> UUID:
    with engine.begin() as connection:
        batch_id = write_batch(connection, ROWS, operation=QUESTION, label=label, state=state)
        if ended:
            finish(connection, batch_id, len(ROWS))
    return batch_id


def found(engine: Engine, **wanted: object) -> list[UUID]:
    with engine.connect() as connection:
        return [one.id for one in find_subjects(connection, **wanted)]  # type: ignore[arg-type]


def test_nothing_of_a_purged_review_is_left_in_any_table(engine: Engine, review_id: UUID) -> None:
    with engine.connect() as connection:
        before = left(connection)
        assert all(before.values()), f"the test has no row in {[name for name, n in before.items() if not n]}"
        with_batch = {table.name for table in metadata.tables.values() if "batch_id" in table.c}
        assert with_batch <= set(before)
        subjects = find_subjects(connection, older_than=LONG_AGO)
        assert [(one.id, one.noun, one.label, one.items) for one in subjects] == [(review_id, "review", "kept.ris", 13)]
        assert measure(connection, subjects[0]) > 4_000
    told: list[int] = []
    assert [one.subject.id for one in purge(engine, subjects, progress=told.append)] == [review_id]
    assert sum(told) == 13
    with engine.connect() as connection:
        assert set(left(connection).values()) == {0}


def test_what_others_have_is_left_alone(engine: Engine, review_id: UUID) -> None:
    with engine.begin() as connection:
        other = write_kept_review(connection)
        before = {name: n // 2 for name, n in left(connection).items()}
    with engine.connect() as connection:
        list(purge(engine, find_subjects(connection, ids=[str(review_id)])))
        assert left(connection) == before
        assert [view.id for view in read_reviews(connection)] == [str(other)]


def test_age_and_label_choose_together_and_the_oldest_goes_first(engine: Engine, review_id: UUID) -> None:
    young, older = write_other(engine), write_other(engine)
    with engine.begin() as connection:
        age_one = update(batches).where(batches.c.id == older)
        days = func.make_interval(0, 0, 0, 200)
        connection.execute(age_one.values(finished_at=func.now() - days, created_at=func.now() - days))
        connection.execute(update(batches).where(batches.c.id != older).values(created_at=func.now() - days))
    assert found(engine, older_than=LONG_AGO) == [older, review_id]
    assert found(engine, older_than=timedelta(days=300)) == []
    assert found(engine, label="other") == [older, young]
    assert found(engine, label="other", older_than=LONG_AGO) == [older]
    assert found(engine, older_than=LONG_AGO, limit=1) == [older]
    assert found(engine, ids=[str(young)[:13], str(review_id)]) == [review_id, young]


def test_what_was_restored_is_as_old_as_its_return(engine: Engine, review_id: UUID) -> None:
    with engine.begin() as connection:
        connection.execute(update(batches).values(restored_at=func.now()))
    assert found(engine, older_than=LONG_AGO) == []


@pytest.mark.parametrize("state", ["pending", "running", "paused", "cancelled"])
def test_what_is_not_finished_stays(engine: Engine, state: str) -> None:
    batch_id = write_other(engine, state=state, ended=False)
    assert found(engine, label="other") == []
    with pytest.raises(IllegalTransition, match=f"tamis cancel {batch_id}"):
        found(engine, ids=[str(batch_id)])


def test_a_review_whose_next_stage_is_to_come_stays_unless_it_was_cancelled(engine: Engine) -> None:
    with engine.begin() as connection:
        review = write_review(connection, "half", QUESTION, QUESTION)
        stage = write_batch(connection, ROWS, operation=QUESTION, place=Place(review, 0), label="half: filter")
        finish(connection, stage, len(ROWS))
    assert found(engine, label="half") == []
    with pytest.raises(InvalidRequest, match=f"tamis purge {review}"):
        found(engine, ids=[str(stage)])
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE batches DISABLE TRIGGER legal_transitions"))
        connection.execute(update(batches).values(state="cancelled"))
    assert found(engine, label="half") == [review]


def test_a_purge_that_is_killed_shows_nobody_half_a_batch_and_the_next_one_ends_it(
    engine: Engine, review_id: UUID
) -> None:
    with engine.begin() as connection:
        batch_id = connection.execute(select(batches.c.id).where(batches.c.stage == 0)).scalar_one()
        (subject,) = find_subjects(connection, ids=[str(review_id)])
        assert lock(connection, subject) == subject
        mark(connection, subject)
    with engine.begin() as connection:  # and then it is killed
        assert delete_slice(connection, places=3) is not None
    with engine.begin() as connection:
        assert lock(connection, subject) is None  # it is going already
        assert read_reviews(connection) == read_views(connection) == []
        for find, given in ((find_review, review_id), (find_batch, batch_id)):
            with pytest.raises(UnknownBatch):
                find(connection, str(given))
        with pytest.raises(UnknownBatch):
            read_views(connection, batch_id=batch_id)
        with pytest.raises(UnknownBatch):
            read_reviews(connection, review_id=review_id)
        assert connection.execute(select(reviews.c.content_sha256)).scalar_one() == f"purged {review_id}"
        assert 0 < left(connection)["item_states"] < 13
    with pytest.raises(UnknownBatch), engine.begin() as connection:
        record_overrides.record(connection, batch_id, [record_overrides.HumanDecision(9, "include", "Reviewer A")])
    with pytest.raises(UnknownBatch), engine.begin() as connection:
        retry(connection, batch_id)
    assert list(purge(engine, [])) == []
    with engine.connect() as connection:
        assert set(left(connection).values()) == {0}


def test_who_began_a_new_round_meanwhile_is_not_purged(engine: Engine) -> None:
    batch_id = write_other(engine)
    with engine.connect() as connection:
        subjects = find_subjects(connection, ids=[str(batch_id)])
    with engine.begin() as connection:
        connection.execute(update(batches).values(state="running", round=2, finished_at=None))
    assert list(purge(engine, subjects)) == []
    with engine.connect() as connection:
        assert left(connection)["item_states"] == len(ROWS)


def test_what_is_marked_is_never_begun_anew(engine: Engine) -> None:
    write_other(engine)
    with engine.begin() as connection:
        connection.execute(update(batches).values(purging_at=func.now()))
    for change in ({"state": "running"}, {"purging_at": None}):
        with engine.connect() as connection, pytest.raises(Exception, match="is being purged"):
            connection.execute(update(batches).values(**change))


def test_a_slice_holds_its_locks_for_its_own_rows_only(engine: Engine) -> None:
    batch_id = write_other(engine)
    with engine.begin() as connection:
        decide(connection, batch_id, {0: [False]})
        connection.execute(update(batches).values(purging_at=func.now()))
    sizes = []
    for _ in range(4):
        with engine.begin() as connection:
            sizes.append(delete_slice(connection, places=2))
    assert sizes == [2, 2, 1, 0]
    with engine.begin() as connection:
        assert delete_slice(connection) is None


def test_people_s_decisions_go_with_their_batch_alone(engine: Engine, review_id: UUID) -> None:
    with engine.connect() as connection, pytest.raises(Exception, match="never changed"):
        connection.execute(text("DELETE FROM overrides"))
    with engine.begin() as connection:  # the owner's own hand, without a purge: nothing stays behind either
        connection.execute(text("DELETE FROM reviews"))
        assert set(left(connection).values()) == {0}


def test_items_that_are_there_though_their_batch_says_less_go_too(engine: Engine) -> None:
    batch_id = write_other(engine)
    with engine.begin() as connection:
        connection.execute(update(batches).values(n_items=1))
        age(connection, 1)
        subjects = find_subjects(connection, ids=[str(batch_id)])
    list(purge(engine, subjects))
    with engine.connect() as connection:
        assert set(left(connection).values()) == {0}
