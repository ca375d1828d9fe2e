"""The API key of calls: fixed, read from a file that another program rewrites, or printed by a command.

One task renews an expiring key for all calls of the process: shortly before the key expires, and after the endpoint
has refused the key. If there is no new key, calls use the old key, and the endpoint accepts or refuses it.

A command that prints a key runs without a shell and within a time limit. No message contains its output.
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

NO_KEY = "none"  # for endpoints without keys: the package requires one
LOOK_EVERY = 1.0  # s between two reads of a file
TTL = 3000.0  # s; tokens of Entra ID and Google live for one hour
EARLY = 30.0  # s before its end that a key is renewed; at most a tenth of its life
SHORTEST_LIFE = 1.0  # s; a command whose keys expire at once does not run for every call
REST = 5.0  # s without a further try after a renewal without a new key

log = logging.getLogger(__name__)

KEYS = ("accessToken", "access_token", "token", "key")  # of az, of OAuth and gcloud's helper, of others
INSTANTS = ("expires_on", "expires_at", "token_expiry", "expiry")  # seconds since 1970, or ISO 8601 with its zone
_SENDABLE = re.compile(r"[!-~]+")  # in a header: no blank, no line end

PRINT_WITHIN = 30.0  # s that a command may run


class NoKey(Exception):
    """The error of a call that has no key. The message gives the reason, without the output of any command."""


class KeySource(Protocol):
    """A source of API keys for calls."""

    async def current(self) -> str:
        """Return the key for a call. Raise `NoKey` if there is no key."""

    async def instead_of(self, refused: str) -> str | None:
        """Return another key after the endpoint refused the key `refused`; None if there is no other key."""


class FixedKey:
    """A key that never changes."""

    def __init__(self, key: str) -> None:
        """Store the key. Raise `ConfigurationError` if the key cannot be sent in a header."""
        self._key = _checked(key)

    async def current(self) -> str:
        """Return the key."""
        return self._key

    async def instead_of(self, refused: str) -> str | None:
        """Return None: there is no other key."""
        return None


class RenewedKey:
    """The base class of the two keys that are renewed: `FileKey` and `CommandKey`."""

    def __init__(
        self, key: str, *, rest: float, learn: Callable[[str], object] | None, clock: Callable[[], float]
    ) -> None:
        """Begin with `key`, which is empty if there is no key yet.

        `rest`: pause in seconds after a renewal that gave no new key. `learn` receives each new key before its first
        use. `clock` returns the time in seconds.
        """
        self._key = key
        self._rest = rest
        self._learn = learn
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._due_at = self._over_at = math.inf  # by the clock; calls use a due key during its renewal
        self._rests_until = -math.inf  # by the clock
        self._trouble: str | None = None  # reason why the last renewal gave no key

    async def current(self) -> str:
        """Return the key for a call, renewed if it has expired. Raise `NoKey` if there is no key."""
        if not self._key or self._clock() >= self._over_at:
            await self._renewed()
        elif self._clock() >= self._due_at:
            self._begin()
        if not self._key:
            raise NoKey(self._trouble or "there is no API key")
        return self._key

    async def instead_of(self, refused: str) -> str | None:
        """Return a key other than the refused key; None if there is none. Renew the key first if it was refused."""
        if self._key == refused:
            await self._renewed()
        return self._key if self._key != refused else None

    async def _obtain(self) -> str:
        """Return a key from the source, new or unchanged. Raise `NoKey` if the source gives no key."""
        raise NotImplementedError

    def _begin(self) -> "asyncio.Task[None] | None":
        """Return the running renewal, started if necessary; None during the pause after a renewal without a new key."""
        if self._task is None and self._clock() >= self._rests_until:
            self._task = asyncio.create_task(self._renew(), name="renewal of the API key")
        return self._task

    async def _renewed(self) -> None:
        task = self._begin()
        if task is not None:
            await asyncio.wait([task])  # cancelling one call must not cancel the renewal of all

    async def _renew(self) -> None:
        try:
            key = await self._obtain()
        except NoKey as error:
            if self._trouble != str(error):  # once, not every few seconds
                log.warning("the API key was not renewed: %s", error)
            self._trouble = str(error)
            self._rests_until = self._clock() + self._rest
        except Exception as error:  # calls continue with the old key
            # Its type only: its message or traceback may contain the command's output.
            log.error("the API key was not renewed: %s", type(error).__name__)  # noqa: TRY400
            self._rests_until = self._clock() + self._rest
        else:
            self._trouble = None
            if key == self._key:
                self._rests_until = self._clock() + self._rest
                return
            if self._learn is not None:
                self._learn(key)
            self._key = key
            log.info("a new API key is in use")
        finally:
            self._task = None


class FileKey(RenewedKey):
    """The key in a file. Calls read the file every `LOOK_EVERY` seconds, and after the endpoint refused the key."""

    def __init__(
        self,
        key: str,
        path: Path,
        *,
        learn: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with `key`, the file's content at the start. The key may be empty: some endpoints need no key."""
        super().__init__(_checked(key or NO_KEY), rest=0.0, learn=learn, clock=clock)
        self._path = path
        self._over_at = clock() + LOOK_EVERY

    async def _obtain(self) -> str:
        self._over_at = self._clock() + LOOK_EVERY
        try:
            text = await asyncio.to_thread(text_of, self._path)
        except (OSError, UnicodeError) as error:
            raise NoKey(f"the file of TAMIS_LLM_API_KEY_FILE cannot be read: {reason(error)}") from None
        if not is_sendable(text):  # empty during a write
            raise NoKey("the file of TAMIS_LLM_API_KEY_FILE contains no key")
        return text


class CommandKey(RenewedKey):
    """A key that a command prints. When the key is about to expire, the command runs again."""

    def __init__(
        self,
        command: str,
        *,
        ttl: float = TTL,
        learn: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Prepare to run `command`, without a shell. A printed key is used for at most `ttl` seconds."""
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
    """Return the source of keys that a worker's settings describe: a file, a command, or a fixed key.

    Args:
        key: the key at the start; empty: none.
        file: the file that `key` was read from.
        command: the command that prints keys; used only if there is no file, and `key` is empty.
        ttl: longest time that a printed key is used, in seconds.
        learn: receives each new key before its first use, so that no log shows it.

    Raises:
        ConfigurationError: the key cannot be sent, or the command is invalid.
    """
    if file is not None:
        return FileKey(key, file, learn=learn)
    if not key and command is not None:
        return CommandKey(command, ttl=ttl, learn=learn)
    return FixedKey(key or NO_KEY)


def _checked(key: str) -> str:
    if not is_sendable(key):
        raise ConfigurationError("TAMIS_LLM_API_KEY contains a blank, line end or character that no header can hold")
    return key


def words_of(command: str) -> list[str]:
    """Return the words of a command line, split as by a shell. Raise `ConfigurationError` if this is impossible."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"TAMIS_LLM_API_KEY_COMMAND is not a command line: {error}") from None
    if not words:
        raise ConfigurationError("TAMIS_LLM_API_KEY_COMMAND is empty")
    return words


async def printed(command: list[str], *, within: float = PRINT_WITHIN) -> str:
    """Return the output of a command. The command's standard error is ignored, because its content is unknown.

    Raises:
        NoKey: the command cannot run, fails, takes longer than `within` seconds, or prints more characters than a key
            can have.
    """
    try:
        # Not the loop's own subprocess: uvloop forks, and libraries' hooks after a fork end the child in a worker.
        process = await asyncio.to_thread(
            Popen, command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, start_new_session=True
        )
    except (OSError, ValueError) as error:
        raise NoKey(f"TAMIS_LLM_API_KEY_COMMAND cannot be run: {reason(error)}") from None
    with process:
        try:
            output = await asyncio.to_thread(_output, process, within)
        except BaseException:
            with suppress(ProcessLookupError):  # with its children: a shell's child would continue
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        raise NoKey(f"TAMIS_LLM_API_KEY_COMMAND ended with exit status {process.returncode}")
    return output.decode("utf-8", "replace")


def _output(process: "Popen[bytes]", within: float) -> bytes:
    assert process.stdout is not None  # noqa: S101 - Popen got PIPE
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
    """Return the operating system's text for an error, or the error's type if there is no such text.

    The error's message is not used, because it may contain the command's output.
    """
    return error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__


@dataclass(frozen=True, slots=True)
class PrintedKey:
    """A key that a command printed, with its expiry if known."""

    text: str = field(repr=False)
    expires_at: float | None = None  # seconds since 1970
    expires_in: float | None = None  # seconds from now


def read_key(text: str) -> PrintedKey | None:
    """Return the key in a command's output; None if the output contains no key that a header can hold.

    The output is the key alone, or a JSON object. The object may have the form of `az account get-access-token`,
    `gcloud config config-helper --format=json` or OAuth. An expiry in JSON must be in seconds, or have a time zone.
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
    """Return True if a key can be sent in a header: it is one word of printable ASCII."""
    return _SENDABLE.fullmatch(key) is not None


def expiry_of(key: str) -> float | None:
    """Return the expiry (`exp`) of a JSON Web Token, in seconds since 1970; None if the key has no expiry.

    The signature is not checked, because the time is used only for messages and the next renewal.
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
        return instant.timestamp() if instant.tzinfo is not None else None  # a local time of an unknown zone
    return _seconds(value)


def _seconds(value: object) -> float | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 15:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e15:
        return None
    return float(value)
