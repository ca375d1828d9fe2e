"""Cached answers: the endpoints' answers to questions, each stored under the question's key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from .connection import storable, transaction

LARGEST_COUNT = 2**31 - 1  # the table's largest count


@dataclass(frozen=True)
class KeptAnswer:
    """A valid answer, and the tokens of the call that gave it."""

    content: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    probability: float | None = None  # of inclusion, from the tokens of this answer; None: unknown


# Arrays, not rows: the statement's text is independent of their number, so it is compiled and prepared once.
_FIND = text("""
SELECT key, content, model, prompt_tokens, completion_tokens, probability FROM llm_cache
WHERE key = ANY(CAST(:keys AS text[]))
  AND (CAST(:days AS int) IS NULL OR created_at > now() - make_interval(days => CAST(:days AS int)))
""")
# The commit does not wait for the disk. If Postgres crashes, the worker still holds the answer, and writes the outcome
# later. So a call is repeated only if Postgres and then this worker die before the outcome is written.
_KEEP = text("""
INSERT INTO llm_cache (key, content, model, prompt_tokens, completion_tokens, probability)
SELECT kept.* FROM (SELECT set_config('synchronous_commit', 'off', true)) AS not_flushed,
    unnest(CAST(:keys AS text[]), CAST(:contents AS text[]), CAST(:models AS text[]), CAST(:prompt_tokens AS int[]),
           CAST(:completion_tokens AS int[]), CAST(:probabilities AS float8[])) AS kept
ON CONFLICT (key) DO UPDATE SET
    content = EXCLUDED.content, model = EXCLUDED.model, prompt_tokens = EXCLUDED.prompt_tokens,
    completion_tokens = EXCLUDED.completion_tokens, probability = EXCLUDED.probability, created_at = now()
""")


async def find_answers(engine: AsyncEngine, keys: Sequence[str], days: int | None = None) -> Mapping[str, KeptAnswer]:
    """Return the cached answers with these keys, by key. If `days` is set, omit answers that are older.

    Raise `LedgerUnavailable` if Postgres does not answer.
    """
    async with transaction(engine) as connection:
        rows = (await connection.execute(_FIND, {"keys": list(keys), "days": days})).all()
    return {
        row.key: KeptAnswer(row.content, row.model, row.prompt_tokens, row.completion_tokens, row.probability)
        for row in rows
    }


async def keep_answers(engine: AsyncEngine, answers: Mapping[str, KeptAnswer]) -> None:
    """Store answers by key. An answer replaces an older answer with the same key.

    Raise `LedgerUnavailable` if Postgres does not answer.
    """
    ordered = sorted(answers.items())  # one order for all workers, so that no two wait for each other
    columns = {
        "keys": [key for key, _ in ordered],
        "contents": [storable(answer.content) for _, answer in ordered],
        "models": [storable(answer.model) for _, answer in ordered],
        "prompt_tokens": [min(answer.prompt_tokens, LARGEST_COUNT) for _, answer in ordered],
        "completion_tokens": [min(answer.completion_tokens, LARGEST_COUNT) for _, answer in ordered],
        "probabilities": [answer.probability for _, answer in ordered],
    }
    async with transaction(engine) as connection:
        await connection.execute(_KEEP, columns)
