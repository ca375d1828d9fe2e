"""What the double remembers of a call. It never keeps an API key."""

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Record:
    """A call; times are of the machine's monotonic clock."""

    number: int
    body: dict[str, Any]
    key_present: bool
    key_matches: bool
    in_flight: int
    started: float
    ended: float | None = None
    status: int | None = None
    fault: str | None = None
    content: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields of `double.Call`."""
        told = {name: getattr(self, name) for name in self.__slots__ if name != "body"}
        parameters = {n: v for n, v in self.body.items() if n not in ("model", "messages", "response_format")}
        return told | {
            "model": str(self.body.get("model")),
            "messages": self.body["messages"],
            "response_format": self.body.get("response_format"),
            "parameters": parameters,
        }
