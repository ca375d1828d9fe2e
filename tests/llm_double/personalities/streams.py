"""Streams although nobody asked for it, and other habits of the HTTP body."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..asked import Asked
from ..connection import Response
from .behaviour import Behaviour, JsonObject


@dataclass(frozen=True)
class Streams(Behaviour):
    """The completion as server-sent events: chunks with deltas, the usage in the last one, then [DONE]."""

    characters: int = 20  # of the content in each chunk
    comments: bool = False  # lines in between that keep the connection alive
    tells_usage: bool = True

    def response(self, asked: Asked, response: Response, completion: JsonObject) -> Response:
        """The stream, in one piece."""
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in self._chunks(completion)]
        between = ": PROCESSING\n\n" if self.comments else ""
        body = between + between.join(lines) + "data: [DONE]\n\n"
        return replace(response, body=body.encode(), content_type="text/event-stream")

    def _chunks(self, completion: JsonObject) -> Iterator[JsonObject]:
        frame = {name: completion[name] for name in completion if name not in ("choices", "usage")}
        frame["object"] = "chat.completion.chunk"
        for choice in completion["choices"]:
            message, last = choice["message"], {name: choice[name] for name in choice if name not in ("message",)}
            content = message["content"] if isinstance(message["content"], str) else ""
            rest = {name: value for name, value in message.items() if name != "content"}
            pieces = [content[at : at + self.characters] for at in range(0, len(content), self.characters)]
            for delta in [{**rest, "content": ""}, *({"content": piece} for piece in pieces)]:
                yield {**frame, "choices": [{"index": choice["index"], "delta": delta, "finish_reason": None}]}
            yield {**frame, "choices": [{**last, "delta": {}}]}
        if self.tells_usage and "usage" in completion:
            yield {**frame, "choices": [], "usage": completion["usage"]}


@dataclass(frozen=True)
class BlankLines(Behaviour):
    """Empty lines before the body, as DeepSeek sends them while a request waits."""

    lines: int = 50

    def response(self, asked: Asked, response: Response, completion: JsonObject) -> Response:
        """The response behind its empty lines."""
        return replace(response, body=b"\n" * self.lines + response.body)


@dataclass(frozen=True)
class RunsToWhitespace(Behaviour):
    """Writes white space until the budget is used up, as models do that a grammar forbids to stop (vLLM, Ollama)."""

    inside: bool = True  # the object is never closed; False: it stands whole before the white space
    tokens: int = 1000  # where the request sets no budget

    def content(self, asked: Asked, content: str) -> str:
        """As much of the content as gets written, and blanks beyond the budget."""
        kept = content[: len(content) // 2] if self.inside else content
        return kept + "  \n " * ((asked.budget or self.tokens) + 1)

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The completion, which ended for its length."""
        return completion | {"choices": [choice | {"finish_reason": "length"} for choice in completion["choices"]]}
