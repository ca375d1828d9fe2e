"""`tamis purge`: what an operator types, and what they are told."""

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Engine, func, insert, select

from stage import Finished
from stage.restored import restore
from tamis_schemas.ledger import llm_cache, reviews

from .conftest import left

Run = Callable[..., Finished]


def test_an_operator_looks_archives_purges_and_restores(
    run: Run, engine: Engine, database_url: str, review_id: UUID, tmp_path: Path
) -> None:
    with engine.connect() as connection:
        before = left(connection)
    looked = run("purge", "--older-than", "90d", "--dry-run")
    assert looked.code == 0, looked.err
    assert "2 batches with 13 items and 0.0 MB of rows would be deleted" in looked.out
    assert str(review_id)[:8] in looked.out
    plan = json.loads(run("purge", "--older-than", "14w", "--dry-run", "--json").out)
    assert (plan["batches"], plan["items"], plan["dry_run"]) == (2, 13, True)
    assert plan["bytes"] == plan["subjects"][0]["bytes"] > 4_000
    refused = run("purge", "--older-than", "90d")
    assert (refused.code, "add --yes" in refused.err) == (2, True)
    with engine.connect() as connection:
        assert left(connection) == before
    done = run("purge", "--older-than", "90d", "--yes", "--archive", str(tmp_path / "old"), "--json")
    told = json.loads(done.out)
    assert (told["batches"], told["items"], len(told["archives"])) == (2, 13, 1)
    assert told["archives"] == [str(tmp_path / "old" / f"review-{review_id}")]
    assert "nothing to delete" in run("purge", "--older-than", "90d", "--yes").out
    restore(database_url, Path(told["archives"][0]))
    with engine.connect() as connection:
        assert left(connection) == before
    done = run("purge", str(review_id)[:8], "--yes", "--give-back", "--archive", "old")
    assert (
        "purged 1 review with 13 items, archived in old; to restore one, run restore.sql in its folder with psql"
        in done.out
    )
    assert "the tables use" in done.out
    with engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(reviews)).scalar_one() == 0


def test_answers_go_by_their_age_alone(run: Run, engine: Engine) -> None:
    with engine.begin() as connection:
        for days in (1, 20, 40):
            connection.execute(
                insert(llm_cache).values(
                    key=str(days),
                    content="{}",
                    model="m",
                    prompt_tokens=1,
                    completion_tokens=1,
                    created_at=func.now() - func.make_interval(0, 0, 0, days),
                )
            )
    assert "deleted 2 answers of the cache" in run("purge", "--answers-older-than", "10d", "--yes").out
    with engine.connect() as connection:
        assert connection.execute(select(llm_cache.c.key)).scalars().all() == ["1"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "give ids, or --older-than, --label or both"),
        (["3f2a91c0", "--label", "x"], "give ids, or --older-than, --label or both"),
        (["--older-than", "soon"], "'soon' is not an age"),
        (["3f2a91c0"], "there is no batch or review '3f2a91c0'"),
    ],
)
def test_what_is_not_said_clearly_deletes_nothing(run: Run, arguments: list[str], complaint: str) -> None:
    done = run("purge", *arguments, "--yes")
    assert done.code == 2
    assert complaint in done.err
