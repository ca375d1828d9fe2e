"""The client through which the functions of spec 5 ask the judge: synchronous or asynchronous."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Final, Protocol

from .judge_prompt import JUDGE_SYSTEM_PROMPT, JUDGE_TEMPERATURE

# By these Python says that the program is wrong: the client has no `call_json`, or takes other arguments, or trips over
# its own code. Whatever else a client raises is a failure of the judge: every library has errors of its own.
PROGRAMMING_ERRORS: Final = (
    TypeError,
    AttributeError,
    NameError,
    ImportError,
    AssertionError,
    NotImplementedError,
)


class JudgeClient(Protocol):
    """A model that answers in JSON. How many tokens its answer may have is the client's to work out."""

    def call_json(self, system_prompt: str, user_prompt: str, /, *, temperature: float) -> object:
        """The decoded JSON of the model's answer, or an awaitable of it.

        A plain function is called on several threads at a time, a coroutine function several times on one loop.
        """
        ...


async def reply_of(client: JudgeClient, user_prompt: str, threads: Executor) -> object:
    """The reply of the judge; a plain function is called on one of the threads. Raises whatever the client raises."""
    call = partial(client.call_json, JUDGE_SYSTEM_PROMPT, user_prompt, temperature=JUDGE_TEMPERATURE)
    if iscoroutinefunction(call):  # called on a thread, its coroutine is left behind where nobody waits any more
        return await call()
    reply = await asyncio.get_running_loop().run_in_executor(threads, _called, call)
    return await reply if isawaitable(reply) else reply


def _called(call: Callable[[], object]) -> object:
    """Make the call; raise a StopIteration, which no future takes, as a coroutine does."""
    try:
        return call()
    except StopIteration as error:
        raise RuntimeError("call_json raised StopIteration") from error
