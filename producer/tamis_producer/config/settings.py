"""The settings of a producer: the addresses of broker and ledger, and the sizes of batches.

The settings are read once from `TAMIS_*` environment variables, or from the files that `TAMIS_*_FILE` name. Without
broker and ledger, the embedded stack that `tamis up` runs from this folder is used: `.tamis/stack.json` has its
addresses.
"""

import os
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from tamis_schemas import ConfigurationError

from .redaction import shown_url
from .sentinel_url import REDIS_SCHEMES, SentinelUrl, is_redis
from .setting_files import settings_of
from .stack_file import StackFile

AMQP_SCHEMES = ("amqp", "amqps", "pyamqp")
NOT_SET = "is not set: set broker and ledger URLs, or neither to use the embedded stack"


URLS = ("broker_url", "result_backend_url", "database_url", "limiter_url", "llm_base_url", "flower_url")


class ProducerSettings(BaseModel):
    """The immutable settings of a process that submits batches. Variables `TAMIS_<NAME>` set the fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        validate_default=True,
        hide_input_in_errors=True,  # an invalid URL may still hold a password
    )

    home: Path = Path(".tamis")  # folder of the embedded stack's data
    # URLs hold passwords: never show them in a repr.
    broker_url: str | None = Field(default=None, repr=False)
    result_backend_url: str | None = Field(default=None, repr=False)  # unset: the broker's server, next database
    limiter_url: str | None = Field(default=None, repr=False)  # unset: the broker's server, database number + 2
    database_url: str | None = Field(default=None, repr=False)
    flower_url: str | None = Field(default=None, repr=False)  # for people; unset: the embedded stack's
    model: str | None = None  # unset: the worker's model
    shard_size: int = Field(default=500, ge=1, le=5000)  # items in one chord
    shard_window: int = Field(default=4, ge=1, le=100)  # shards of a batch in flight at once
    visibility_timeout: int = Field(default=900, ge=1)  # s; a message not acknowledged by then is delivered again
    max_items: int = Field(default=1_000_000, ge=1)  # in a batch
    max_item_bytes: int = Field(default=1_000_000, ge=1_000)  # of an item as JSON
    max_item_depth: int = Field(default=20, ge=1, le=100)  # levels of values inside a field
    max_parameter_bytes: int = Field(default=100_000, ge=1_000)  # of an operation as JSON, sent with every item
    max_schema_depth: int = Field(default=10, ge=1, le=10)  # levels of fields inside fields, the limit of strict modes
    max_schema_properties: int = Field(default=1_000, ge=1, le=1_000)  # properties that a schema requests
    max_file_bytes: int = Field(default=500_000_000, ge=1_000)  # of a file of records
    http_wait_seconds: int = Field(default=60, ge=1, le=300)  # s that an HTTP request waits for its results
    prices: Path | None = None  # file with prices of models, which override Tamis's

    def __init__(self, **values: Any) -> None:
        """Read the settings. Keywords override variables, and variables override the files of `TAMIS_<NAME>_FILE`."""
        super().__init__(**(settings_of(os.environ, type(self).model_fields) | values))

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        """Refuse a ledger without a broker. A broker without a ledger is allowed, because Flower needs no ledger."""
        if self.broker_url is None and self.database_url is not None:
            raise ValueError(f"TAMIS_BROKER_URL {NOT_SET}")
        return self

    @field_validator(*URLS, check_fields=False)
    @classmethod
    def _readable(cls, url: str | None) -> str | None:
        """Check the URLs here, because libraries would show the password of an invalid URL in their messages."""
        if url is None or SentinelUrl.read(url):
            return url
        try:
            _ = urlsplit(url).port
        except ValueError:
            raise ValueError(
                "is not a URL like scheme://user:password@host:port/name; in a password, write /, @, # and ? as %2F, "
                "%40, %23 and %3F"
            ) from None
        return url

    @field_validator("broker_url", "result_backend_url", "limiter_url")
    @classmethod
    def _supported(cls, url: str | None, info: ValidationInfo) -> str | None:
        """Check the scheme, because other code assumes RabbitMQ for every scheme that is not Redis's."""
        schemes = REDIS_SCHEMES + (AMQP_SCHEMES if info.field_name == "broker_url" else ())
        if url is not None and urlsplit(url).scheme not in schemes:
            raise ValueError(f"must begin with {', '.join(f'{scheme}://' for scheme in schemes)}")
        return url

    @field_serializer(*URLS, when_used="json-unless-none", check_fields=False)
    def _shown(self, url: str) -> str:
        """Return the URL without user, password and query. `model_dump` in Python mode gives whole URLs."""
        return shown_url(url)

    @field_validator("flower_url")
    @classmethod
    def _for_browsers(cls, url: str | None) -> str | None:
        """Check that the link cannot run code in a browser."""
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("the address must begin with http:// or https://")
        return url

    @classmethod
    def load(cls) -> Self:
        """Return the settings of this process.

        Raises:
            ConfigurationError: a variable is wrong; the message names it.
        """
        try:
            return cls()
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            name = "_".join(str(part) for part in first["loc"]).upper()
            message = first["msg"].removeprefix("Value error, ")
            raise ConfigurationError(f"TAMIS_{name}: {message}" if name else message) from error

    @cached_property
    def stack(self) -> StackFile | None:
        """The addresses of the servers of `tamis up`; None if `tamis up` does not run, or another broker is set."""
        return None if self.broker_url else StackFile.read(self.home)

    @property
    def batch_model(self) -> str | None:
        """The model for batches that name no model; None: the workers' model.

        The setting `model` is ignored while `tamis up` runs its own small model, which answers under any name.
        """
        return None if self.stack is not None and self.stack.llm_embedded else self.model

    @property
    def broker(self) -> str:
        """The broker's URL. Raises `ConfigurationError` if there is none."""
        return verified(self.broker_url) if self.broker_url else self._embedded().broker_url

    @property
    def result_backend(self) -> str:
        """The result backend's URL. Default: the broker's URL with the next database number."""
        return (
            verified(self.result_backend_url) if self.result_backend_url else self._beside_broker(1, "result_backend")
        )

    @property
    def limiter(self) -> str:
        """The URL of the Redis with the rate limits. Default: the broker's URL with its database number plus two."""
        return verified(self.limiter_url) if self.limiter_url else self._beside_broker(2, "limiter")

    @property
    def redis_urls(self) -> dict[str, str]:
        """The URLs of broker and result backend, with their variables as keys. May raise `ConfigurationError`."""
        return {"TAMIS_BROKER_URL": self.broker, "TAMIS_RESULT_BACKEND_URL": self.result_backend}

    @property
    def database(self) -> str:
        """The ledger's URL. Raises `ConfigurationError` if there is none."""
        if self.database_url is None and self.broker_url is not None:
            raise ConfigurationError(f"TAMIS_DATABASE_URL {NOT_SET}")
        return self.database_url or self._embedded().database_url

    def _beside_broker(self, offset: int, name: str) -> str:
        """Return the broker's URL with a database number that is higher by `offset`.

        Raises `ConfigurationError` if the broker is not Redis.
        """
        if not is_redis(self.broker):
            raise ConfigurationError(
                f"TAMIS_{name.upper()}_URL is not set: it must name a Redis server, because the broker is not Redis: "
                "redis://:password@host:6379/0"
            )
        return next_database(self.broker, offset)

    def _embedded(self) -> StackFile:
        if self.stack is None:
            raise ConfigurationError(
                f"no stack is running in {str(self.home)!r}: start one with `tamis up` in another terminal, "
                "or set TAMIS_BROKER_URL and TAMIS_DATABASE_URL to your own servers"
            )
        return self.stack


def next_database(url: str, offset: int) -> str:
    """Return the URL with a database number that is `offset` higher; a URL without a number counts as database 0.

    Raises:
        ConfigurationError: the URL's path is not a database number.
    """
    parts = urlsplit(url)
    number = parts.path.strip("/") or "0"
    if not number.isdigit():  # it may be a password with an unquoted /, so the message omits it
        raise ConfigurationError(
            "a Redis URL must end in the number of a database: redis://:password@host:6379/0; in a password, write / "
            "and @ as %2F and %40"
        )
    return urlunsplit(parts._replace(path=f"/{int(number) + offset}"))


def verified(url: str) -> str:
    """Return a Redis URL that makes TLS clients check certificates. A URL with `ssl_cert_reqs` stays unchanged.

    Not all libraries check certificates by default.
    """
    parts = urlsplit(url)
    if parts.scheme != "rediss" or "ssl_cert_reqs=" in parts.query:
        return url
    return urlunsplit(parts._replace(query="&".join(filter(None, (parts.query, "ssl_cert_reqs=required")))))
