"""Streams of server-sent events, put together to the completion that they are the pieces of. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

END = "[DONE]"
CHOICES = ("choices", "error")  # what a chunk that counts has
TEXTS = ("content", "reasoning_content", "reasoning", "refusal")  # of a delta; the pieces follow upon each other


def is_stream(text: str, content_type: str = "") -> bool:
    """True where a body is a stream; some endpoints send one without being asked, and some under another type."""
    declared = "event-stream" in content_type.lower() and not text.startswith(("{", "["))
    return declared or text.startswith(("data:", "event:", "id:", ":"))


def assembled(text: str, load: Callable[[str], object]) -> dict[str, Any]:
    """The completion, as an endpoint would have answered it whole; of several choices the first.

    Args:
        text: of the stream.
        load: reads the JSON of one event.

    Raises:
        ValueError: an event is no JSON object, or the stream ends before the answer does.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {}
    parts: dict[str, list[str]] = {}
    calls: dict[int, dict[str, Any]] = {}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": None}
    ended = False
    for event in _events(text):
        if event == END:
            ended = True
            break
        chunk = load(event)
        if not isinstance(chunk, Mapping):
            raise ValueError("an event is no JSON object")  # noqa: TRY004 - of the endpoint, like JSON that is none
        whole |= {name: value for name, value in chunk.items() if name not in CHOICES and value is not None}
        if chunk.get("error"):
            return {**whole, "error": chunk["error"]}
        piece = _first(chunk.get("choices"))
        if piece is None:
            continue
        choice["finish_reason"] = piece.get("finish_reason") or choice["finish_reason"]
        if piece.get("error"):
            choice["error"] = piece["error"]
        if isinstance(piece.get("message"), Mapping):  # an answer that was whole, sent as one event
            message |= piece["message"]
        delta = piece.get("delta")
        if isinstance(delta, Mapping):
            _take(delta, message, parts, calls)
    if not ended and choice["finish_reason"] is None:
        raise ValueError("it ends before the answer does")
    message |= {name: "".join(pieces) for name, pieces in parts.items()}
    if calls:
        message["tool_calls"] = [{"function": calls[place]} for place in sorted(calls)]
    return {**whole, "choices": [choice] if message or choice["finish_reason"] else []}


def _take(
    delta: Mapping[str, Any], message: dict[str, Any], parts: dict[str, list[str]], calls: dict[int, dict[str, Any]]
) -> None:
    for name in TEXTS:
        piece = delta.get(name)
        if isinstance(piece, str):
            parts.setdefault(name, []).append(piece)
        elif isinstance(piece, list):
            message[name] = [*message.get(name, []), *piece]
    called = delta.get("tool_calls")
    for call in called if isinstance(called, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            continue
        place = call.get("index")
        merged = calls.setdefault(place if isinstance(place, int) else len(calls), {"arguments": ""})
        if isinstance(function.get("arguments"), str):
            merged["arguments"] += function["arguments"]
        elif function.get("arguments"):
            merged["arguments"] = function["arguments"]


def _events(text: str) -> Iterator[str]:
    """The data of each event. Every endpoint writes an event into one line, and not all leave one empty behind it."""
    for line in re.split(r"\r\n|\n|\r", text):  # not at every line end of Unicode: JSON may hold them
        if line.startswith("data:") and (event := line[5:].strip()):
            yield event


def _first(choices: object) -> Mapping[str, Any] | None:
    """The first choice, by its index: the chunks of several are mixed."""
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, Mapping) and choice.get("index", 0) in (0, None):
            return choice
    return None
