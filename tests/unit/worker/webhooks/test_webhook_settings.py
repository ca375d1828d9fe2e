"""The secret that webhooks are signed with, as a setting."""

import base64
from pathlib import Path

import pytest

from tamis_producer.config.redaction import HIDDEN, Redaction
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings


def secret(length: int) -> str:
    return "whsec_" + base64.b64encode(b"k" * length).decode()


@pytest.mark.parametrize("length", [24, 32, 64])
def test_a_secret_may_come_as_a_file_and_is_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, length: int
) -> None:
    (tmp_path / "secret").write_text(f"{secret(length)}\n")
    monkeypatch.setenv("TAMIS_WEBHOOK_SECRET_FILE", str(tmp_path / "secret"))
    settings = WorkerSettings.load()
    assert settings.webhook_secret is not None
    assert settings.webhook_secret.get_secret_value() == secret(length)
    assert secret(length) not in repr(settings)
    for redact in (Redaction.of(settings), Redaction.of_environment()):
        assert redact(f"signed with {secret(length)}") == f"signed with {HIDDEN}"
        assert redact(f"signed with {secret(length)[6:]}") == f"signed with {HIDDEN}", "without what it begins with"


@pytest.mark.parametrize("wrong", [secret(23), secret(65), secret(24)[6:], "whsec_", "whsec_not base64!", "hunter2"])
def test_what_is_no_secret_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("TAMIS_WEBHOOK_SECRET", wrong)
    with pytest.raises(ConfigurationError, match=r"TAMIS_WEBHOOK_SECRET: a webhook secret must be whsec_") as refused:
        WorkerSettings.load()
    assert wrong.removeprefix("whsec_") not in str(refused.value) or wrong == "whsec_"
