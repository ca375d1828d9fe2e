"""Kept answers: what the endpoint said to a question, by the question's key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas.ledger import llm_cache

from .connection import transaction
from .storable import storable


@dataclass(frozen=True)
class KeptAnswer:
    """A valid answer, and what it cost the first time."""

    content: str
    model: str
    prompt_tokens: int
    completion_tokens: int


async def find_answers(engine: AsyncEngine, keys: Sequence[str]) -> Mapping[str, KeptAnswer]:
    """The answers kept under these keys. Raises `LedgerUnavailable`."""
    c = llm_cache.c
    statement = select(c.key, c.content, c.model, c.prompt_tokens, c.completion_tokens).where(c.key.in_(keys))
    async with transaction(engine) as connection:
        rows = (await connection.execute(statement)).all()
    return {row.key: KeptAnswer(row.content, row.model, row.prompt_tokens, row.completion_tokens) for row in rows}


async def keep_answers(engine: AsyncEngine, answers: Mapping[str, KeptAnswer]) -> None:
    """Keep answers under their keys; where a key has one already, that one stays. Raises `LedgerUnavailable`."""
    rows = [
        {
            "key": key,
            "content": storable(answer.content),
            "model": storable(answer.model),
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens,
        }
        for key, answer in sorted(answers.items())  # one order for all workers: no two wait for each other
    ]
    async with transaction(engine) as connection:
        await connection.execute(insert(llm_cache).values(rows).on_conflict_do_nothing())
