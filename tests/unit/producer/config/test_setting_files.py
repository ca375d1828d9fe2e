"""A setting may stand in a file: for secrets, which neither a variable nor a command line should hold."""

from pathlib import Path

import pytest

from tamis_producer.config.redaction import HIDDEN, Redaction
from tamis_producer.config.setting_files import LARGEST, files_named, settings_of
from tamis_producer.config.settings import ProducerSettings
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings

BROKER = "redis://tamis:a-long-s3cret@broker.example:6379/0"
LEDGER = "postgresql+psycopg://tamis:a-long-s3cret@ledger.example/tamis"


def named(monkeypatch: pytest.MonkeyPatch, folder: Path, **texts: str) -> None:
    """Write files, and have `TAMIS_*_FILE` name them."""
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, "utf-8")
        monkeypatch.setenv(f"TAMIS_{name.upper()}_FILE", str(path))


def test_servers_and_keys_are_read_from_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named(monkeypatch, tmp_path, broker_url=f"{BROKER}\n", database_url=f"  {LEDGER}\r\n", llm_api_key="sk-of-a-file\n")
    settings = WorkerSettings.load()
    assert (settings.broker, settings.database) == (BROKER, LEDGER)
    assert settings.llm_api_key is not None
    assert settings.llm_api_key.get_secret_value() == "sk-of-a-file"


def test_any_setting_may_stand_in_a_file_and_is_checked_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named(monkeypatch, tmp_path, shard_size="50", temperature="none")
    settings = WorkerSettings.load()
    assert (settings.shard_size, settings.temperature) == (50, None)
    named(monkeypatch, tmp_path, shard_size="many")
    with pytest.raises(ConfigurationError, match="TAMIS_SHARD_SIZE: "):
        WorkerSettings.load()


def test_a_variable_goes_before_its_file_which_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAMIS_MODEL", "of-the-variable")
    monkeypatch.setenv("TAMIS_MODEL_FILE", str(tmp_path / "nowhere"))
    assert ProducerSettings.load().model == "of-the-variable"


def test_an_empty_file_counts_as_not_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named(monkeypatch, tmp_path, llm_api_key="\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    key = WorkerSettings.load().llm_api_key
    assert key is not None
    assert key.get_secret_value() == "sk-usual"


def test_a_file_that_is_not_there_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAMIS_LLM_API_KEY_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match=r"TAMIS_LLM_API_KEY_FILE: '.*nowhere' cannot be read: No such file"):
        WorkerSettings.load()
    ProducerSettings.load()  # which has no such field, and needs no such file


def test_a_file_that_is_no_setting_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named(monkeypatch, tmp_path, model="m" * (LARGEST + 1))
    with pytest.raises(ConfigurationError, match=r"TAMIS_MODEL_FILE: .*more than 65,536 bytes"):
        ProducerSettings.load()
    (tmp_path / "model").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="TAMIS_MODEL_FILE: "):
        ProducerSettings.load()


def test_a_wrong_url_of_a_file_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named(monkeypatch, tmp_path, broker_url="redis://:a-long-s3cret/@h:6379/0", database_url=LEDGER)
    with pytest.raises(ConfigurationError) as raised:
        ProducerSettings.load()
    assert "a-long-s3cret" not in str(raised.value)


def test_secrets_of_files_are_taken_out_of_texts_and_the_names_of_the_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-of-a-file-1234\n", "utf-8")
    (tmp_path / "url").write_text(BROKER, "utf-8")
    redact = Redaction.of_environment(
        {
            "TAMIS_LLM_API_KEY_FILE": str(tmp_path / "key"),
            "TAMIS_BROKER_URL_FILE": str(tmp_path / "url"),
            "TAMIS_FLOWER_PASSWORD_FILE": str(tmp_path / "nowhere"),
        }
    )
    said = redact(f"sk-of-a-file-1234 of {tmp_path / 'key'}, {BROKER}, {tmp_path / 'nowhere'}")
    assert "sk-of-a-file-1234" not in said
    assert "a-long-s3cret" not in said
    assert HIDDEN in said
    assert str(tmp_path / "key") in said
    assert str(tmp_path / "nowhere") in said


def test_only_our_own_variables_name_files() -> None:
    given = {"TAMIS_MODEL_FILE": "/m", "TAMIS_HOME_FILE": "", "POSTGRES_PASSWORD_FILE": "/p", "TAMIS_PRICES": "/x"}
    assert files_named(given) == {"TAMIS_MODEL": Path("/m")}


def test_a_setting_is_a_variable_in_large_or_small_letters_and_an_empty_one_is_not_set() -> None:
    given = {"tamis_model": "small", "TAMIS_HOME": "", "TAMIS_SHARD_WINDOW": "3", "TAMIS_OTHER": "x", "MODEL": "y"}
    assert settings_of(given, ("model", "home", "shard_window")) == {"model": "small", "shard_window": "3"}


def test_what_is_given_goes_before_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_MODEL", "of-the-variable")
    monkeypatch.setenv("TAMIS_SHARD_WINDOW", "3")
    settings = ProducerSettings(model="given")
    assert (settings.model, settings.shard_window) == ("given", 3)
    assert ProducerSettings.model_validate({"model": "given"}) == settings
