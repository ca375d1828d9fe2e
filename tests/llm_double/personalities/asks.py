"""Asks for what a plain request does not have, or sends it elsewhere."""

from dataclasses import dataclass
from typing import Any

from ..asked import Asked
from ..connection import Response
from ..errors import Problem
from .behaviour import Behaviour

MOVED = "/moved/v1/chat/completions"  # served as well
REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class AsksForHeader(Behaviour):
    """400 without a header, as gateways and tracing proxies have it."""

    header: str
    says: str | None = None  # None: whatever it says

    def refusal(self, asked: Asked) -> Problem | None:
        """400 that names the header."""
        told = asked.headers.get(self.header.lower())
        if told is None:
            return Problem(400, f"Missing required header: {self.header}", code="missing_header")
        if self.says is not None and told != self.says:
            return Problem(400, f"Invalid value for header {self.header}: {told!r}", code="invalid_header")
        return None


@dataclass(frozen=True)
class AsksForField(Behaviour):
    """400 without a field of the body."""

    field: str
    says: Any = None  # None: whatever it says

    def refusal(self, asked: Asked) -> Problem | None:
        """400 that names the field."""
        if self.field not in asked.body:
            message = f"Missing required parameter: '{self.field}'."
            return Problem(400, message, param=self.field, code="missing_required_parameter")
        if self.says is not None and asked.body[self.field] != self.says:
            message = f"Invalid value for '{self.field}': {asked.body[self.field]!r}."
            return Problem(400, message, param=self.field, code="invalid_value")
        return None


@dataclass(frozen=True)
class Redirects(Behaviour):
    """Sends each call to another place, a whole URL, or to one of its own. Raises ValueError for no such status."""

    status: int = 307
    to: str = MOVED

    def __post_init__(self) -> None:
        if self.status not in REDIRECTS:
            raise ValueError(f"one redirects with one of {REDIRECTS}, not {self.status}")

    def refusal(self, asked: Asked) -> Response | None:
        """The redirection; None for a call that has followed it."""
        if asked.path == MOVED:
            return None
        return Response(status=self.status, headers={"location": self.to})
