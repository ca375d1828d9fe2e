"""Statements that one engine has compiled are not compiled again by the next, and those of another SQL are."""

from sqlalchemy import Engine, create_engine, literal, select
from sqlalchemy.engine.interfaces import CacheStats

from tamis_producer.ledger import connect


def compiled_before(engine: Engine, text: str) -> CacheStats:
    with engine.connect() as connection:
        result = connection.execute(select(literal(text).label("of_shared_statements")))
        assert result.scalar_one() == text
        return result.context.cache_hit


def test_an_engine_uses_what_another_has_compiled(database_url: str) -> None:
    engines = [connect(database_url), connect(database_url), create_engine("sqlite://")]
    assert [compiled_before(engine, f"text {n}") for n, engine in enumerate(engines)] == [
        CacheStats.CACHE_MISS,
        CacheStats.CACHE_HIT,
        CacheStats.CACHE_MISS,
    ]
    for engine in engines:
        engine.dispose()
