"""An embedded endpoint: a part that speaks as OpenAI's API does."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from .part import WebPart
from .ports import HOST


class Endpoint(WebPart):
    """Answers about the records that the stack's workers send it; needs no key."""

    health_path: ClassVar[str] = "/health"
    model: ClassVar[str]
    worker_settings: ClassVar[Mapping[str, str]] = MappingProxyType({})  # besides those that name the endpoint

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
