"""A transcript: the questions and answers of one claim (one worker's evaluation of an item), word for word.

Texts that a batch's records share (system messages and answer schemas) are named by their sha256. The ledger keeps each
of them once per batch. A transcript never contains keys or HTTP headers.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from ..errors import ErrorKind
from ..values.frozen import Frozen
from ..values.money import Cost
from .results import Usage

LONGEST_ANSWER = 100_000  # characters of one answer; ten times the longest that operations request
LONGEST_MESSAGE = 1_000_000  # characters of one message; by default a record's fields are cut to a tenth of it


class TranscribedMessage(Frozen):
    """One message as it was sent: its text, or the sha256 of a text that the batch's questions have in common."""

    role: Literal["system", "user", "assistant"]
    content: str | None = None  # None: see `sha256`
    sha256: str | None = None
    cut: int | None = None  # original length in characters, if the ledger keeps only the beginning
    marks: dict[str, Any] = Field(default_factory=dict)  # marks for the endpoint's own cache; not part of the text


class TranscribedFormat(Frozen):
    """The requested form of an answer."""

    type: str  # json_schema or json_object
    name: str | None = None
    sha256: str | None = None  # of the schema's JSON as sent; None: it is in the messages


class TranscribedAnswer(Frozen):
    """The model's text, as it was received."""

    content: str
    cut: int | None = None  # original length in characters, if the ledger keeps only the beginning
    model: str  # as the endpoint names it
    finish_reason: str | None = None  # None: from the cache, which does not keep it
    thoughts: int = 0  # characters of reasoning beside the answer, which are not kept


class TranscribedError(Frozen):
    """The reason why a call has no answer."""

    kind: ErrorKind
    message: str
    status: int | None = None  # HTTP status
    content: str | None = None  # received part of an answer that was cut off
    cut: int | None = None


class AnswerReading(Frozen):
    """The outcome of parsing and checking a model's answer."""

    usable: bool
    deviations: tuple[str, ...] = ()  # harmless deviations
    kind: ErrorKind | None = None  # kind of an unusable answer
    why: str | None = None


class TranscribedCall(Frozen):
    """One call of a model, or one answer from the cache."""

    question: int  # number of the item's question, from 1
    name: str  # name of the question's answer schema
    sample: int = 0  # number among questions that are equal except for this number
    at_ms: int  # milliseconds from the item's first question to the answer
    cached: bool = False  # True: answered from an earlier call; nothing was sent, and `messages` are the question
    key: str | None = None  # question's key in the cache
    sent: bool = True  # False: there was no connection
    rung: str | None = None  # request format: a rung of docs/endpoints.md
    # For messages that begin as in an earlier call: that call's place in the transcript, and the number of shared
    # messages.
    after: tuple[int, int] | None = None
    messages: tuple[TranscribedMessage, ...] = ()  # messages after the shared ones
    format: TranscribedFormat | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)  # model, temperature, budget, options
    answer: TranscribedAnswer | None = None
    error: TranscribedError | None = None
    reading: AnswerReading | None = None  # reading of an answer
    usage: Usage = Usage()
    tier: str | None = None  # billed tier, as the endpoint names it
    cost: Cost | None = None  # dollars; None: the price is not known
    latency_ms: int | None = None


class Transcript(Frozen):
    """All calls of a model in one claim: one worker's evaluation of an item."""

    fence: int  # number of the item's claim
    round: int
    created_at: datetime  # by the database's clock, when it was committed with the claim's result
    calls: tuple[TranscribedCall, ...]

    def messages_of(self, place: int) -> tuple[TranscribedMessage, ...]:
        """Return all messages of the call at `place` in `calls`, with the messages shared with an earlier call.

        Raises `ValueError` if the call shares messages with a call that is not earlier.
        """
        call = self.calls[place]
        if call.after is None:
            return call.messages
        earlier, shared = call.after
        if not 0 <= earlier < place:
            raise ValueError(f"call {place} begins as call {earlier}, which is not an earlier call")
        return self.messages_of(earlier)[:shared] + call.messages
