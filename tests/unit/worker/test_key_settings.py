"""Which of the ways to name a key goes before which."""

from pathlib import Path

import pytest

from tamis_producer.config.redaction import HIDDEN, LEARNED, Redaction
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import OPENAI_URL, WorkerSettings
from tamis_worker.llm.api_key import CommandKey, FileKey, FixedKey, key_source

VARIABLE = {"TAMIS_LLM_API_KEY": "sk-variable"}
COMMAND = {"TAMIS_LLM_API_KEY_COMMAND": "print-key --for us"}
USUAL = {"OPENAI_API_KEY": "sk-usual"}
FILE, EMPTY = {"TAMIS_LLM_API_KEY_FILE": "full"}, {"TAMIS_LLM_API_KEY_FILE": "empty"}


@pytest.mark.parametrize(
    ("environment", "kind", "key"),
    [
        (VARIABLE | FILE | COMMAND | USUAL, FixedKey, "sk-variable"),
        (FILE | COMMAND | USUAL, FileKey, "sk-file"),
        (FILE | USUAL, FileKey, "sk-file"),
        (COMMAND | USUAL, CommandKey, None),
        (EMPTY | COMMAND, CommandKey, None),
        (EMPTY | USUAL, FixedKey, "sk-usual"),
        (EMPTY, FileKey, None),
        (USUAL, FixedKey, "sk-usual"),
        ({}, FixedKey, None),
    ],
)
def test_a_variable_goes_before_a_file_a_file_before_a_command_and_the_usual_variable_last(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environment: dict[str, str], kind: type, key: str | None
) -> None:
    (tmp_path / "full").write_text("sk-file\n")
    (tmp_path / "empty").touch()
    monkeypatch.chdir(tmp_path)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = WorkerSettings.load()
    found = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    assert found == key
    source = key_source(
        found or "", file=settings.llm_api_key_file, command=settings.llm_api_key_command, learn=lambda key: None
    )
    assert type(source) is kind


def test_a_command_names_an_llm_as_a_key_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not WorkerSettings.load().names_an_llm
    monkeypatch.setenv("TAMIS_LLM_API_KEY_COMMAND", "print-key")
    settings = WorkerSettings.load()
    assert settings.names_an_llm
    assert settings.endpoint == OPENAI_URL
    assert "print-key" not in repr(settings)


@pytest.mark.parametrize("command", ["' ", "   "])
def test_a_command_that_is_none_ends_the_process_with_its_name(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("TAMIS_LLM_API_KEY_COMMAND", command)
    with pytest.raises(ConfigurationError, match="TAMIS_LLM_API_KEY_COMMAND"):
        WorkerSettings.load()


def test_a_renewed_key_is_taken_out_of_every_text_from_then_on() -> None:
    redact = Redaction(["password-1"])
    assert redact("sk-renewed-1") == "sk-renewed-1"
    for n in range(LEARNED):
        redact.learn(f"sk-renewed-{n}")
        redact.learn(f"sk-renewed-{n}")
    told = redact(" ".join(["password-1", *(f"sk-renewed-{n}" for n in range(LEARNED))]))
    assert told == " ".join([HIDDEN] * (1 + LEARNED))
    redact.learn("sk-another")  # the oldest has expired by then
    assert redact("sk-renewed-0 password-1 sk-renewed-1") == f"sk-renewed-0 {HIDDEN} {HIDDEN}"
