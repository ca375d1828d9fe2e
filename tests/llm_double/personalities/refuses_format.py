"""Refuses `response_format`, in the words of the servers that do."""

import json
from dataclasses import dataclass

from ..asked import Asked
from ..connection import Response
from ..errors import Problem
from .behaviour import Behaviour

STATUSES = (400, 422, 501)


@dataclass(frozen=True)
class RefusesFormat(Behaviour):
    """Takes no schema; with `every_type` no JSON mode either. Raises ValueError for a status that no server uses."""

    status: int = 400
    every_type: bool = False

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"a format is refused with one of {STATUSES}, not {self.status}")

    def refusal(self, asked: Asked) -> Problem | Response | None:
        """400 as OpenAI says it, 422 as servers do that validate with pydantic, 501 as gateways."""
        if asked.format == "text" or (asked.format == "json_object" and not self.every_type):
            return None
        match self.status:
            case 422:
                allowed = "'text'" if self.every_type else "'text' or 'json_object'"
                told = {
                    "type": "literal_error",
                    "loc": ["body", "response_format", "type"],
                    "msg": f"Input should be {allowed}",
                    "input": asked.format,
                }
                return Response(json.dumps({"detail": [told]}).encode(), status=422)
            case 501:
                return Problem(501, f"response_format {asked.format} is not implemented for this backend", "api_error")
            case _:
                message = (
                    f"Invalid parameter: 'response_format' of type '{asked.format}' is not supported with this model."
                )
                return Problem(400, message, param="response_format")


@dataclass(frozen=True)
class AsksForTheWord(Behaviour):
    """Takes JSON mode only where the messages say "json", as OpenAI and Qwen do."""

    def refusal(self, asked: Asked) -> Problem | None:
        """400 for JSON mode without the word."""
        if asked.format != "json_object" or "json" in asked.prompt.lower():
            return None
        message = (
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        )
        return Problem(400, message, param="messages")


@dataclass(frozen=True)
class FailsItsFormat(Behaviour):
    """Writes freely, validates afterwards, and answers 400 where that fails, as Groq does: nothing of it is an answer.

    The same request may well succeed: script it with `share`.
    """

    def refusal(self, asked: Asked) -> Response | None:
        """400 with what was written, for a request with a format."""
        if asked.format == "text":
            return None
        error = {
            "message": "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.",
            "type": "invalid_request_error",
            "code": "json_validate_failed",
            "failed_generation": 'Sure! {"assessment": "relevant", ',
        }
        return Response(json.dumps({"error": error}).encode(), status=400)
