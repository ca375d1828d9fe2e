"""The workers' part in the command line: rendering prompts as they do, for `--dry-run` and `tamis criteria check`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # every command installs it, and few use it
    from tamis_producer.runs.dry_run import BeginningOf, Rehearse


@dataclass(frozen=True)
class WorkersPart:
    """The two functions that need a worker's prompts."""

    rehearse: "Rehearse"
    beginning_of: "BeginningOf"


_installed: list[WorkersPart] = []


def install(rehearse: "Rehearse", beginning_of: "BeginningOf") -> None:
    """Let `--dry-run` render prompts with this: the worker's floor does when it completes the command line."""
    _installed[:] = [WorkersPart(rehearse, beginning_of)]


def installed() -> WorkersPart | None:
    """The part that is installed; None where the producer stands alone."""
    return _installed[0] if _installed else None
