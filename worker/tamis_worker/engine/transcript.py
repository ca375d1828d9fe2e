"""The transcript of one claim: each call as it was sent and answered, put down while the item is worked on.

It is taken from the body of the HTTP request, so that it holds what the model was shown and not what was meant to be
shown. Nothing is copied but references; what all records of a batch have in common is kept once, by its sha256.
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

MOST_SCHEMAS = 64  # whose JSON is remembered; a worker asks for few shapes at a time
NOT_PARAMETERS = frozenset({"messages", "response_format"})
COUNTS = tuple(count.name for count in fields(Usage))

_NO_USAGE = Usage()


class SchemaTexts:
    """The JSON of schemas with its sha256, written once for as long as the same schemas come again."""

    def __init__(self) -> None:
        self._written: dict[tuple[object, str], tuple[Schema, str, str]] = {}

    def of(self, batch: object, name: str, schema: Schema) -> tuple[str, str]:
        """The sha256 and the text of a schema. Of a batch's shape by this name the last one is remembered."""
        last = self._written.get((batch, name))
        if last is not None and last[0] == schema:  # comparing takes a quarter of the time that writing does
            return last[1], last[2]
        text: str = storable(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
        if len(self._written) >= MOST_SCHEMAS:
            self._written.clear()
        sha256 = sha256_of(text)
        self._written[batch, name] = schema, sha256, text
        return sha256, text


@dataclass(eq=False)
class TranscriptWriter:
    """Puts down what is asked and answered for one claim.

    `redact` takes secrets out of what others wrote: answers, errors, options.
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
        """The next question of the item; `key` is its own in the cache."""
        self._questions += 1
        about = {"question": self._questions, "name": name, "sample": sample, "key": key}
        return QuestionTranscript(self, {name: value for name, value in about.items() if value != 0})

    @property
    def written(self) -> CallsOfClaim | None:
        """The calls put down so far; None where there were none."""
        return CallsOfClaim(tuple(self._calls), self._prompts) if self._calls else None

    def add(self, call: dict[str, Any]) -> int:
        """Put one call down, and give its place."""
        call["at_ms"] = round((perf_counter() - self._began) * 1000)
        self._calls.append(call)
        return len(self._calls) - 1

    def text(self, text: str) -> str:
        """The sha256 by which a common text is named from now on."""
        text = storable(text)
        sha256 = sha256_of(text)
        self._prompts[sha256] = text
        return sha256

    def schema(self, name: str, schema: Schema) -> str:
        """The sha256 by which a schema is named from now on."""
        sha256, text = self.schemas.of(self.batch, name, schema)
        self._prompts[sha256] = text
        return sha256

    def foreign(self, text: str) -> str:
        """A text that somebody else wrote, as it may be kept."""
        kept: str = storable(self.redact(text))
        return kept


class QuestionTranscript:
    """Puts the calls of one question down."""

    def __init__(self, writer: TranscriptWriter, about: Mapping[str, Any]) -> None:
        self._writer = writer
        self._about = about
        self._before: tuple[int, Sequence[Mapping[str, Any]]] | None = None  # place and messages of the call before

    def found(self, request: ChatRequest, content: str, model: str, deviations: Sequence[str]) -> None:
        """Put down that the cache had an answer that could be read."""
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
        """Put down a call that came back; `error` is why its answer could not be used, or the reply itself."""
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
        if body is None:  # nothing was sent: what would have been, in no dialect yet
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
        """The messages, or what of them is not in the call before."""
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

    def _message(self, message: Mapping[str, Any], kept: Callable[[str], str]) -> dict[str, Any]:
        """The first messages are the caller's words, in which no secret of this process can stand."""
        role, content = message["role"], message["content"]
        marks = {}
        if not isinstance(content, str):  # a list of one part, with marks for the endpoint's cache
            (part,) = content
            content, marks = part["text"], {name: part[name] for name in MARKS if name in part}
        written: dict[str, Any] = {"role": role}
        if role == "system":
            written["sha256"] = self._writer.text(content)
        else:
            written |= _bounded(kept(content), LONGEST_MESSAGE)
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
        """Parameters that may be kept: no value under a name of a secret, and no secret of this process."""
        match parameters:
            case str():
                secret = name not in PARAMETERS and SECRET_NAMES.search(name) is not None
                return HIDDEN if secret else self._writer.foreign(parameters)
            case Mapping():
                return {storable(key): self._without_secrets(value, key) for key, value in parameters.items()}
            case list() | tuple():
                return [self._without_secrets(value, name) for value in parameters]
            case _:
                return parameters


@lru_cache(maxsize=256)  # a worker asks for few batches at a time, about thousands of records each
def sha256_of(text: str) -> str:
    """The sha256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _bounded(text: str, longest: int) -> dict[str, Any]:
    return {"content": text} if len(text) <= longest else {"content": text[:longest], "cut": len(text)}
