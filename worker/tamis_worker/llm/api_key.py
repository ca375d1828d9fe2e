"""The key that calls are made with: fixed, read from a file that others rewrite, or printed by a command.

A key that expires is renewed by one at a time, for all the calls of the process: shortly before it is over, and where
the endpoint refuses it. While no other can be had, the one that is there is used: the endpoint says whether it is good.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tamis_producer.config.setting_files import text_of
from tamis_schemas import ConfigurationError

from .key_command import NoKey, printed, reason, words_of
from .printed_key import is_sendable, read_key

NO_KEY = "none"  # sent to endpoints that ask for none: the package insists on a key
LOOK_EVERY = 1.0  # s between two looks at a file
TTL = 3000.0  # s; tokens of Entra ID and Google live for an hour
EARLY = 30.0  # s before its end that a key is renewed; of a short life a tenth
SHORTEST_LIFE = 1.0  # s; a command whose keys are over at once is not run for every call
REST = 5.0  # s in which a renewal that brought nothing new is not tried again

log = logging.getLogger(__name__)


class KeySource(Protocol):
    """Where keys come from."""

    async def current(self) -> str:
        """The key to make a call with. Raises `NoKey`."""

    async def instead_of(self, refused: str) -> str | None:
        """Another key, where the endpoint refuses this one; None: there is none."""


class FixedKey:
    """A key that stays as it is."""

    def __init__(self, key: str) -> None:
        """Raises `ConfigurationError` where it cannot be sent."""
        self._key = _checked(key)

    async def current(self) -> str:
        """The key."""
        return self._key

    async def instead_of(self, refused: str) -> str | None:
        """None."""
        return None


class RenewedKey:
    """A key that is obtained anew: what those from files and from commands have in common."""

    def __init__(
        self, key: str, *, rest: float, learn: Callable[[str], object] | None, clock: Callable[[], float]
    ) -> None:
        """`key`: the first one; empty where there is none yet. `rest`: see `REST`. `learn`: see `key_source`."""
        self._key = key
        self._rest = rest
        self._learn = learn
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._due_at = self._over_at = math.inf  # by the clock; a due key is renewed while calls go on with it
        self._rests_until = -math.inf  # by the clock
        self._trouble: str | None = None  # why the last renewal brought no key

    async def current(self) -> str:
        """The key to make a call with. Raises `NoKey`."""
        if not self._key or self._clock() >= self._over_at:
            await self._renewed()
        elif self._clock() >= self._due_at:
            self._begin()
        if not self._key:
            raise NoKey(self._trouble or "there is no API key")
        return self._key

    async def instead_of(self, refused: str) -> str | None:
        """Another key than the one refused: the one that others have brought meanwhile, or a new one."""
        if self._key == refused:
            await self._renewed()
        return self._key if self._key != refused else None

    async def _obtain(self) -> str:
        """A key, the same as before or another. Raises `NoKey`."""
        raise NotImplementedError

    def _begin(self) -> "asyncio.Task[None] | None":
        """The renewal that runs, or one that begins; None: it is too soon after one that brought nothing new."""
        if self._task is None and self._clock() >= self._rests_until:
            self._task = asyncio.create_task(self._renew(), name="renewal of the API key")
        return self._task

    async def _renewed(self) -> None:
        task = self._begin()
        if task is not None:
            await asyncio.wait([task])  # a call that is cancelled meanwhile takes the renewal from nobody

    async def _renew(self) -> None:
        try:
            key = await self._obtain()
        except NoKey as error:
            if self._trouble != str(error):  # once, not every few seconds
                log.warning("the API key is not renewed: %s", error)
            self._trouble = str(error)
            self._rests_until = self._clock() + self._rest
        except Exception as error:  # calls go on with the key that is there
            # Its type alone: what it says, and a traceback shows, may be what was printed.
            log.error("the API key is not renewed: %s", type(error).__name__)  # noqa: TRY400
            self._rests_until = self._clock() + self._rest
        else:
            self._trouble = None
            if key == self._key:
                self._rests_until = self._clock() + self._rest
                return
            if self._learn is not None:
                self._learn(key)
            self._key = key
            log.info("there is a new API key")
        finally:
            self._task = None


class FileKey(RenewedKey):
    """The key that a file holds, read again every second while calls are made, and where it is refused."""

    def __init__(
        self,
        key: str,
        path: Path,
        *,
        learn: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`key`: what the file held at the start; where that is nothing, the endpoint may ask for no key."""
        super().__init__(_checked(key or NO_KEY), rest=0.0, learn=learn, clock=clock)
        self._path = path
        self._over_at = clock() + LOOK_EVERY

    async def _obtain(self) -> str:
        self._over_at = self._clock() + LOOK_EVERY
        try:
            text = await asyncio.to_thread(text_of, self._path)
        except (OSError, UnicodeError) as error:
            raise NoKey(f"the file of TAMIS_LLM_API_KEY_FILE cannot be read: {reason(error)}") from None
        if not is_sendable(text):  # empty where it is just being written
            raise NoKey("the file of TAMIS_LLM_API_KEY_FILE holds no key")
        return text


class CommandKey(RenewedKey):
    """The key that a command prints, for as long as it lives."""

    def __init__(
        self,
        command: str,
        *,
        ttl: float = TTL,
        learn: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`command`: run without a shell. `ttl`: seconds that a key lives at most."""
        super().__init__("", rest=REST, learn=learn, clock=clock)
        self._command = words_of(command)
        self._ttl = ttl
        self._wall = wall

    async def _obtain(self) -> str:
        key = read_key(await printed(self._command))
        if key is None:
            raise NoKey("TAMIS_LLM_API_KEY_COMMAND printed no key")
        lives = [self._ttl] if key.expires_in is None else [self._ttl, key.expires_in]
        if key.expires_at is not None:
            lives.append(key.expires_at - self._wall())
        life = max(SHORTEST_LIFE, min(lives))
        self._over_at = self._clock() + life
        self._due_at = self._over_at - min(EARLY, life / 10)
        return key.text


def key_source(
    key: str, *, file: Path | None = None, command: str | None = None, ttl: float = TTL, learn: Callable[[str], object]
) -> KeySource:
    """Where a worker's keys come from, by its settings.

    Args:
        key: as it was at the start; empty: none.
        file: that `key` was read from.
        command: that prints keys, where there is no `key`.
        ttl: see `CommandKey`.
        learn: is told of each new key before it is used, so that no log says it.

    Raises:
        ConfigurationError: the key cannot be sent, or the command is none.
    """
    if file is not None:
        return FileKey(key, file, learn=learn)
    if not key and command is not None:
        return CommandKey(command, ttl=ttl, learn=learn)
    return FixedKey(key or NO_KEY)


def _checked(key: str) -> str:
    if not is_sendable(key):
        raise ConfigurationError("TAMIS_LLM_API_KEY holds a blank, a line end or a letter that no header can hold")
    return key
