"""The ledger as a worker sees it."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_worker.ledger.connection import connect


@pytest.fixture
async def engine(database_url: str) -> AsyncIterator[AsyncEngine]:
    engine = connect(database_url)
    yield engine
    await engine.dispose()
