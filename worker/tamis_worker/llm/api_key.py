"""The key that calls are made with: fixed, read from a file that others rewrite, or printed by a command.

A key that expires is renewed by one at a time, for all the calls of the process: shortly before it is over, and where
the endpoint refuses it. While no other can be had, the one that is there is used: the endpoint says whether it is good.

A command that prints a key is run without a shell and within a time. No message says anything that it printed.
"""

import asyncio
import base64
import binascii
import json
import logging
import math
import os
import re
import selectors
import shlex
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import Any, Protocol

from tamis_producer.config.setting_files import LARGEST, text_of
from tamis_schemas import ConfigurationError

NO_KEY = "none"  # sent to endpoints that ask for none: the package insists on a key
LOOK_EVERY = 1.0  # s between two looks at a file
TTL = 3000.0  # s; tokens of Entra ID and Google live for an hour
EARLY = 30.0  # s before its end that a key is renewed; of a short life a tenth
SHORTEST_LIFE = 1.0  # s; a command whose keys are over at once is not run for every call
REST = 5.0  # s in which a renewal that brought nothing new is not tried again

log = logging.getLogger(__name__)

KEYS = ("accessToken", "access_token", "token", "key")  # of az, of OAuth and gcloud's helper, of others
INSTANTS = ("expires_on", "expires_at", "token_expiry", "expiry")  # seconds since 1970, or ISO 8601 with its zone
_SENDABLE = re.compile(r"[!-~]+")  # in a header; neither a blank nor a line end

PRINT_WITHIN = 30.0  # s that a command may take


class NoKey(Exception):
    """There is no key to make a call with; the message says why, without anything that was printed."""


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


def words_of(command: str) -> list[str]:
    """The words of a command line, as a shell would split it. Raises `ConfigurationError` where there are none."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"TAMIS_LLM_API_KEY_COMMAND is no command line: {error}") from None
    if not words:
        raise ConfigurationError("TAMIS_LLM_API_KEY_COMMAND is empty")
    return words


async def printed(command: list[str], *, within: float = PRINT_WITHIN) -> str:
    """The output of a command; its standard error is not looked at, for nobody knows what stands there.

    Raises:
        NoKey: it cannot be run, fails, takes longer than `within` seconds, or prints more than any key has.
    """
    try:
        # Not the loop's own subprocess: uvloop forks, and what libraries do after a fork ends the child in a worker.
        process = await asyncio.to_thread(
            Popen, command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise NoKey(f"TAMIS_LLM_API_KEY_COMMAND cannot be run: {reason(error)}") from None
    with process:
        try:
            output = await asyncio.to_thread(_output, process, within)
        except BaseException:
            with suppress(ProcessLookupError):  # and whatever it has started: a shell's child goes on without it
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        raise NoKey(f"TAMIS_LLM_API_KEY_COMMAND ended with exit status {process.returncode}")
    return output.decode("utf-8", "replace")


def _output(process: "Popen[bytes]", within: float) -> bytes:
    """All that a process prints until it has ended."""
    assert process.stdout is not None  # noqa: S101 - it was asked for
    ends = time.monotonic() + within
    output = b""
    with selectors.DefaultSelector() as arriving:
        arriving.register(process.stdout, selectors.EVENT_READ)
        while arriving.select(max(0.0, ends - time.monotonic())):
            piece = os.read(process.stdout.fileno(), LARGEST)
            output += piece
            if len(output) > LARGEST:
                raise NoKey(f"TAMIS_LLM_API_KEY_COMMAND printed more than {LARGEST:,} bytes")
            if not piece:
                with suppress(TimeoutExpired):
                    process.wait(max(0.0, ends - time.monotonic()))
                    return output
                break
    raise NoKey(f"TAMIS_LLM_API_KEY_COMMAND took longer than {within:g} s")


def reason(error: Exception) -> str:
    """The system's words for an error, or its type: what else it says may be what was printed."""
    return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__


@dataclass(frozen=True, slots=True)
class PrintedKey:
    """A key, and what stands beside it of its end."""

    text: str = field(repr=False)
    expires_at: float | None = None  # seconds since 1970
    expires_in: float | None = None  # seconds from now


def read_key(text: str) -> PrintedKey | None:
    """The key in a text: its only line, or the token in a JSON object; None where there is none that could be sent.

    JSON as `az account get-access-token` and `gcloud config config-helper --format=json` print it, and as OAuth
    answers. What it says of its expiry is read where it names a zone or counts seconds.
    """
    printed: dict[str, Any] = {}
    if text.lstrip()[:1] == "{":
        try:
            printed = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if isinstance(printed.get("credential"), dict):
            printed = printed["credential"]
        text = next((value for name in KEYS if isinstance(value := printed.get(name), str)), "")
    key = text.strip()
    if not is_sendable(key):
        return None
    instants = (_instant(printed.get(name)) for name in INSTANTS)
    expires_at = next((instant for instant in instants if instant is not None), expiry_of(key))
    return PrintedKey(key, expires_at, _seconds(printed.get("expires_in")))


def is_sendable(key: str) -> bool:
    """True where a header can hold a key: one word of printable ASCII."""
    return _SENDABLE.fullmatch(key) is not None


def expiry_of(key: str) -> float | None:
    """When a key expires by its own word, in seconds since 1970: the `exp` of a JSON Web Token; None: it says nothing.

    The signature is not looked at: this is for what to tell people, and for when to ask for another key.
    """
    parts = key.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError, binascii.Error):
        return None
    return _seconds(claims.get("exp")) if isinstance(claims, Mapping) else None


def _instant(value: object) -> float | None:
    if isinstance(value, str) and not value.isdecimal():
        try:
            instant = datetime.fromisoformat(value)
        except ValueError:
            return None
        return instant.timestamp() if instant.tzinfo is not None else None  # a local time of nobody knows where
    return _seconds(value)


def _seconds(value: object) -> float | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 15:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        return None
    return float(value)
