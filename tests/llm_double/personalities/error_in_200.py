"""Answers 200, and an error inside: the status was sent before the upstream failed."""

import json
from dataclasses import dataclass
from typing import Any

from ..asked import Asked
from ..connection import Response
from .behaviour import Behaviour, JsonObject

UPSTREAM = "Upstream provider failed: the model is overloaded"
PAGE = (
    b"<!DOCTYPE html><html><head><title>Sign in</title></head>"
    b"<body><h1>Sign in to the network</h1><p>This page could not be reached.</p></body></html>"
)


@dataclass(frozen=True)
class ErrorIn200(Behaviour):
    """An error object instead of choices; nothing is billed. Raises ValueError for a form that is none."""

    form: str = "integer"  # the code: integer, string or words; nested: as OpenRouter hands errors on; text: no object
    code: int = 502

    def __post_init__(self) -> None:
        if self.form not in self._errors():
            raise ValueError(f"no error looks like {self.form!r}; there are {', '.join(self._errors())}")

    def refusal(self, asked: Asked) -> Response:
        """200, and the error."""
        return Response(json.dumps({"error": self._errors()[self.form]}).encode())

    def _errors(self) -> dict[str, Any]:
        raw = json.dumps({"error": {"message": UPSTREAM, "type": "overloaded_error", "code": self.code}})
        return {
            "integer": {"message": UPSTREAM, "code": self.code},
            "string": {"message": UPSTREAM, "type": "server_error", "param": None, "code": str(self.code)},
            "words": {"message": UPSTREAM, "type": "server_error", "code": "upstream_error"},
            "nested": {
                "message": "Provider returned error",
                "code": self.code,
                "metadata": {"raw": raw, "provider_name": "Double"},
            },
            "text": UPSTREAM,
        }


@dataclass(frozen=True)
class ErrorInChoice(Behaviour):
    """A completion that broke off: half a content, `finish_reason` "error", the error in the choice. It is billed."""

    code: int = 502

    def completion(self, asked: Asked, completion: JsonObject) -> JsonObject:
        """The completion, broken off."""
        return completion | {"choices": [self._broken(choice) for choice in completion["choices"]]}

    def _broken(self, choice: JsonObject) -> JsonObject:
        content = choice["message"]["content"]
        half = content[: len(content) // 2] if isinstance(content, str) else content
        error = {"message": UPSTREAM, "code": self.code}
        return choice | {"message": choice["message"] | {"content": half}, "finish_reason": "error", "error": error}


class Html(Behaviour):
    """A page instead of an answer, with status 200: the sign-in of a network, or a proxy's own."""

    def refusal(self, asked: Asked) -> Response:
        """200, and the page."""
        return Response(PAGE, content_type="text/html; charset=utf-8")
