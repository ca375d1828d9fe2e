"""The recorded answers to the example's records, served as a part of the stack."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import ClassVar

from tamis_review.example import ANSWERS

from .endpoint import Endpoint
from .recorded_server import MODEL_NAME

AT_ONCE = 3  # calls in flight: with more, nobody would see the progress of two dozen records


class RecordedAnswers(Endpoint):
    """Serves `tamis_producer/example/answers.json`: no model is asked."""

    start_within: ClassVar[float] = 60.0
    title: ClassVar[str] = "the recorded answers"
    module: ClassVar[str] = "tamis_cli.embedded.recorded_server"
    model: ClassVar[str] = MODEL_NAME
    worker_settings = MappingProxyType({"TAMIS_LIMIT_CONCURRENCY": str(AT_ONCE)})

    def arguments(self) -> Sequence[str]:
        return ("--answers", str(ANSWERS))
