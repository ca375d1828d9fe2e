"""The command that prints a key: run without a shell, within a time, and with nothing that it printed in a message."""

import asyncio
import os
import selectors
import shlex
import signal
import time
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from tamis_producer.config.setting_files import LARGEST
from tamis_schemas import ConfigurationError

PRINT_WITHIN = 30.0  # s that a command may take


class NoKey(Exception):
    """There is no key to make a call with; the message says why, without anything that was printed."""


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
