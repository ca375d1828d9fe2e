"""Cached answers on a real Postgres."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_worker.ledger import answers
from tamis_worker.ledger.answers import KeptAnswer, find_answers, keep_answers


async def test_a_later_answer_takes_the_place_of_an_earlier_one(engine: AsyncEngine) -> None:
    first, second = KeptAnswer("{}", "m", 10, 2), KeptAnswer('{"value": true}', "m", 12, 3, probability=0.25)
    await keep_answers(engine, {"a": first, "b": first})
    await keep_answers(engine, {"a": second})
    assert await find_answers(engine, ["a", "b", "c"]) == {"a": second, "b": first}


async def test_the_commit_of_a_cached_answer_waits_for_no_disk_and_other_commits_do(engine: AsyncEngine) -> None:
    columns = {"keys": ["a"], "contents": ["{}"], "models": ["m"], "prompt_tokens": [1], "completion_tokens": [1]}
    flushed = text("SHOW synchronous_commit")
    async with engine.begin() as connection:
        await connection.execute(answers._KEEP, columns | {"probabilities": [None]})
        assert (await connection.execute(flushed)).scalar_one() == "off"
    async with engine.begin() as connection:
        assert (await connection.execute(flushed)).scalar_one() == "on"
