"""A ledger with a finished review that has rows everywhere."""

from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, select

from stage.kept import age, write_kept_review
from tamis_producer.retention.holdings import holdings
from tamis_schemas.ledger import batches

AGE = 100  # days


@pytest.fixture
def review_id(engine: Engine) -> UUID:
    with engine.begin() as connection:
        review_id = write_kept_review(connection)
        age(connection, AGE)
    return review_id


def left(connection: Connection) -> dict[str, int]:
    """How many rows each table has that may hold some of a batch, whoever they belong to."""
    batch_ids = connection.execute(select(batches.c.id)).scalars().all()
    every = holdings(batch_ids, review_id=UUID(int=0))
    return {one.table.name: len(connection.execute(select(one.table)).all()) for one in every}
