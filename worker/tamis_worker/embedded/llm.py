"""The embedded model as a part of the stack."""

import sys
from pathlib import Path
from typing import ClassVar

from .llm_server import CONTEXT, PARALLEL
from .orphans import ChildrenFile
from .part import WebPart
from .ports import HOST
from .process import Command, server_environment

MODEL_NAME = "SmolLM2-135M-Instruct"


class Llm(WebPart):
    """Serves the model in `file`; answers `PARALLEL` requests at once, and more of them one after the other."""

    start_within: ClassVar[float] = 120.0  # a cold disk and two busy cores
    health_path: ClassVar[str] = "/health"

    def __init__(self, file: Path, log: Path, children: ChildrenFile | None = None) -> None:
        super().__init__("llm", children)
        self._file = file
        self._log = log

    @property
    def base_url(self) -> str:
        """The base URL for an OpenAI client. Raises `RuntimeError` where the server was never started."""
        return f"http://{HOST}:{self.port}/v1"

    def prepare(self) -> Command:
        return Command(
            name=self.name,
            argv=(
                *(sys.executable, "-m", "tamis_worker.embedded.llm_server", "--model", str(self._file)),
                *("--alias", MODEL_NAME, "--port", str(self.choose_port())),
                *("--parallel", str(PARALLEL), "--ctx", str(CONTEXT)),
            ),
            log=self._log,
            env=server_environment(),
        )
