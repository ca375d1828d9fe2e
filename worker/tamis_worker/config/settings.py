"""The settings of a worker, in addition to a producer's: LLM, limits, speed and times."""

import ipaddress
import json
import os
import re
from base64 import b64decode
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from tamis_producer.config.redaction import WEBHOOK_PREFIX
from tamis_producer.config.setting_files import files_named
from tamis_producer.config.settings import ProducerSettings
from tamis_schemas import ConfigurationError, Steering, Tier, TierFallback
from tamis_schemas.batches.steering import TIER_PATIENCE, Effort, ExtraBody, checked_headers
from tamis_schemas.batches.steering import Patience as TierPatience

from ..evaluation import RECALL_THRESHOLD
from ..llm.api_key import TTL, words_of
from ..llm.prompt_cache import Breakpoint

OPENAI_URL = "https://api.openai.com/v1"
WEBHOOK_SECRET_BYTES = range(24, 65)  # as in Standard Webhooks
FLOWER_PASSWORD_LENGTH = 12
FLOWER_PASSWORD = re.compile(rf"[\w.~-]{{{FLOWER_PASSWORD_LENGTH},}}", re.ASCII)


def _object(text: Any) -> Any:
    """Return the JSON object in the text of a variable or file. The text may be secret, so no message repeats it."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text) if isinstance(text, str) else text
        if isinstance(value, dict):
            return value
    raise ValueError('it is not a JSON object: {"name": "value"}, with double quotes, in single quotes for the shell')


def _hidden(headers: dict[str, Any]) -> dict[str, SecretStr]:
    texts = {name: text.get_secret_value() if isinstance(text, SecretStr) else text for name, text in headers.items()}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("a value is not text: put each in double quotes")
    return {name: SecretStr(text) for name, text in checked_headers(texts).items()}


# Parsed here, not by pydantic, which would repeat unreadable text.
BodySetting = Annotated[ExtraBody, BeforeValidator(_object)]
HeadersSetting = Annotated[dict[str, SecretStr], BeforeValidator(_hidden), BeforeValidator(_object)]


@dataclass(frozen=True)
class Policy:
    """The times for which finished batches and cached answers are kept. If a time is None, nothing is deleted."""

    batches: timedelta | None = None
    answers: timedelta | None = None
    archive: Path | None = None  # folder for archives of batches before deletion; None: no archive

    @property
    def deletes(self) -> bool:
        """True if batches or answers are ever deleted."""
        return self.batches is not None or self.answers is not None


class WorkerSettings(ProducerSettings):
    """The settings of a worker. Every field can be set as `TAMIS_<NAME>`. All times are in seconds."""

    llm_base_url: str | None = Field(default=None, repr=False)  # unset: OPENAI_BASE_URL, else OpenAI's own
    llm_api_key: SecretStr | None = None  # unset: OPENAI_API_KEY
    llm_api_key_file: Path | None = None  # file with the key, which is read again; a variable overrides it
    llm_api_key_command: str | None = Field(default=None, repr=False)  # command that prints the key; a key overrides it
    llm_api_key_ttl: float = Field(default=TTL, gt=0)  # longest life of a printed key in seconds
    temperature: float | None = Field(default=0.0, ge=0.0, le=2.0)  # "none": not sent
    max_output_tokens: int = Field(default=1024, ge=16)  # of one answer
    max_prompt_chars: int = Field(default=100_000, ge=500)  # of an item's fields; the rest is cut, with a note
    recall_threshold: float = Field(default=RECALL_THRESHOLD, ge=0.0, le=1.0)  # a model judges lower recall
    cache_breakpoint: Breakpoint | None = None  # mark of a prompt's cached part; unset: none
    max_answer_bytes: int = Field(default=8_000_000, ge=10_000)  # of one HTTP answer; a longer one fails
    call_timeout: float = Field(default=120.0, gt=0)  # of one call
    item_deadline: float = Field(default=900.0, gt=0)  # of one item, without rate-limit waits
    reasoning_effort: Effort | None = None  # unset: none is sent
    extra_body: BodySetting | None = None  # JSON: further fields of each request
    extra_headers: HeadersSetting | None = Field(default=None, repr=False)  # JSON: further headers
    tier: Tier | None = None  # unset: none is sent
    tier_patience: TierPatience = TIER_PATIENCE  # of one item, for its tier's capacity
    tier_fallback: TierFallback = TierFallback.STANDARD  # action after this patience
    flex_call_timeout: float = Field(default=900.0, gt=0)  # of one call at the flex tier
    logprobs: bool = True  # request the probabilities of tokens, for operations that include or exclude
    bounded_schema: bool = False  # send every bound from the first call on: for servers that compile grammars
    max_calls: int = Field(default=5, ge=1)  # calls of one question of a claim that may be charged
    unusable_answers: int = Field(default=20, ge=1)  # in a row, or failed items in a row: the batch is paused
    transcripts: bool = True  # keep questions and answers word for word; they hold the records' texts
    max_claims: int = Field(default=5, ge=1)  # claims whose worker may die before the item fails

    limit_rpm: int | None = Field(default=None, ge=1)  # requests per minute, all workers together
    limit_tpm: int | None = Field(default=None, ge=1)  # tokens per minute, all workers together
    limit_concurrency: int = Field(default=64, ge=1)  # calls in flight, all workers together

    concurrency: int = Field(default=32, ge=1, le=1000)  # items in flight in one worker process
    lease_seconds: float = Field(default=15.0, gt=0.5)  # a worker silent for so long is dead
    sweep_interval: float = Field(default=10.0, gt=0.1)  # between two sweeps of the reconciler
    stalled_after_seconds: float = Field(default=60.0, ge=3.0)  # without progress on work: the worker ends itself
    pause_check_interval: float = Field(default=1.0, gt=0.05, le=5.0)  # between two checks for pauses and cancellations

    cache_days: int | None = Field(default=None, ge=1)  # older cached answers are deleted; unset: never
    retention_days: int | None = Field(default=None, ge=1)  # older finished batches are purged; unset: none
    retention_archive: Path | None = None  # folder for archives of batches before they are purged

    metrics_port: int | None = Field(default=None, ge=0, le=65_535)  # of /metrics; unset: none, 0: any free one
    metrics_host: str = "127.0.0.1"  # address of /metrics, which needs no password

    webhook_secret: SecretStr | None = None  # signs webhooks, one per ledger; unset: none is sent
    webhook_private: bool = False  # webhooks may go to private addresses, and over http
    webhook_keep_days: float = Field(default=30.0, gt=0)  # after delivery or the last try

    flower_address: str = "127.0.0.1"  # address of Flower under `tamis up`; any other needs your own password
    flower_password: SecretStr | None = None  # of the user "tamis"; unset: a random one under `home`

    @field_validator("webhook_secret")
    @classmethod
    def _long_enough(cls, secret: SecretStr | None) -> SecretStr | None:
        """Return the secret if its form and length are right. The error for a wrong secret does not contain it."""
        if secret is None:
            return None
        try:
            length = len(b64decode(secret.get_secret_value().removeprefix(WEBHOOK_PREFIX), validate=True))
        except ValueError:
            length = 0
        if not secret.get_secret_value().startswith(WEBHOOK_PREFIX) or length not in WEBHOOK_SECRET_BYTES:
            raise ValueError(
                "a webhook secret must be whsec_ and 24 to 64 random bytes in base64: "
                'echo "whsec_$(openssl rand -base64 32)" makes one'
            )
        return secret

    @model_validator(mode="after")
    def _flower_is_protected(self) -> Self:
        password = None if self.flower_password is None else self.flower_password.get_secret_value()
        if password is not None and not FLOWER_PASSWORD.fullmatch(password):
            raise ValueError(
                f"TAMIS_FLOWER_PASSWORD must have at least {FLOWER_PASSWORD_LENGTH} characters, only letters, digits "
                "and . _ ~ -, because other characters have a meaning in Flower or in a URL"
            )
        if password is None and not is_loopback(self.flower_address):
            raise ValueError(
                f"TAMIS_FLOWER_ADDRESS is {self.flower_address!r}, which other machines can reach: set "
                "TAMIS_FLOWER_PASSWORD too, or keep 127.0.0.1 and use an SSH tunnel"
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _temperature_none(cls, values: dict[str, object]) -> dict[str, object]:
        if str(values.get("temperature", "")).lower() == "none":
            values["temperature"] = None
        return values

    @classmethod
    def load(cls) -> Self:
        """Return the settings of this process.

        If no variable `TAMIS_LLM_API_KEY...` gives a key, `OPENAI_API_KEY` is used. If `TAMIS_LLM_BASE_URL` is not set,
        `OPENAI_BASE_URL` is used.

        Raises:
            ConfigurationError: a variable is wrong; the message names the variable.
        """
        settings = super().load()
        filled: dict[str, object] = {}
        if settings.llm_api_key is not None and "TAMIS_LLM_API_KEY" not in files_named(os.environ):
            filled["llm_api_key_file"] = None
        if settings.llm_api_key_command is not None:
            words_of(settings.llm_api_key_command)
            if settings.llm_api_key is None:
                filled["llm_api_key_file"] = None
        elif settings.llm_api_key is None and (key := os.environ.get("OPENAI_API_KEY")):
            filled |= {"llm_api_key": SecretStr(key), "llm_api_key_file": None}
        if settings.llm_base_url is None and (url := os.environ.get("OPENAI_BASE_URL")):
            filled["llm_base_url"] = url
        return settings.model_copy(update=filled)

    @property
    def names_an_llm(self) -> bool:
        """True if the environment names an LLM. If False, only the LLM of a local stack can answer."""
        return self.llm_base_url is not None or self._names_a_key

    @property
    def _names_a_key(self) -> bool:
        return self.llm_api_key is not None or self.llm_api_key_command is not None

    @property
    def redis_urls(self) -> dict[str, str]:
        """Return the URLs of the broker, the result backend and the limiter, with their variables as keys.

        Raise `ConfigurationError` if a URL is missing.
        """
        return super().redis_urls | {"TAMIS_LIMITER_URL": self.limiter}

    @property
    def endpoint(self) -> str:
        """The base URL of the LLM. Raises `ConfigurationError` if no LLM is named."""
        if self.llm_base_url is not None:
            return self.llm_base_url.rstrip("/")
        if self._names_a_key:
            return OPENAI_URL
        if self.stack is not None and self.stack.llm_embedded and self.stack.llm_base_url is not None:
            return self.stack.llm_base_url
        raise ConfigurationError(
            "no LLM is configured: set TAMIS_LLM_API_KEY and TAMIS_MODEL, and TAMIS_LLM_BASE_URL for an endpoint "
            "other than OpenAI's"
        )

    @cached_property
    def steering(self) -> Steering:
        """The worker's options for model calls. An option that a batch sets overrides the worker's option."""
        return Steering(
            reasoning_effort=self.reasoning_effort,
            extra_body=self.extra_body or {},
            extra_headers={name: value.get_secret_value() for name, value in (self.extra_headers or {}).items()},
            tier=self.tier,
            tier_patience=self.tier_patience,
            tier_fallback=self.tier_fallback,
        )

    @property
    def retention(self) -> Policy:
        """The times for which finished batches and cached answers are kept."""
        return Policy(
            batches=None if self.retention_days is None else timedelta(days=self.retention_days),
            answers=None if self.cache_days is None else timedelta(days=self.cache_days),
            archive=self.retention_archive,
        )

    @property
    def longest_call(self) -> float:
        """The longest time in seconds that a model call may take at any service tier."""
        return max(self.call_timeout, self.flex_call_timeout)

    @cached_property
    def default_model(self) -> str:
        """The model for batches that name no model. Raises `ConfigurationError` if no model is set."""
        if self.model is not None:
            return self.model
        if not self.names_an_llm and self.stack is not None and self.stack.model is not None:
            return self.stack.model
        raise ConfigurationError("TAMIS_MODEL is not set: name the model to ask, for example gpt-5-mini")


def is_loopback(address: str) -> bool:
    """Return True if only this machine can reach a server that listens on `address`.

    An empty address means all addresses, so the result is False.
    """
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
