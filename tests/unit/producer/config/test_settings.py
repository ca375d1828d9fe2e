"""Settings come from the environment, once; a wrong one is named."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from tamis_producer import ProducerSettings
from tamis_producer.config.settings import next_database
from tamis_producer.config.stack_file import StackFile
from tamis_schemas import ConfigurationError, Steering, Tier, TierFallback
from tamis_worker.config.settings import WorkerSettings

Put = Callable[..., None]

SERVERS = {
    "TAMIS_BROKER_URL": "redis://:s3cret@broker.example:6379/3",
    "TAMIS_DATABASE_URL": "postgresql+psycopg://tamis:s3cret@ledger.example/tamis",
}


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Put:
    monkeypatch.chdir(tmp_path)

    def put(**values: str) -> None:
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return put


def test_named_servers_are_used(environ: Put) -> None:
    environ(**SERVERS)
    settings = ProducerSettings.load()
    assert settings.broker == SERVERS["TAMIS_BROKER_URL"]
    assert settings.database == SERVERS["TAMIS_DATABASE_URL"]
    assert settings.result_backend == "redis://:s3cret@broker.example:6379/4"


def test_broker_backend_and_limiter_use_three_databases(environ: Put) -> None:
    environ(**SERVERS)
    settings = WorkerSettings.load()
    assert [url.rsplit("/", 1)[1] for url in (settings.broker, settings.result_backend, settings.limiter)] == [
        "3",
        "4",
        "5",
    ]


def test_beside_rabbitmq_the_redis_for_chords_and_limit_must_be_named(environ: Put) -> None:
    environ(**SERVERS | {"TAMIS_BROKER_URL": "amqp://user:s3cret@rabbit.example//"})
    for setting, variable in (("result_backend", "TAMIS_RESULT_BACKEND_URL"), ("limiter", "TAMIS_LIMITER_URL")):
        with pytest.raises(ConfigurationError, match=f"{variable} is not set") as unset:
            getattr(WorkerSettings.load(), setting)
        assert "s3cret" not in str(unset.value)
        environ(**{variable: "redis://h/1"})
        assert getattr(WorkerSettings.load(), setting) == "redis://h/1"


def test_no_password_and_no_key_is_in_a_repr_or_in_json(environ: Put) -> None:
    environ(**SERVERS, TAMIS_LLM_API_KEY="sk-s3cret", TAMIS_LLM_BASE_URL="https://me:s3cret@models.example/v1")
    settings = WorkerSettings.load()
    assert "s3cret" in settings.broker
    for text in (repr(settings), str(settings), settings.model_dump_json(), str(settings.model_dump(mode="json"))):
        assert "s3cret" not in text
    assert settings.model_dump(mode="json")["llm_base_url"] == "https://models.example/v1"


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"TAMIS_SHARD_SIZE": "many"}, "TAMIS_SHARD_SIZE: "),
        ({"TAMIS_SHARD_SIZE": "0"}, "TAMIS_SHARD_SIZE: "),
        ({"TAMIS_LIMIT_RPM": "-1"}, "TAMIS_LIMIT_RPM: "),
        ({"TAMIS_TEMPERATURE": "hot"}, "TAMIS_TEMPERATURE: "),
        ({"TAMIS_DATABASE_URL": "postgresql://h/t"}, "TAMIS_BROKER_URL is not set"),
        ({"TAMIS_FLOWER_URL": "javascript:alert(1)"}, "TAMIS_FLOWER_URL: the address must begin"),
    ],
)
def test_a_wrong_setting_is_named(environ: Put, values: dict[str, str], named: str) -> None:
    environ(**values)
    with pytest.raises(ConfigurationError, match=named):
        WorkerSettings.load()


def test_a_ledger_that_is_missing_is_named_by_whoever_needs_it_and_flower_does_not(environ: Put) -> None:
    environ(TAMIS_BROKER_URL="redis://h/0")
    settings = WorkerSettings.load()
    assert settings.result_backend == "redis://h/1"
    with pytest.raises(ConfigurationError, match="TAMIS_DATABASE_URL is not set: set broker and ledger"):
        _ = settings.database


def test_an_empty_variable_counts_as_not_set(environ: Put) -> None:
    environ(TAMIS_BROKER_URL="", TAMIS_SHARD_SIZE="")
    assert ProducerSettings.load().shard_size == 500


def test_without_servers_the_running_stack_is_used(environ: Put, tmp_path: Path) -> None:
    environ(TAMIS_HOME=str(tmp_path))
    with pytest.raises(ConfigurationError, match="tamis up"):
        _ = ProducerSettings.load().broker
    stack = StackFile(
        broker_url="redis://b/0",
        database_url="postgresql://d",
        llm_base_url="http://l/v1",
        llm_embedded=True,
        model="small",
    )
    stack.write(tmp_path)
    settings = WorkerSettings.load()
    assert (settings.broker, settings.database) == ("redis://b/0", "postgresql://d")
    assert (settings.endpoint, settings.default_model) == ("http://l/v1", "small")


def test_the_paid_endpoint_of_a_running_stack_is_not_asked_by_others(environ: Put, tmp_path: Path) -> None:
    stack = StackFile(
        broker_url="redis://b/0", database_url="postgresql://d", llm_base_url="https://paid.example/v1", model="large"
    )
    stack.write(tmp_path)
    environ(TAMIS_HOME=str(tmp_path))
    with pytest.raises(ConfigurationError, match="TAMIS_LLM_API_KEY"):
        _ = WorkerSettings.load().endpoint


@pytest.mark.parametrize(("embedded", "asked"), [(True, None), (False, "large")])
def test_a_batch_asks_for_the_model_set_here_unless_the_embedded_one_answers_everything(
    environ: Put, tmp_path: Path, embedded: bool, asked: str | None
) -> None:
    stack = StackFile(broker_url="redis://b/0", database_url="postgresql://d", llm_embedded=embedded, model="small")
    stack.write(tmp_path)
    environ(TAMIS_HOME=str(tmp_path), TAMIS_MODEL="large")
    assert ProducerSettings.load().batch_model == asked


def test_the_usual_names_of_key_and_endpoint_stand_in(environ: Put) -> None:
    environ(**SERVERS, OPENAI_API_KEY="sk-1", OPENAI_BASE_URL="http://usual/v1/", TAMIS_MODEL="m")
    settings = WorkerSettings.load()
    assert settings.names_an_llm
    assert settings.endpoint == "http://usual/v1"
    assert settings.llm_api_key is not None
    assert settings.llm_api_key.get_secret_value() == "sk-1"


def test_tamis_own_names_go_before_the_usual_ones(environ: Put) -> None:
    environ(OPENAI_API_KEY="sk-1", OPENAI_BASE_URL="http://usual/v1", TAMIS_LLM_BASE_URL="http://own/v1")
    assert WorkerSettings.load().endpoint == "http://own/v1"


def test_a_key_alone_means_openais_own_endpoint(environ: Put) -> None:
    environ(TAMIS_LLM_API_KEY="sk-1")
    assert WorkerSettings.load().endpoint == "https://api.openai.com/v1"


def test_no_llm_and_no_model_say_what_to_set(environ: Put) -> None:
    environ(**SERVERS)
    with pytest.raises(ConfigurationError, match="TAMIS_LLM_API_KEY"):
        _ = WorkerSettings.load().endpoint
    with pytest.raises(ConfigurationError, match="TAMIS_MODEL is not set"):
        _ = WorkerSettings.load().default_model


def test_temperature_can_be_left_out(environ: Put) -> None:
    environ(TAMIS_TEMPERATURE="none")
    assert WorkerSettings.load().temperature is None


@pytest.mark.parametrize(
    ("url", "after"),
    [
        ("redis://h", "redis://h/1"),
        ("redis://h/", "redis://h/1"),
        ("rediss://u:p@h:1/7?ssl_cert_reqs=required", "rediss://u:p@h:1/8?ssl_cert_reqs=required"),
    ],
)
def test_the_next_database_keeps_everything_else(url: str, after: str) -> None:
    assert next_database(url, 1) == after


def test_a_path_that_is_no_database_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must end in the number of a database"):
        next_database("redis://h/queue", 1)


def test_a_workers_steering_comes_from_its_settings(environ: Put, tmp_path: Path) -> None:
    (tmp_path / "headers").write_text('{"X-Key": "hunter2-hunter2"}\n', "utf-8")
    environ(
        TAMIS_REASONING_EFFORT="low",
        TAMIS_EXTRA_BODY='{"top_p": 0.9}',
        TAMIS_EXTRA_HEADERS_FILE="headers",
        TAMIS_TIER="flex",
        TAMIS_TIER_PATIENCE="90",
        TAMIS_TIER_FALLBACK="wait",
    )
    settings = WorkerSettings.load()
    assert settings.steering == Steering(
        reasoning_effort="low",
        extra_body={"top_p": 0.9},
        extra_headers={"X-Key": "hunter2-hunter2"},
        tier=Tier.FLEX,
        tier_patience=90,
        tier_fallback=TierFallback.WAIT,
    )
    assert "hunter2" not in repr(settings) + str(settings)


def test_without_settings_nothing_is_sent(environ: Put) -> None:
    steering = WorkerSettings.load().steering
    assert (steering.options, steering.extra_headers, steering.patience, steering.waits) == ({}, {}, 600.0, False)


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("TAMIS_REASONING_EFFORT", "Very high", "low, medium, high"),
        ("TAMIS_EXTRA_BODY", "{top_p: hunter2-hunter2}", "not a JSON object"),
        ("TAMIS_EXTRA_BODY", '["hunter2-hunter2"]', "not a JSON object"),
        ("TAMIS_EXTRA_BODY", '{"messages": "hunter2-hunter2"}', "the operation sets it"),
        ("TAMIS_EXTRA_HEADERS", "X-Key: hunter2-hunter2", "not a JSON object"),
        ("TAMIS_EXTRA_HEADERS", '{"X-Key": ["hunter2-hunter2"]}', "double quotes"),
        ("TAMIS_EXTRA_HEADERS", '{"Authorization": "hunter2-hunter2"}', "TAMIS_LLM_API_KEY"),
        ("TAMIS_EXTRA_HEADERS", '{"X-Key": "hunter2-hunter2\\n"}', "must be one line"),
        ("TAMIS_TIER", "cheap", "'flex'"),
        ("TAMIS_TIER_PATIENCE", "-1", "greater"),
        ("TAMIS_TIER_FALLBACK", "never", "'wait'"),
        ("TAMIS_FLEX_CALL_TIMEOUT", "0", "greater"),
    ],
)
def test_a_wrong_steering_names_its_variable_and_repeats_no_value(
    environ: Put, variable: str, value: str, complaint: str
) -> None:
    environ(**{variable: value})
    with pytest.raises(ConfigurationError, match=f"{variable}: .*{complaint}") as wrong:
        WorkerSettings.load()
    assert "hunter2" not in str(wrong.value)


@pytest.mark.parametrize(
    ("field", "url"),
    [
        ("broker_url", "valkey://:s3cret@host/0"),
        ("broker_url", "localhost:6379"),
        ("limiter_url", "amqp://user:s3cret@host//"),
        ("result_backend_url", "unix:///run/redis.sock"),
    ],
)
def test_a_url_of_a_server_that_cannot_be_used_is_refused_with_those_that_can(field: str, url: str) -> None:
    usual = {"broker_url": "redis://host/0", "database_url": "postgresql://host/tamis"}
    with pytest.raises(ValidationError, match="must begin with redis://, rediss://, sentinel://") as refused:
        ProducerSettings.model_validate(usual | {field: url})
    assert ("amqp://" in str(refused.value)) == (field == "broker_url")
    assert "s3cret" not in str(refused.value)
