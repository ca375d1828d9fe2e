"""An embedded endpoint: a part that speaks as OpenAI's API does."""

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from .orphans import ChildrenFile
from .part import WebPart
from .ports import HOST
from .process import Command, server_environment


class Endpoint(WebPart):
    """Answers about the records that the stack's workers send it; needs no key."""

    health_path: ClassVar[str] = "/health"
    module: ClassVar[str]  # that serves it
    model: ClassVar[str]
    worker_settings: ClassVar[Mapping[str, str]] = MappingProxyType({})  # besides those that name the endpoint

    def __init__(self, log: Path, children: ChildrenFile | None = None) -> None:
        super().__init__("llm", children)
        self._log = log

    @abstractmethod
    def arguments(self) -> Sequence[str]:
        """Return the arguments of the server's module, without its port."""

    def prepare(self) -> Command:
        return Command(
            name=self.name,
            argv=(sys.executable, "-m", self.module, *self.arguments(), "--port", str(self.choose_port())),
            log=self._log,
            env=server_environment(),
        )

    @property
    def base_url(self) -> str:
        """The base URL for an OpenAI client. Raises `RuntimeError` where the server was never started."""
        return f"http://{HOST}:{self.port}/v1"

    @property
    def environment(self) -> Mapping[str, str]:
        """The settings of a worker that asks this endpoint."""
        return {
            "TAMIS_LLM_BASE_URL": self.base_url,
            "TAMIS_LLM_API_KEY": "local",  # the server asks for none, the client for any
            "TAMIS_MODEL": self.model,
            **self.worker_settings,
        }
