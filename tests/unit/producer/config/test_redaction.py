"""A secret is taken out of a text in whatever form it was put there."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from tamis_producer.config.redaction import HIDDEN, Redaction, secrets_in, shown_url
from tamis_worker.config.settings import WorkerSettings

SECRET = "p@ss/w\"ö r'd\\+=&1???>"  # quoted, escaped and in either base64 it is another text each time
SECRETS = st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=30)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        json.dumps(SECRET),
        repr(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_every_form_is_found(form: str) -> None:
    text = Redaction([SECRET])(f"before {form} after")
    assert HIDDEN in text
    assert text.startswith("before ")
    assert text.endswith(" after")
    assert form.strip("\"'=")[2:-3] not in text


@given(SECRETS, st.binary(max_size=7), st.binary(max_size=7))
def test_in_base64_it_is_found_wherever_it_begins(secret: str, before: bytes, after: bytes) -> None:
    text = base64.b64encode(before + secret.encode() + after).decode()
    assert HIDDEN in Redaction([secret])(text)


@given(SECRETS, st.text(max_size=30), st.text(max_size=30))
def test_nothing_else_is_touched(secret: str, before: str, after: str) -> None:
    redact = Redaction([secret])
    if redact(before) == before and redact(after) == after:
        assert redact(f"{before}\0{secret}\0{after}") == f"{before}\0{HIDDEN}\0{after}"


def test_of_two_secrets_that_begin_alike_nothing_of_the_longer_one_is_left() -> None:
    assert Redaction(["hunter2", "hunter2-hunter2"])("it is hunter2-hunter2") == f"it is {HIDDEN}"


def test_a_webhook_secret_is_found_without_its_prefix() -> None:
    assert Redaction(["whsec_a2V5LW9mLW1pbmU"])("signed with a2V5LW9mLW1pbmU") == f"signed with {HIDDEN}"


def test_short_secrets_and_none_at_all_leave_texts_alone() -> None:
    assert Redaction(["tamis", ""])("tamis is up") == "tamis is up"
    assert Redaction()("text") == "text"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("redis://:hunter2222@host:6379/0", ["hunter2222"]),
        ("redis://user:hunter2222@host/0?ssl_cert_reqs=required", ["hunter2222"]),
        ("redis://:hun/ter@2222@host/0", ["hun/ter@2222"]),  # not quoted, as it should be
        ("postgresql+psycopg://u@h/d?password=hunter2222&sslmode=require", ["u", "hunter2222"]),
        ("https://token-of-mine@llm.example/v1", ["token-of-mine"]),
        ("https://llm.example/v1?api-key=hunter2222", ["hunter2222"]),
        ("redis://host:6379/0", []),
        ("a text with a question? password=none", []),
    ],
)
def test_passwords_in_urls_are_known(url: str, found: list[str]) -> None:
    assert list(secrets_in(url)) == found


def test_a_url_for_people_has_neither_user_nor_query() -> None:
    assert shown_url("https://u:p@llm.example:8080/v1?api-key=x#y") == "https://llm.example:8080/v1"


def test_all_secrets_of_the_settings_are_known() -> None:
    settings = WorkerSettings(
        broker_url="redis://:broker-secret@h/0",
        database_url="postgresql+psycopg://u:ledger-secret@h/d",
        limiter_url="redis://:limiter-secret@h/2",
        llm_api_key=SecretStr("llm-secret"),
        flower_password=SecretStr("flower-secret"),
    )
    text = Redaction.of(settings)("broker-secret ledger-secret limiter-secret llm-secret flower-secret")
    assert text == " ".join([HIDDEN] * 5)


def test_all_secrets_of_the_environment_are_known_even_in_settings_that_are_wrong() -> None:
    environment = {
        "TAMIS_BROKER_URL": "nonsense://x:broker-secret@:::",
        "OPENAI_API_KEY": "openai-secret",
        "FLOWER_BASIC_AUTH": "tamis:flower-secret",
        "TAMIS_MODEL": "a-model",
        "PATH": "of-others",
    }
    redact = Redaction.of_environment(environment)
    assert redact("broker-secret openai-secret flower-secret") == " ".join([HIDDEN] * 3)
    assert redact("a-model of-others") == "a-model of-others"


def test_values_of_further_headers_are_secrets() -> None:
    told = {"TAMIS_EXTRA_HEADERS": '{"X-Key": "hunter2-hunter2", "X-Other": "correct-horse"}'}
    settings = WorkerSettings(
        extra_headers={"X-Key": SecretStr("hunter2-hunter2"), "X-Other": SecretStr("correct-horse")}
    )
    for redact in (Redaction.of_environment(told), Redaction.of(settings)):
        assert redact("the gateway says hunter2-hunter2, correct-horse") == f"the gateway says {HIDDEN}, {HIDDEN}"
    assert Redaction.of_environment({"TAMIS_EXTRA_HEADERS": "hunter2, no JSON"})("hunter2") == "hunter2"
