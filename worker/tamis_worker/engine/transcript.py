"""The transcript of one claim: each model call with its request and answer, recorded during the item's evaluation.

The transcript uses the bodies of the HTTP requests, so it contains exactly the text sent to the model. A text that all
records of a batch share is stored once. Calls refer to such a text by its sha256.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import lru_cache
from time import perf_counter
from typing import Any

from tamis_producer.config.redaction import HIDDEN, SECRET_NAMES
from tamis_schemas import Usage
from tamis_schemas.answers.transcript import LONGEST_ANSWER, LONGEST_MESSAGE

from ..ledger.connection import storable
from ..ledger.outcomes import CallsOfClaim
from ..llm.chat import CallError, ChatAnswer, ChatRequest, Reply, Schema
from ..llm.prompt_cache import MARKS, PARAMETERS

MOST_SCHEMAS = 64  # schemas kept as JSON; a worker needs few at a time
NOT_PARAMETERS = frozenset({"messages", "response_format"})
COUNTS = tuple(count.name for count in fields(Usage))

_NO_USAGE = Usage()


class SchemaTexts:
    """A store of schemas' JSON texts with their sha256, so that each schema is converted only once."""

    def __init__(self) -> None:
        self._written: dict[tuple[object, str], tuple[Schema, str, str]] = {}

    def of(self, batch: object, name: str, schema: Schema) -> tuple[str, str]:
        """Return the sha256 and the JSON text of a schema. For each batch and name, only the latest schema is kept."""
        last = self._written.get((batch, name))
        if last is not None and last[0] == schema:  # comparing takes a quarter of the time of writing
            return last[1], last[2]
        text: str = storable(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
        if len(self._written) >= MOST_SCHEMAS:
            self._written.clear()
        sha256 = sha256_of(text)
        self._written[batch, name] = schema, sha256, text
        return sha256, text


@dataclass(eq=False)
class TranscriptWriter:
    """The recorder of the questions and answers of one claim.

    `redact` removes secrets from texts that Tamis did not write: answers, errors and options.
    """

    batch: object
    schemas: SchemaTexts
    redact: Callable[[str], str] = str

    def __post_init__(self) -> None:
        self._began = perf_counter()
        self._questions = 0
        self._calls: list[dict[str, Any]] = []
        self._prompts: dict[str, str] = {}

    def question(self, name: str, sample: int, key: str) -> "QuestionTranscript":
        """Return a transcript for the item's next question. `key` is the question's key in the cache."""
        self._questions += 1
        about = {"question": self._questions, "name": name, "sample": sample, "key": key}
        return QuestionTranscript(self, {name: value for name, value in about.items() if value != 0})

    @property
    def written(self) -> CallsOfClaim | None:
        """The calls recorded so far. None if no call was recorded."""
        return CallsOfClaim(tuple(self._calls), self._prompts) if self._calls else None

    def add(self, call: dict[str, Any]) -> int:
        """Record a call, and return its number in the transcript, from 0."""
        call["at_ms"] = round((perf_counter() - self._began) * 1000)
        self._calls.append(call)
        return len(self._calls) - 1

    def text(self, text: str) -> str:
        """Store a text that many records share. Return its sha256, which recorded calls contain instead of the text."""
        text = storable(text)
        sha256 = sha256_of(text)
        self._prompts[sha256] = text
        return sha256

    def schema(self, name: str, schema: Schema) -> str:
        """Store a schema. Return its sha256, which recorded calls contain instead of the schema."""
        sha256, text = self.schemas.of(self.batch, name, schema)
        self._prompts[sha256] = text
        return sha256

    def foreign(self, text: str) -> str:
        """Return a text from outside (an answer, an error, an option) without secrets, in a form that can be stored."""
        kept: str = storable(self.redact(text))
        return kept


class QuestionTranscript:
    """The recorder of the calls of one question."""

    def __init__(self, writer: TranscriptWriter, about: Mapping[str, Any]) -> None:
        self._writer = writer
        self._about = about
        self._before: tuple[int, Sequence[Mapping[str, Any]]] | None = None  # place and messages of the previous call

    def found(self, request: ChatRequest, content: str, model: str, deviations: Sequence[str]) -> None:
        """Record a usable answer from the cache."""
        call = {**self._about, "cached": True, **self._sent(request, None)}
        call["answer"] = {**self._bounded(content, LONGEST_ANSWER), "model": storable(model)}
        call["reading"] = self._read(None, deviations)
        self._writer.add(call)

    def called(
        self,
        request: ChatRequest,
        reply: Reply,
        cost: Decimal | None,
        error: CallError | None,
        deviations: Sequence[str],
    ) -> None:
        """Record a call that returned.

        `error`: the defect of an unusable answer, or the reply itself if the reply is an error.
        """
        call = {**self._about, **self._sent(request, reply.body)}
        if reply.rung is not None:
            call["rung"] = reply.rung.value
        if isinstance(reply, ChatAnswer):
            answer = {"model": storable(reply.model), "finish_reason": storable(reply.finish_reason)}
            call["answer"] = {**self._bounded(reply.content, LONGEST_ANSWER), **answer, "thoughts": reply.thoughts}
            call["reading"] = self._read(error, deviations)
        else:
            failure: dict[str, Any] = {"kind": reply.kind.value, "message": self._writer.foreign(reply.message)}
            if reply.status is not None:
                failure["status"] = reply.status
            if reply.content:
                failure |= self._bounded(reply.content, LONGEST_ANSWER)
            call["error"] = failure
            if not reply.sent:
                call["sent"] = False
        if reply.usage != _NO_USAGE:
            call["usage"] = {name: count for name in COUNTS if (count := getattr(reply.usage, name))}
        if reply.tier is not None:
            call["tier"] = storable(reply.tier)
        call["cost"] = None if cost is None else str(cost)
        call["latency_ms"] = reply.latency_ms
        place = self._writer.add(call)
        if reply.body is not None:
            self._before = place, reply.body["messages"]

    def _sent(self, request: ChatRequest, body: Mapping[str, Any] | None) -> dict[str, Any]:
        if body is None:  # nothing was sent: record the intended request, in no dialect yet
            plain = [{"role": message.role, "content": message.content} for message in request.messages]
            named = {"type": "json_schema", "name": request.schema_name}
            named["sha256"] = self._writer.schema(request.schema_name, request.schema)
            parameters: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
            if request.temperature is not None:
                parameters["temperature"] = request.temperature
            parameters |= {name: value for name, value in request.options.items() if name not in MARKS}
            return {**self._messages(plain), "format": named, "parameters": self._without_secrets(parameters)}
        written = self._messages(body["messages"])
        if (response_format := body.get("response_format")) is not None:
            written["format"] = self._format(response_format)
        parameters = {name: value for name, value in body.items() if name not in NOT_PARAMETERS}
        return {**written, "parameters": self._without_secrets(parameters)}

    def _messages(self, messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the messages in the form in which they are stored.

        If the question's previous call began with the same messages, only the number of these messages is stored.
        """
        if self._before is None:
            return {"messages": [self._message(message, storable) for message in messages]}
        place, earlier = self._before
        shared = 0
        for message, before in zip(messages, earlier, strict=False):
            if message != before:
                break
            shared += 1
        return {
            "after": [place, shared],
            "messages": [self._message(message, self._writer.foreign) for message in messages[shared:]],
        }

    def _message(self, message: Mapping[str, Any], stored: Callable[[str], str]) -> dict[str, Any]:
        """Return a message in the form in which it is stored.

        A system message contains the sha256 of its text. In any other message, `stored` converts the text.
        """
        role, content = message["role"], message["content"]
        marks = {}
        if not isinstance(content, str):  # a list with a single part, with marks for the endpoint's cache
            (part,) = content
            content, marks = part["text"], {name: part[name] for name in MARKS if name in part}
        written: dict[str, Any] = {"role": role}
        if role == "system":
            written["sha256"] = self._writer.text(content)
        else:
            written |= _bounded(stored(content), LONGEST_MESSAGE)
        return {**written, "marks": marks} if marks else written

    def _format(self, response_format: Mapping[str, Any]) -> dict[str, Any]:
        if "json_schema" not in response_format:
            return {"type": response_format["type"]}
        named = response_format["json_schema"]
        sha256 = self._writer.schema(named["name"], named["schema"])
        return {"type": response_format["type"], "name": named["name"], "sha256": sha256}

    def _read(self, error: CallError | None, deviations: Sequence[str]) -> dict[str, Any]:
        if error is not None:
            return {"usable": False, "kind": error.kind.value, "why": self._writer.foreign(error.message)}
        if not deviations:
            return {"usable": True}
        return {"usable": True, "deviations": [self._writer.foreign(deviation) for deviation in deviations]}

    def _bounded(self, text: str, longest: int) -> dict[str, Any]:
        return _bounded(self._writer.foreign(text), longest)

    def _without_secrets(self, parameters: Any, name: str = "") -> Any:
        """Return the parameters without this process's secrets. If a name suggests a secret, its value is hidden."""
        match parameters:
            case str():
                secret = name not in PARAMETERS and SECRET_NAMES.search(name) is not None
                return HIDDEN if secret else self._writer.foreign(parameters)
            case Mapping():
                return {storable(key): self._without_secrets(value, key) for key, value in parameters.items()}
            case list() | tuple():
                return [self._without_secrets(value, name) for value in parameters]
        return parameters


@lru_cache(maxsize=256)  # a worker needs few batches at a time, each with thousands of records
def sha256_of(text: str) -> str:
    """Return the sha256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _bounded(text: str, longest: int) -> dict[str, Any]:
    return {"content": text} if len(text) <= longest else {"content": text[:longest], "cut": len(text)}
