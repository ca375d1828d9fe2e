"""The embedded model as a part of the stack."""

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from tamis_schemas import ConfigurationError

from .endpoint import Endpoint
from .llm_server import CONTEXT, PARALLEL
from .orphans import ChildrenFile
from .process import server_environment
from .restart import why_not_run

MODEL_NAME = "SmolLM2-135M-Instruct"
PACKAGE = "xllamacpp"
IMPORT_WITHIN = 60.0  # seconds; a cold disk and two busy cores


@cache
def why_no_server() -> str | None:
    """Why no model can be served on this machine; None where one can. Asks a process, which may die of the answer."""
    if find_spec(PACKAGE) is None:
        return f"the package {PACKAGE} is not installed: pip install 'tamis[local]'"
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"import {PACKAGE}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=IMPORT_WITHIN,
            env=server_environment(),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the package {PACKAGE} does not load: {error}"
    if done.returncode == 0:
        return None
    return f"the package {PACKAGE} does not load: {why_not_run(done.stderr, done.returncode)}"


def need_server() -> None:
    """Raise `ConfigurationError` where no model can be served on this machine."""
    if (why := why_no_server()) is not None:
        raise ConfigurationError(
            f"the small model cannot be served here: {why}. Or name an LLM with TAMIS_LLM_BASE_URL and "
            "TAMIS_MODEL, and TAMIS_LLM_API_KEY where it asks for one"
        )


class Llm(Endpoint):
    """Serves the model in `file`; answers `PARALLEL` requests at once, and more of them one after the other."""

    start_within: ClassVar[float] = 120.0  # a cold disk and two busy cores
    title: ClassVar[str] = "the small model"
    module: ClassVar[str] = "tamis_cli.embedded.llm_server"
    model: ClassVar[str] = MODEL_NAME
    worker_settings = MappingProxyType(
        {
            "TAMIS_BOUNDED_SCHEMA": "true",  # the model knows no bound that is not in its grammar
            "TAMIS_LIMIT_CONCURRENCY": str(PARALLEL),
            # One item waits behind each that is being answered; more claims would only be given back at a stop.
            "TAMIS_CONCURRENCY": str(2 * PARALLEL),
        }
    )

    def __init__(self, file: Path, log: Path, children: ChildrenFile | None = None) -> None:
        super().__init__(log, children)
        self._file = file

    def arguments(self) -> Sequence[str]:
        model = ("--model", str(self._file), "--alias", MODEL_NAME)
        return (*model, "--parallel", str(PARALLEL), "--ctx", str(CONTEXT))
