"""Two embedded endpoints with OpenAI's API: one serves the small model, the other the example's recorded answers."""

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
IMPORT_WITHIN = 60.0  # seconds; enough for a cold disk and two busy cores
AT_ONCE = 3  # calls in flight; with more, two dozen records would end too fast to show progress


class Endpoint(WebPart):
    """An LLM endpoint on this machine for the stack's workers. Requests need no key."""

    health_path: ClassVar[str] = "/health"
    server: ClassVar[str]  # module that serves the model
    arguments: tuple[str, ...]  # of the module `server`, without its port
    model: ClassVar[str]
    worker_settings: ClassVar[Mapping[str, str]]  # environment variables besides URL, key and model

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
        """Return the environment variables that make a worker use this endpoint."""
        return {
            "TAMIS_LLM_BASE_URL": self.base_url,
            "TAMIS_LLM_API_KEY": "local",  # the server needs no key, but the client requires one
            "TAMIS_MODEL": self.model,
            **self.worker_settings,
        }


@cache
def why_no_server() -> str | None:
    """Return why this machine cannot serve the small model; None if it can.

    A child process tries the import of `PACKAGE`, because the import may crash.
    """
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
    """Raise `ConfigurationError` if this machine cannot serve the small model."""
    if (why := why_no_server()) is not None:
        raise ConfigurationError(
            f"the small model cannot run here: {why}. Or use another LLM: set TAMIS_LLM_BASE_URL, TAMIS_MODEL and, "
            "if it needs a key, TAMIS_LLM_API_KEY"
        )


class LlmServer(Endpoint):
    """The endpoint that serves the model in `file`. It answers `PARALLEL` requests at a time; further requests wait."""

    start_within: ClassVar[float] = 120.0  # enough for a cold disk and two busy cores
    title: ClassVar[str] = "the small model"
    server: ClassVar[str] = llm_server.__name__
    model: ClassVar[str] = MODEL_NAME
    worker_settings: ClassVar[Mapping[str, str]] = {
        "TAMIS_BOUNDED_SCHEMA": "true",  # the model obeys only bounds that the grammar enforces
        "TAMIS_LIMIT_CONCURRENCY": str(llm_server.PARALLEL),
        # One item waits behind each running call. Further claimed items would only be released when the worker stops.
        "TAMIS_CONCURRENCY": str(2 * llm_server.PARALLEL),
    }

    def __init__(self, file: Path, log: Path, children: ChildrenFile | None = None) -> None:
        super().__init__(log, children)
        self.arguments = ("--model", str(file), "--alias", MODEL_NAME)


class RecordedAnswers(Endpoint):
    """The endpoint that serves the answers in `tamis_review/example/answers.json`. No model is asked."""

    title: ClassVar[str] = "the recorded answers"
    server: ClassVar[str] = recorded_server.__name__
    model: ClassVar[str] = recorded_server.MODEL_NAME
    worker_settings: ClassVar[Mapping[str, str]] = {"TAMIS_LIMIT_CONCURRENCY": str(AT_ONCE)}
    arguments = ("--answers", str(ANSWERS))
