"""Completions: the reply in an HTTP answer of status 200, in every form that endpoints send. No I/O happens here.

| body | reply |
|---|---|
| a completion | an answer, or the reason why it is unusable; both with usage and tier |
| `{"error": ...}` | that error, with the text of the server behind the gateway |
| a stream, though none was requested | its pieces are joined to a completion, then read as above |
| HTML, anything else | an error of the endpoint with the page's title or the body's beginning |

A stream consists of server-sent events, which hold the pieces of a completion.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tamis_schemas import ErrorKind, Usage

from .call_error import cleaned, of_answer
from .chat import CallError, ChatAnswer, Obstacle, Reply
from .json_answer import Malformed, read_json

# No call has so many tokens. Larger numbers are read as this one: for 1,000,000 items (TAMIS_MAX_ITEMS) of 40 calls the
# sum is 4 x 10^18, which fits into 64 bits.
MOST_TOKENS = 10**11
INT_DIGITS = 18  # in 64 bits; reading longer ones costs the square of their length
LONGEST_NAME = 200  # characters of a model's, a tier's or a finish reason's name
SHOWN = 200  # characters of a body that is no completion
HTML_HEAD = 50_000  # characters; a page's title is at its beginning

# The fields for prompt tokens read from a cache and written to one: OpenAI and compatible endpoints, Anthropic,
# DeepSeek, Moonshot. The first field above 0 counts.
READ_DETAILS = ("cached_tokens", "cache_read_tokens")
READ = ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
WRITE_DETAILS = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
WRITE = ("cache_creation_input_tokens", "cache_write_tokens")

_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,500})</title", re.IGNORECASE)
_CONTENT_PARTS = (None, "text", "output_text")  # others are thoughts, sources or pictures
_PART = {"type", "text"}  # the names in a part
_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_details")

# The finish reasons of OpenAI, and of Gemini and Anthropic, which gateways pass on.
FILTERED = frozenset({"content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii"})
CUT_OFF = frozenset({"length", "max_tokens", "model_length"})

END = "[DONE]"
CHOICES = ("choices", "error")  # the fields of a chunk that are merged, not copied
TEXTS = ("content", "reasoning_content", "reasoning", "refusal")  # of a delta; pieces that are joined


def read_completion(body: bytes, *, content_type: str = "", api_key: str) -> Reply:
    """Return the reply in a body with status 200. The reply's latency and rate limits are not set.

    Args:
        body: the whole body.
        content_type: the Content-Type header.
        api_key: the key of the request, which is removed from every message.
    """
    try:
        text = body.decode("utf-8-sig", "replace").strip()
        received = assembled(text, _load) if is_stream(text, content_type) else _load(text)
    except RecursionError:
        return CallError(ErrorKind.SERVER, "the endpoint answered JSON that is nested too deeply", 200)
    except ValueError as error:
        return _unreadable(text, content_type, str(error), api_key)
    if isinstance(received, list) and len(received) == 1:  # Google wraps errors so
        received = received[0]
    if not isinstance(received, dict):
        return _not_an_answer(received, api_key)
    usage, tier = read_usage(received.get("usage")), _name(received.get("service_tier")) or None
    choice = _first(received.get("choices"))
    wrong = received.get("error") or (choice or {}).get("error")
    if wrong or received.get("object") == "error":
        return _of_error(wrong or received, usage, tier, api_key)
    if choice is None and "choices" not in received:
        return _not_an_answer(received, api_key)
    return _of_choice(choice, _name(received.get("model")), _name(received.get("id")) or None, usage, tier, api_key)


def read_usage(counts: object) -> Usage:
    """Return the paid tokens from a completion's `usage`; 0 for a missing or implausible count."""
    if not isinstance(counts, dict):
        return Usage()
    prompt, completion = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
    details = counts.get("prompt_tokens_details")
    cached = min(prompt, _first_count(details, READ_DETAILS) or _first_count(counts, READ))
    return Usage(
        prompt,
        completion,
        cached,
        min(completion, _count(counts.get("completion_tokens_details"), "reasoning_tokens")),
        min(prompt - cached, _first_count(details, WRITE_DETAILS) or _first_count(counts, WRITE)),
    )


def is_stream(text: str, content_type: str = "") -> bool:
    """Return True if a body is a stream of events, by its content type or its first characters."""
    declared = "event-stream" in content_type.lower() and not text.startswith(("{", "["))
    return declared or text.startswith(("data:", "event:", "id:", ":"))


def assembled(text: str, load: Callable[[str], object]) -> dict[str, Any]:
    """Return the completion whose pieces a stream contains. If the stream has several choices, only the first is read.

    `load` reads the JSON of one event.

    Raises:
        ValueError: an event is no JSON object, or the stream ends before the answer is complete.
    """
    completion = _Completion()
    for event in _events(text):
        if event == END:
            break
        chunk = load(event)
        if not isinstance(chunk, Mapping):
            raise ValueError("an event is not a JSON object")  # noqa: TRY004 - of the endpoint, like JSON that is none
        completion.add(chunk)
        if chunk.get("error"):
            return {**completion.whole, "error": chunk["error"]}
    else:
        if completion.choice["finish_reason"] is None:
            raise ValueError("it ends before the answer does")
    return completion.assembled()


class _Completion:
    """A completion, assembled from the pieces of a stream so far."""

    def __init__(self) -> None:
        self.whole: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self.choice: dict[str, Any] = {"index": 0, "message": self._message, "finish_reason": None}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._tokens: list[object] = []  # with their probabilities

    def add(self, chunk: Mapping[str, Any]) -> None:
        self.whole |= {name: value for name, value in chunk.items() if name not in CHOICES and value is not None}
        piece = _first_piece(chunk.get("choices"))
        if piece is None:
            return
        self.choice["finish_reason"] = piece.get("finish_reason") or self.choice["finish_reason"]
        if piece.get("error"):
            self.choice["error"] = piece["error"]
        if isinstance(piece.get("message"), Mapping):  # a complete answer, sent as one event
            self._message |= piece["message"]
        if isinstance(delta := piece.get("delta"), Mapping):
            self._add_delta(delta)
        if isinstance(logprobs := piece.get("logprobs"), Mapping) and isinstance(logprobs.get("content"), list):
            self._tokens += logprobs["content"]

    def assembled(self) -> dict[str, Any]:
        self._message |= {name: "".join(pieces) for name, pieces in self._texts.items()}
        if self._calls:
            self._message["tool_calls"] = [{"function": self._calls[place]} for place in sorted(self._calls)]
        if self._tokens:
            self.choice["logprobs"] = {"content": self._tokens}
        return {**self.whole, "choices": [self.choice] if self._message or self.choice["finish_reason"] else []}

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for name in TEXTS:
            piece = delta.get(name)
            if isinstance(piece, str):
                self._texts.setdefault(name, []).append(piece)
            elif isinstance(piece, list):
                self._message[name] = [*self._message.get(name, []), *piece]
        called = delta.get("tool_calls")
        for call in called if isinstance(called, list) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            if not isinstance(function, Mapping):
                continue
            place = call.get("index")
            merged = self._calls.setdefault(place if isinstance(place, int) else len(self._calls), {"arguments": ""})
            if isinstance(function.get("arguments"), str):
                merged["arguments"] += function["arguments"]
            elif function.get("arguments"):
                merged["arguments"] = function["arguments"]


def _events(text: str) -> Iterator[str]:
    """Yield the data of each event. Every endpoint writes an event in one line; some omit the empty line after it."""
    for line in re.split(r"\r\n|\n|\r", text):  # not at every line end of Unicode: JSON may contain them
        if line.startswith("data:") and (event := line[5:].strip()):
            yield event


def _first_piece(choices: object) -> Mapping[str, Any] | None:
    """Return the choice without an index or with index 0, or None. A stream mixes the pieces of several choices."""
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and choice.get("index", 0) in (0, None):
            return choice
    return None


def _of_choice(
    choice: Mapping[str, Any] | None, model: str, answer_id: str | None, usage: Usage, tier: str | None, api_key: str
) -> Reply:
    def failed(kind: ErrorKind, message: str, content: str = "") -> CallError:
        return CallError(kind, message, 200, usage=usage, tier=tier, content=content)

    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, dict):
        return failed(ErrorKind.EMPTY, "the answer contains no choice")
    finish_reason = _name(choice.get("finish_reason")) or "stop"
    if refusal := message.get("refusal") or _parts(message.get("content"), "refusal"):
        return failed(ErrorKind.REFUSED, f"the model refuses: {cleaned(str(refusal), api_key)}")
    if finish_reason.lower() in FILTERED:
        return failed(ErrorKind.CONTENT_FILTER, "the content filter blocked the answer")
    content = _parts(message.get("content"), "text")
    calls = _tool_calls(message)
    if not content.strip() and len(calls) == 1:
        content = calls[0]
    thoughts_alone = not content.strip() and not calls and _thinks(message)
    if finish_reason.lower() in CUT_OFF and not _is_whole(content):
        tokens = usage.completion_tokens
        if thoughts_alone:  # not EMPTY: a larger budget helps
            why = f"the model only reasoned: the whole budget ({tokens} tokens) was used before an answer"
            return failed(ErrorKind.TRUNCATED, why)
        return failed(ErrorKind.TRUNCATED, f"the answer was cut off after {tokens} tokens", content)
    if content.strip():
        thoughts = _thought_characters(message)
        raw = _tokens(choice.get("logprobs"))
        return ChatAnswer(
            content, model, usage, finish_reason, latency_ms=0, tier=tier, thoughts=thoughts, id=answer_id, tokens=raw
        )
    if len(calls) > 1:
        return failed(ErrorKind.EMPTY, f"no content, and {len(calls)} tool calls: which of them is the answer?")
    what = "the model only reasoned, without an answer" if thoughts_alone else "no content"
    return failed(ErrorKind.EMPTY, f"{what}; finish_reason {cleaned(finish_reason, api_key)!r}")


def _of_error(error: object, usage: Usage, tier: str | None, api_key: str) -> CallError:
    """Return the error inside an answer of status 200, as gateways send it.

    If the error's code is from 400 to 599, the code is the status of the error. Otherwise the status is 500.
    """
    fields = error if isinstance(error, dict) else {"message": str(error)}
    code = str(fields.get("code") or fields.get("status"))
    status = int(code) if len(code) == 3 and code.isdecimal() and 400 <= int(code) < 600 else 500
    reply = of_answer(status, fields, text="no message", headers={}, api_key=api_key)
    return CallError(
        reply.kind, reply.message, reply.status, reply.retry_after, usage, everyone=reply.everyone, tier=tier
    )


def _unreadable(text: str, content_type: str, why: str, api_key: str) -> CallError:
    if text[:1] == "<" or "html" in content_type.lower():
        title = _TITLE.search(text[:HTML_HEAD])
        shown = f" with the title {cleaned(title[1], api_key)[:SHOWN]!r}" if title and title[1].strip() else ""
        why = f"a page of HTML{shown}; does TAMIS_LLM_BASE_URL end in /v1?"
        return CallError(ErrorKind.SERVER, f"the endpoint answered {why}", 200, obstacle=Obstacle.PAGE)
    if not text:
        return CallError(ErrorKind.SERVER, "the endpoint answered nothing", 200)
    if is_stream(text, content_type):
        return CallError(ErrorKind.SERVER, f"the endpoint answered a stream that cannot be read: {why}", 200)
    return CallError(ErrorKind.SERVER, "the endpoint answered something that is not JSON", 200)


def _not_an_answer(received: object, api_key: str) -> CallError:
    shown = cleaned(str(received)[:SHOWN], api_key)
    return CallError(ErrorKind.SERVER, f"not an API answer; does TAMIS_LLM_BASE_URL end in /v1? {shown!r}", 200)


def _parts(content: object, kind: str) -> str:
    """Return the text in a message's content, or the refusal in it. `kind`: `text` or `refusal`.

    Some endpoints send no text, but the answer's JSON object, or a list of parts. The list may include thoughts.
    """
    if isinstance(content, dict) and not content.keys() & _PART:
        return json.dumps(content, ensure_ascii=False) if kind == "text" and content else ""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return content if isinstance(content, str) and kind == "text" else ""
    wanted = _CONTENT_PARTS if kind == "text" else (kind,)
    texts = [
        part.get(kind) if isinstance(part, dict) and part.get("type") in wanted else part if kind == "text" else ""
        for part in content
    ]
    return "".join(text for text in texts if isinstance(text, str))


def _is_whole(content: str) -> bool:
    """Return True if a text is one complete JSON object, so that the limit of tokens has cut off nothing."""
    try:
        return isinstance(read_json(content), dict)
    except Malformed:
        return False


def _tool_calls(message: Mapping[str, Any]) -> list[str]:
    """Return the arguments of each tool call, as JSON text."""
    calls = message.get("tool_calls")
    called = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    called = called or [message.get("function_call")]  # the older name of a tool call
    arguments = [function.get("arguments") for function in called if isinstance(function, dict)]
    return [text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in arguments if text]


def _tokens(logprobs: object) -> object:
    """Return the tokens with their probabilities, as the endpoint sent them; None if there are none."""
    return logprobs.get("content") if isinstance(logprobs, dict) else None


def _thinks(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return any(message.get(name) for name in _THOUGHTS) or (isinstance(content, list) and bool(content))


def _thought_characters(message: Mapping[str, Any]) -> int:
    """Return the number of characters of an answer's thoughts. Thoughts sent under two names are counted once."""
    return max((len(text) for name in _THOUGHTS if isinstance(text := message.get(name), str)), default=0)


def _first(choices: object) -> Mapping[str, Any] | None:
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else None


def _first_count(counts: object, names: tuple[str, ...]) -> int:
    return next((count for name in names if (count := _count(counts, name))), 0)


def _count(counts: object, name: str) -> int:
    """Return the number of tokens under `name`, at most `MOST_TOKENS`; 0 if it is missing, negative or not whole."""
    count = counts.get(name) if isinstance(counts, dict) else None
    if isinstance(count, bool) or not isinstance(count, int | float) or not count > 0:  # not > 0: NaN too
        return 0
    if count >= MOST_TOKENS:
        return MOST_TOKENS
    return int(count) if count == int(count) else 0


def _name(value: object) -> str:
    return value[:LONGEST_NAME] if isinstance(value, str) else ""


def _bounded_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= INT_DIGITS else math.copysign(math.inf, -1 if digits[0] == "-" else 1)


_bounded = json.JSONDecoder(parse_int=_bounded_int).decode
_plain = json.JSONDecoder().decode


def _load(text: str) -> object:
    """Return the value of a JSON text. An integer that Python refuses to read becomes infinite."""
    try:
        return _plain(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # an integer of more digits than Python reads (4,300)
        return _bounded(text)
