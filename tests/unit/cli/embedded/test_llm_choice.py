"""Which LLM `tamis up` takes, and what it says where there is none."""

from typing import Literal

import pytest
from rich.console import Console

from tamis_cli.embedded import commands
from tamis_cli.embedded.stack import LlmChoice
from tamis_worker.config.settings import WorkerSettings

WHY = "the package xllamacpp is not installed"


@pytest.mark.parametrize(
    ("wanted", "base_url", "why", "choice"),
    [
        ("auto", None, None, "local"),
        ("auto", None, WHY, "none"),
        ("auto", "http://llm.example/v1", None, "remote"),
        ("auto", "http://llm.example/v1", WHY, "remote"),
        ("local", None, WHY, "local"),  # refused when the stack starts
        ("remote", None, None, "remote"),  # the same
    ],
)
def test_an_llm_that_is_named_is_taken_else_the_small_model_where_it_can_be_served(
    wanted: Literal["auto", "local", "remote"],
    base_url: str | None,
    why: str | None,
    choice: LlmChoice,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(commands, "why_no_server", lambda: why)
    assert commands._choice(WorkerSettings(llm_base_url=base_url), wanted) == choice


def test_without_one_the_settings_are_named_and_so_is_an_endpoint_that_answers_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint = "TAMIS_LLM_BASE_URL=http://127.0.0.1:11434/v1 TAMIS_MODEL=qwen3:8b (Ollama's usual port)"
    monkeypatch.setattr(commands, "why_no_server", lambda: WHY)
    for found in ([], [endpoint]):
        monkeypatch.setattr(commands, "local_endpoints", lambda found=found: found)
        console = Console(width=40)
        with console.capture() as said:
            commands._say_how_to_name_one(console)
        assert all(word in said.get() for word in (WHY, "TAMIS_LLM_API_KEY", "TAMIS_MODEL", "TAMIS_LLM_BASE_URL"))
        # In one line, to be copied.
        assert ("TAMIS_LLM_BASE_URL=http://127.0.0.1:11434/v1 TAMIS_MODEL=qwen3:8b" in said.get()) == bool(found)
