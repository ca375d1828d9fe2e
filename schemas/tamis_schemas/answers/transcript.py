"""A transcript: what was asked for one claim of an item, word for word, and what came back.

What is the same for all records of a batch, system messages and answer schemas, is named by its sha256; the ledger
keeps each such text once for the batch. No key and no HTTP header is ever part of it.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from ..errors import ErrorKind
from ..values.frozen import Frozen
from ..values.money import Cost
from .results import Usage

LONGEST_ANSWER = 100_000  # characters of one answer; ten times those of the longest that operations ask for
LONGEST_MESSAGE = 1_000_000  # characters of one message; a record's fields are cut to a tenth of it by default


class TranscribedMessage(Frozen):
    """One message as it was sent: its text, or the sha256 of a text that the batch's questions have in common."""

    role: Literal["system", "user", "assistant"]
    content: str | None = None  # None: see `sha256`
    sha256: str | None = None
    cut: int | None = None  # characters that it had, where the ledger keeps its beginning alone
    marks: dict[str, Any] = Field(default_factory=dict)  # for the endpoint's own cache; no part of the text


class TranscribedFormat(Frozen):
    """The request for the answer's shape, beside what the messages say of it."""

    type: str  # json_schema or json_object
    name: str | None = None
    sha256: str | None = None  # of the schema's JSON as it was sent; None: it stands in the messages


class TranscribedAnswer(Frozen):
    """The model's text, as it was received."""

    content: str
    cut: int | None = None  # characters that it had, where the ledger keeps its beginning alone
    model: str  # as the endpoint names it
    finish_reason: str | None = None  # None: from the cache, which does not keep it
    thoughts: int = 0  # characters of reasoning that came beside it, and are not kept


class TranscribedError(Frozen):
    """The reason why a call has no answer."""

    kind: ErrorKind
    message: str
    status: int | None = None  # of HTTP
    content: str | None = None  # what had come of an answer that was cut off
    cut: int | None = None


class AnswerReading(Frozen):
    """The outcome of reading an answer."""

    usable: bool
    deviations: tuple[str, ...] = ()  # what was harmlessly otherwise
    kind: ErrorKind | None = None  # of an unusable one
    why: str | None = None


class TranscribedCall(Frozen):
    """One call, or one answer from the cache."""

    question: int  # of the item, from 1
    name: str  # of the question's answer schema
    sample: int = 0  # tells questions apart that are otherwise equal
    at_ms: int  # since the item's first question, when the answer had come
    cached: bool = False  # answered from an earlier call: nothing was sent, and `messages` are the question
    key: str | None = None  # of the question in the cache
    sent: bool = True  # False: there was not even a connection
    rung: str | None = None  # of the ladder of ways to ask for a shape (docs/endpoints.md)
    # Of a call whose messages begin as those of an earlier one: its place in the transcript, and how many they share.
    after: tuple[int, int] | None = None
    messages: tuple[TranscribedMessage, ...] = ()  # what follows after those
    format: TranscribedFormat | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)  # model, temperature, budget, options
    answer: TranscribedAnswer | None = None
    error: TranscribedError | None = None
    reading: AnswerReading | None = None  # of an answer
    usage: Usage = Usage()
    tier: str | None = None  # that it was billed at, as the endpoint names it
    cost: Cost | None = None  # dollars; None: the price is not known
    latency_ms: int | None = None


class Transcript(Frozen):
    """All calls of one claim."""

    fence: int  # which of the item's claims
    round: int
    created_at: datetime  # by the database's clock, when it was committed with what the claim ended with
    calls: tuple[TranscribedCall, ...]

    def messages_of(self, place: int) -> tuple[TranscribedMessage, ...]:
        """All messages of a call, those included that it shares with an earlier one."""
        call = self.calls[place]
        if call.after is None:
            return call.messages
        earlier, shared = call.after
        if not 0 <= earlier < place:
            raise ValueError(f"call {place} begins as call {earlier}, which does not come before it")
        return self.messages_of(earlier)[:shared] + call.messages
