"""A service's task as Celery keeps it once it has its answer, and as its events and `celery inspect` show it.

What the sender's Celery made of the arguments (`argsrepr`) and Celery's own words for the result and the error hold
records' texts. The result and the error that the sender gets are none of this, and stay whole.
"""

import re
from typing import Any

from celery.worker.request import Request

from .sent_words import asked_words, error_words, result_words

ANSWER = "tamis_answer"  # the header under which an answer goes to the task's body, inside of this process
NAME = re.compile(r"\w+(?=\()")  # of an exception's class, in its `repr`


def without_content(headers: dict[str, Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    """Have the headers of a message show of its arguments what identifies the task, and nothing else."""
    headers["argsrepr"] = asked_words(headers["task"], args, kwargs)
    headers["kwargsrepr"] = "{}"


class SentRequest(Request):  # type: ignore[misc] # Celery ships no types
    """A request of Celery's whose headers are `without_content`."""

    def info(self, safe: bool = False) -> dict[str, Any]:
        """Return what `inspect` shows: never the arguments."""
        return {**super().info(safe=True), "kwargs": {}}

    def send_event(self, event: str, **fields: Any) -> None:
        """Send an event as an item's: its decision, or the kind of its error without a traceback."""
        answer = self.request_dict.get(ANSWER)
        if "result" in fields:
            fields["result"] = result_words(self.type, self.kwargs, answer)
        if "exception" in fields:
            fields["exception"] = error_words(answer) if isinstance(answer, Exception) else _name(fields["exception"])
            fields["traceback"] = None
        super().send_event(event, **fields)


def _name(shown: str) -> str:
    """The name of what went wrong after the answer."""
    found = NAME.match(shown)
    return "error" if found is None else found[0]
