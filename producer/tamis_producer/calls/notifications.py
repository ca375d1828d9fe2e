"""Notifications of Postgres: that something of a batch has ended, told with the commit instead of looked for.

Nothing depends on them: whoever hears nothing looks, only later. Behind a pooler that hands connections on with each
transaction, nothing is ever heard.
"""

import asyncio
import logging
from collections.abc import Callable
from secrets import token_hex
from uuid import UUID

import psycopg
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from tamis_schemas.batches import wire

from ..ledger import connected

CHANNELS = (wire.BATCHES_CHANNEL, wire.CALLS_CHANNEL)
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # s between two tries to connect

log = logging.getLogger(__name__)


class Notifications:
    """One connection that listens, on one event loop; `told` is called with the channel and the batch's id."""

    def __init__(self, engine: AsyncEngine, on_event: Callable[[str, UUID], None]) -> None:
        """`engine` commits each statement by itself, and gives two connections at once."""
        self._engine = engine
        self._told = on_event
        self.heard = False  # notifications arrive: one of our own did, over the connection that listens now

    async def listen(self) -> None:
        """Listen until cancelled, over a new connection whenever one is lost."""
        pause = FIRST_PAUSE
        while True:
            try:
                await self._listen()
            except (SQLAlchemyError, psycopg.Error, OSError) as error:
                log.debug("nothing is heard of batches: %s", type(error).__name__)
            if self.heard:
                pause = FIRST_PAUSE
            self.heard = False
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, 2 * pause)

    async def _listen(self) -> None:
        own = token_hex(16)
        async with connected(self._engine) as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            assert isinstance(driver, psycopg.AsyncConnection)  # noqa: S101 - the ledger's driver
            try:
                for channel in CHANNELS:
                    await driver.execute(f"LISTEN {channel}")
                # Over another connection: a pooler may well bring back what the same one said.
                async with connected(self._engine) as other:
                    await other.execute(select(func.pg_notify(wire.BATCHES_CHANNEL, own)))
                async for notification in driver.notifies():
                    if notification.payload == own:
                        self.heard = True
                    else:
                        self._tell(notification)
            finally:
                await connection.invalidate()  # else the pool would hand on a connection that listens

    def _tell(self, notification: psycopg.Notify) -> None:
        try:
            batch_id = UUID(notification.payload)
        except ValueError:
            return  # another's token, or a foreign word: anybody may notify
        self._told(notification.channel, batch_id)
