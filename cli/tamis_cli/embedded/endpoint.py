"""The embedded endpoints with OpenAI's API: the small model, and the example's recorded answers."""

import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from tamis_review.example import ANSWERS
from tamis_schemas import ConfigurationError

from . import llm_server, recorded_server
from .part import WebPart
from .ports import HOST
from .process import ChildrenFile, Command, ask_program, why_not_run

MODEL_NAME = "SmolLM2-135M-Instruct"
PACKAGE = "xllamacpp"
IMPORT_WITHIN = 60.0  # seconds; a cold disk and two busy cores
AT_ONCE = 3  # calls for recorded answers in flight; more would hide the progress of two dozen records


class Endpoint(WebPart):
    """An endpoint that the stack's workers ask. It needs no key."""

    health_path: ClassVar[str] = "/health"
    server: ClassVar[str]  # module that serves the model
    arguments: tuple[str, ...]  # of that module, without its port
    model: ClassVar[str]
    worker_settings: ClassVar[Mapping[str, str]]  # besides URL, key and model

    def __init__(self, log: Path, children: ChildrenFile | None = None) -> None:
        super().__init__("llm", log, children=children)

    def prepare(self) -> Command:
        return self.command(sys.executable, "-m", self.server, *self.arguments, "--port", str(self.choose_port()))

    @property
    def base_url(self) -> str:
        """Return the base URL for an OpenAI client. Raise `RuntimeError` if the server was never started."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the environment variables of a worker that uses this endpoint."""
        return {
            "TAMIS_LLM_BASE_URL": self.base_url,
            "TAMIS_LLM_API_KEY": "local",  # the server needs none, the client any
            "TAMIS_MODEL": self.model,
            **self.worker_settings,
        }


@cache
def why_no_server() -> str | None:
    """Return why no model can be served here, or None. A child process checks this, because the check may crash."""
    if find_spec(PACKAGE) is None:
        return f"the package {PACKAGE} is not installed: pip install 'tamis[local]'"
    try:
        done = ask_program(sys.executable, "-c", f"import {PACKAGE}", within=IMPORT_WITHIN)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the package {PACKAGE} does not load: {error}"
    if done.returncode == 0:
        return None
    return f"the package {PACKAGE} does not load: {why_not_run(done.stderr, done.returncode)}"


def need_server() -> None:
    """Raise `ConfigurationError` if no model can be served on this machine."""
    if (why := why_no_server()) is not None:
        raise ConfigurationError(
            f"the small model cannot run here: {why}. Or use another LLM: set TAMIS_LLM_BASE_URL, TAMIS_MODEL and, "
            "if it needs a key, TAMIS_LLM_API_KEY"
        )


class LlmServer(Endpoint):
    """The server of the model in `file`. It answers `PARALLEL` requests at a time; further requests wait."""

    start_within: ClassVar[float] = 120.0  # a cold disk and two busy cores
    title: ClassVar[str] = "the small model"
    server: ClassVar[str] = llm_server.__name__
    model: ClassVar[str] = MODEL_NAME
    worker_settings: ClassVar[Mapping[str, str]] = {
        "TAMIS_BOUNDED_SCHEMA": "true",  # the model follows only bounds in its grammar
        "TAMIS_LIMIT_CONCURRENCY": str(llm_server.PARALLEL),
        # One item waits behind each running call. If a worker claimed more, it would only release them when it stops.
        "TAMIS_CONCURRENCY": str(2 * llm_server.PARALLEL),
    }

    def __init__(self, file: Path, log: Path, children: ChildrenFile | None = None) -> None:
        super().__init__(log, children)
        self.arguments = ("--model", str(file), "--alias", MODEL_NAME)


class RecordedAnswers(Endpoint):
    """The server of the answers in `tamis_review/example/answers.json`, which asks no model."""

    title: ClassVar[str] = "the recorded answers"
    server: ClassVar[str] = recorded_server.__name__
    model: ClassVar[str] = recorded_server.MODEL_NAME
    worker_settings: ClassVar[Mapping[str, str]] = {"TAMIS_LIMIT_CONCURRENCY": str(AT_ONCE)}
    arguments = ("--answers", str(ANSWERS))
