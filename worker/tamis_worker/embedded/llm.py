"""The embedded model as a part of the stack."""

import sys
from pathlib import Path
from typing import ClassVar

from .http_check import answers
from .llm_server import CONTEXT, PARALLEL
from .orphans import ChildrenFile
from .part import Part
from .ports import HOST, free_port
from .process import Command, server_environment

MODEL_NAME = "SmolLM2-135M-Instruct"


class Llm(Part):
    """Serves the model in `file`; answers `PARALLEL` requests at once, and more of them one after the other."""

    start_within: ClassVar[float] = 120.0  # a cold disk and two busy cores

    def __init__(self, file: Path, log: Path, children: ChildrenFile | None = None) -> None:
        super().__init__("llm", children)
        self._file = file
        self._log = log
        self._port: int | None = None

    @property
    def base_url(self) -> str:
        """What an OpenAI client is given. Raises `RuntimeError` where the server was never started."""
        if self._port is None:
            raise RuntimeError("llm was not started: it has no port yet")
        return f"http://{HOST}:{self._port}/v1"

    def prepare(self) -> Command:
        self._port = self._port or free_port()
        return Command(
            name=self.name,
            argv=(
                *(sys.executable, "-m", "tamis_worker.embedded.llm_server", "--model", str(self._file)),
                *("--alias", MODEL_NAME, "--port", str(self._port)),
                *("--parallel", str(PARALLEL), "--ctx", str(CONTEXT)),
            ),
            log=self._log,
            env=server_environment(),
        )

    def healthy(self) -> bool:
        return self._port is not None and answers(self._port, "/health")
