"""Settings that were renamed: their old names work for one more release, and say what to write instead."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis_producer.config import old_names
from tamis_producer.config.old_names import RENAMED, under_new_names
from tamis_producer.config.settings import ProducerSettings
from tamis_schemas import ConfigurationError
from tamis_worker.config.settings import WorkerSettings

FIELDS = WorkerSettings.model_fields


@pytest.fixture(autouse=True)
def nothing_was_warned_of() -> Iterator[None]:
    old_names._warn.cache_clear()
    yield
    old_names._warn.cache_clear()


def test_each_old_name_leads_to_a_setting_of_today_and_is_none_itself() -> None:
    assert set(RENAMED.values()) <= set(FIELDS)
    assert not set(RENAMED) & set(FIELDS)
    assert len(set(RENAMED.values())) == len(RENAMED)


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_variable_works_and_the_first_reading_says_what_to_write(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(f"TAMIS_{old.upper()}", "4")
    assert [getattr(WorkerSettings.load(), new) for _ in range(2)] == [4, 4]
    assert caplog.messages == [
        f"TAMIS_{old.upper()} is called TAMIS_{new.upper()} now; the old name works for one more release"
    ]


def test_an_old_name_may_stand_in_a_file_or_in_small_letters_and_an_empty_one_is_not_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "lease").write_text("7\n", "utf-8")
    monkeypatch.setenv("TAMIS_LEASE_FILE", str(tmp_path / "lease"))
    assert WorkerSettings.load().lease_seconds == 7
    assert caplog.messages == ["TAMIS_LEASE is called TAMIS_LEASE_SECONDS now; the old name works for one more release"]
    monkeypatch.setenv("tamis_lease", "8")
    assert WorkerSettings.load().lease_seconds == 8
    caplog.clear()
    monkeypatch.delenv("tamis_lease")
    monkeypatch.delenv("TAMIS_LEASE_FILE")
    monkeypatch.setenv("TAMIS_LEASE", "")
    assert WorkerSettings.load().lease_seconds == FIELDS["lease_seconds"].default
    assert caplog.messages == []


def test_both_names_may_say_the_same_and_where_they_differ_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAMIS_LEASE", "7")
    monkeypatch.setenv("TAMIS_LEASE_SECONDS", "7")
    assert WorkerSettings.load().lease_seconds == 7
    monkeypatch.setenv("TAMIS_LEASE_SECONDS", "9")
    with pytest.raises(
        ConfigurationError,
        match=r"^TAMIS_LEASE is the old name of TAMIS_LEASE_SECONDS, and their values differ: remove TAMIS_LEASE$",
    ):
        WorkerSettings.load()


def test_a_producer_does_not_mind_a_workers_setting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TAMIS_LEASE", "7")
    monkeypatch.setenv("TAMIS_LEASE_SECONDS", "9")
    ProducerSettings.load()
    assert caplog.messages == []


def test_an_old_keyword_works_too_and_goes_before_the_variable(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TAMIS_LEASE_SECONDS", "9")
    assert WorkerSettings(lease=7).lease_seconds == 7
    assert caplog.messages == ["lease is called lease_seconds now; the old name works for one more release"]
    with pytest.raises(ConfigurationError, match=r"^lease is the old name of lease_seconds, and their values differ"):
        WorkerSettings(lease=7, lease_seconds=8)


def test_what_is_no_old_name_is_left_alone() -> None:
    assert under_new_names({"model": "m", "colour": "red"}) == {"model": "m", "colour": "red"}
