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
    completion = _Completion()
    for event in _events(text):
        if event == END:
            break
        chunk = load(event)
        if not isinstance(chunk, Mapping):
            raise ValueError("an event is no JSON object")  # noqa: TRY004 - of the endpoint, like JSON that is none
        completion.add(chunk)
        if chunk.get("error"):
            return {**completion.whole, "error": chunk["error"]}
    else:
        if completion.choice["finish_reason"] is None:
            raise ValueError("it ends before the answer does")
    return completion.assembled()


class _Completion:
    """A completion as far as its chunks have come."""

    def __init__(self) -> None:
        self.whole: dict[str, Any] = {}
        self._message: dict[str, Any] = {}
        self.choice: dict[str, Any] = {"index": 0, "message": self._message, "finish_reason": None}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}
        self._tokens: list[object] = []  # with their probabilities

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Take what a chunk adds."""
        self.whole |= {name: value for name, value in chunk.items() if name not in CHOICES and value is not None}
        piece = _first(chunk.get("choices"))
        if piece is None:
            return
        self.choice["finish_reason"] = piece.get("finish_reason") or self.choice["finish_reason"]
        if piece.get("error"):
            self.choice["error"] = piece["error"]
        if isinstance(piece.get("message"), Mapping):  # an answer that was whole, sent as one event
            self._message |= piece["message"]
        if isinstance(delta := piece.get("delta"), Mapping):
            self._add_delta(delta)
        if isinstance(told := piece.get("logprobs"), Mapping) and isinstance(told.get("content"), list):
            self._tokens += told["content"]

    def assembled(self) -> dict[str, Any]:
        """The completion as an endpoint would have answered it whole."""
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
