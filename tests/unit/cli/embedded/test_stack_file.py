"""What a stack says of the LLM that its workers ask, for whoever runs beside it."""

from pathlib import Path
from typing import Any

import pytest

from tamis_cli.embedded.stack import Stack
from tamis_worker.config.settings import WorkerSettings

KEY = "sk-s3cret"


@pytest.mark.parametrize(
    ("named", "url"),
    [
        (
            {"llm_base_url": f"https://user:pass-{KEY}@llm.example:8443/v1?key={KEY}", "llm_api_key": KEY},
            "https://llm.example:8443/v1",
        ),
        ({"llm_api_key": KEY}, "https://api.openai.com/v1"),
        ({}, None),
    ],
)
def test_a_paid_endpoint_and_its_model_are_named_without_anything_secret(
    tmp_path: Path, named: dict[str, Any], url: str | None
) -> None:
    settings = WorkerSettings(
        home=tmp_path, broker_url="redis://b/0", database_url="postgresql://d", model="large", **named
    )
    file = Stack(settings, llm="remote")._stack_file()
    assert (file.llm_base_url, file.llm_embedded, file.model) == (url, False, "large")
    assert KEY not in file.model_dump_json()
