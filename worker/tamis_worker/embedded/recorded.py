"""The recorded answers to the example's records, served as a part of the stack."""

import sys
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from tamis_producer.example import ANSWERS

from .endpoint import Endpoint
from .orphans import ChildrenFile
from .process import Command, server_environment
from .recorded_server import MODEL_NAME

AT_ONCE = 3  # calls in flight: with more, nobody would see the progress of two dozen records


class RecordedAnswers(Endpoint):
    """Serves `tamis_producer/example/answers.json`: no model is asked."""

    start_within: ClassVar[float] = 60.0
    model: ClassVar[str] = MODEL_NAME
    worker_settings = MappingProxyType({"TAMIS_LIMIT_CONCURRENCY": str(AT_ONCE)})

    def __init__(self, log: Path, children: ChildrenFile | None = None) -> None:
        super().__init__("llm", children)
        self._log = log

    def prepare(self) -> Command:
        return Command(
            name=self.name,
            argv=(
                *(sys.executable, "-m", "tamis_worker.embedded.recorded_server"),
                *("--answers", str(ANSWERS), "--port", str(self.choose_port())),
            ),
            log=self._log,
            env=server_environment(),
        )
