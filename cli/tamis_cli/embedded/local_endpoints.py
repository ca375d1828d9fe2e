"""LLM servers that others run on this machine: looked for at their usual ports, to be named to whoever has none."""

from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

from tamis_worker.llm.model_list import LONGEST, names_in

from .ports import HOST

USUAL_PORTS = {11434: "Ollama", 8080: "llama-server", 8000: "vLLM"}
WITHIN = 2.0  # seconds


@dataclass(frozen=True)
class LocalEndpoint:
    """An endpoint that lists models."""

    name: str  # of the program that usually listens there
    base_url: str
    models: tuple[str, ...]

    def __str__(self) -> str:
        model = self.models[0] if self.models else "..."
        return f"TAMIS_LLM_BASE_URL={self.base_url} TAMIS_MODEL={model} ({self.name}'s usual port)"


def local_endpoints(ports: Mapping[int, str] = USUAL_PORTS) -> list[LocalEndpoint]:
    """The endpoints that answer now. No model is asked, and none is chosen: what they cost and can is not known."""
    return [
        LocalEndpoint(name, f"http://{HOST}:{port}/v1", models)
        for port, name in ports.items()
        if (models := _models(port)) is not None
    ]


def _models(port: int) -> tuple[str, ...] | None:
    """The models that a server on this machine lists; None where nobody listens, or no such server."""
    connection = HTTPConnection(HOST, port, timeout=WITHIN)
    try:
        connection.request("GET", "/v1/models")
        answer = connection.getresponse()
        return names_in(answer.read(LONGEST)) if answer.status == 200 else None
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        connection.close()
