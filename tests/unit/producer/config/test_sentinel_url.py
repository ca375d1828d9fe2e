"""A URL of Sentinels is read once, and becomes what Celery, Redis-py and people need."""

import pytest

from tamis_producer import ProducerSettings
from tamis_producer.config.redaction import secrets_in
from tamis_producer.config.sentinel_url import SentinelUrl
from tamis_producer.config.settings import next_database
from tamis_producer.transport.broker import make_app, place
from tamis_schemas import ConfigurationError

TWO = "sentinel://:s3cret@h1:26379,h2:26380/3?master_name=main"


@pytest.mark.parametrize(
    ("url", "read", "celery"),
    [
        (
            TWO,
            SentinelUrl((("h1", 26379), ("h2", 26380)), "main", 3, {"password": "s3cret"}, {}, {}),
            "sentinel://:s3cret@h1:26379/3;sentinel://:s3cret@h2:26380/3",
        ),
        (
            "sentinel://h1?master_name=main",
            SentinelUrl((("h1", 26379),), "main", 0, {}, {}, {}),
            "sentinel://h1:26379/0",
        ),
        (
            "sentinel://tamis:s%2F%40c@[::1]:1,h2/0?master_name=a+b&sentinel_username=u&sentinel_password=o%26r",
            SentinelUrl(
                (("::1", 1), ("h2", 26379)),
                "a b",
                0,
                {"username": "tamis", "password": "s/@c"},
                {"username": "u", "password": "o&r"},
                {},
            ),
            "sentinel://tamis:s%2F%40c@[::1]:1/0;sentinel://tamis:s%2F%40c@h2:26379/0",
        ),
        (
            "sentinel://h1/0?master_name=main&ssl_cert_reqs=required&ssl_ca_certs=/ca.pem",
            SentinelUrl((("h1", 26379),), "main", 0, {}, {}, {"ssl_cert_reqs": "required", "ssl_ca_certs": "/ca.pem"}),
            "sentinel://h1:26379/0",
        ),
    ],
)
def test_a_url_of_sentinels_has_parts_and_celery_s_form(url: str, read: SentinelUrl, celery: str) -> None:
    assert SentinelUrl.read(url) == read
    assert read.celery_url == celery


@pytest.mark.parametrize("url", ["redis://:s3cret@h:6379/0", "rediss://h", "unix:///run/redis.sock", "amqp://h//"])
def test_another_url_is_none_of_sentinels(url: str) -> None:
    assert SentinelUrl.read(url) is None


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sentinel://:s3cret@h1,h2/0", "names no service: add ?master_name=NAME"),
        ("sentinel://:s3cret@h1/0?master_name=", "names no service"),
        ("sentinel://:s3cret@h1/mymaster/0?master_name=m", "is not a URL of Sentinels: write sentinel://"),
        ("sentinel://:s3cret@h1:x/0?master_name=m", "is not a URL of Sentinels"),
        ("sentinel://:s3cret@/0?master_name=m", "is not a URL of Sentinels"),
        ("sentinel://:s3cret@h1,/0?master_name=m", "is not a URL of Sentinels"),
        ("sentinel://:s3cret@h1/0?service_name=m", "has the unknown option 'service_name': use master_name"),
        ("sentinel://:s3cret@h1:1/0;sentinel://:s3cret@h2:1/0?master_name=m", "has Celery's form"),
    ],
)
def test_a_wrong_url_of_sentinels_is_refused_in_one_line_with_the_setting_and_without_the_password(
    url: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_BROKER_URL", url)
    with pytest.raises(ConfigurationError) as refused:
        ProducerSettings.load()
    assert str(refused.value).startswith(f"TAMIS_BROKER_URL: {says}")
    assert "s3cret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_sentinels_serve_three_databases_and_are_named_without_a_password() -> None:
    settings = ProducerSettings(broker_url=TWO, database_url="postgresql+psycopg://h/d")
    assert settings.result_backend == next_database(TWO, 1) == TWO.replace("/3", "/4")
    assert place(TWO) == "main (Sentinels h1:26379, h2:26380)"
    assert list(secrets_in(f"{TWO}&sentinel_password=other")) == ["s3cret", "other"]


def test_celery_gets_the_options_that_its_tools_read() -> None:
    url = f"{TWO}&sentinel_password=other&ssl_ca_certs=/ca.pem"
    app = make_app(ProducerSettings(broker_url=url, database_url="postgresql+psycopg://h/d"))
    options = app.conf.broker_transport_options
    assert options["master_name"] == "main"
    assert options["sentinel_kwargs"]["password"] == "other"
    assert options["sentinel_kwargs"]["ssl"] is True
    assert app.conf.broker_use_ssl == {"ssl_ca_certs": "/ca.pem"}
    assert app.connection().as_uri().startswith("sentinel://")
    assert "s3cret" not in app.backend.as_uri() + app.connection().as_uri()
