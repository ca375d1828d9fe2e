"""Redaction, which removes the secrets of this process from texts, in any encoding.

Libraries and servers receive keys and passwords, and may repeat them in an answer or an exception. So every log line,
error in the ledger and message on a terminal is redacted here.
"""

import base64
import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

from .setting_files import SUFFIX, files_named, text_of

if TYPE_CHECKING:
    from pydantic import BaseModel

SHORTEST = 6  # characters; a shorter secret would match ordinary words
LEARNED = 4  # secrets that are renewed while the process runs
HIDDEN = "[secret]"
WEBHOOK_PREFIX = "whsec_"  # prefix of a webhook secret; the key follows it
HEADERS = "TAMIS_EXTRA_HEADERS"  # a JSON object; its values may be secrets
VARIABLES = ("TAMIS_", "OPENAI_", "FLOWER_")  # prefixes of our environment variables
SECRET_NAMES = re.compile(r"password|passwd|secret|token|api[-_]?key|(^|_)key$|basic_auth", re.IGNORECASE)

# Up to the last @, so that a password with an unquoted / or @ is found.
_USER = re.compile(r"://([^\s]*)@")


class Redaction:
    """A redactor of texts.

    >>> Redaction(["hunter2-hunter2"])("no route to redis://:hunter2-hunter2@host")
    'no route to redis://:[secret]@host'
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """Prepare the redactor. Secrets of less than six characters are ignored."""
        self._secrets = tuple(secrets)
        self._learned: deque[str] = deque(maxlen=LEARNED)
        self._pattern = self._compiled()

    @classmethod
    def of(cls, settings: "BaseModel") -> Self:
        """Return a redactor of the secret texts in these settings, and of the passwords in their URLs."""
        values = [value for _, value in settings]
        texts = [value for value in values if isinstance(value, str)]
        return cls([*_keys(values), *(secret for text in texts for secret in secrets_in(text))])

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Return a redactor of the secrets in Tamis's environment variables, and in files that they name."""
        files = files_named(environment)
        texts = {
            name: value
            for name, value in environment.items()
            if name.startswith(VARIABLES) and name.removesuffix(SUFFIX) not in files
        }
        for variable, path in files.items():
            with suppress(OSError, UnicodeError):  # the reader of the setting reports an unreadable file
                texts[variable] = text_of(path)
        secrets = [part for name, text in texts.items() if SECRET_NAMES.search(name) for part in (text, *_after(text))]
        secrets += _values(texts.get(HEADERS, ""))
        return cls([*secrets, *(secret for text in texts.values() for secret in secrets_in(text))])

    def learn(self, secret: str) -> None:
        """Redact one more secret from now on.

        Only the last four such secrets are kept: older secrets have expired.
        """
        if secret not in self._learned:
            self._learned.append(secret)
            self._pattern = self._compiled()

    def _compiled(self) -> "re.Pattern[str] | None":
        secrets = (*self._secrets, *self._learned)
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in forms_of(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        return re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __call__(self, text: str) -> str:
        """Return the text with `[secret]` in the place of each secret."""
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)


def secrets_in(url: str) -> Iterator[str]:
    """Yield the passwords in a URL, even if the URL is invalid."""
    user = _USER.search(url)
    if user is not None:
        _, colon, password = user[1].partition(":")
        yield password if colon else user[1]
    _, question, query = url.partition("?")
    for name, value in parse_qsl(query) if question and "://" in url else ():
        if SECRET_NAMES.search(name):
            yield value


def shown_url(url: str) -> str:
    """Return a URL for people to see: without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@lru_cache(maxsize=64)
def forms_of(secret: str) -> frozenset[str]:
    """Return the forms in which a text may contain a secret: plain, quoted, escaped, and in base64 at any offset."""
    raw = unquote(secret)
    forms = {secret, raw, secret.removeprefix(WEBHOOK_PREFIX)}
    for text in (secret, raw):
        forms |= {quote(text, safe=""), quote(text), quote_plus(text), json.dumps(text)[1:-1], repr(text)[1:-1]}
        forms |= {form for encoded in _in_base64(text.encode()) for form in (encoded, encoded.translate(_URL_SAFE))}
    return frozenset(form for form in forms if len(form) >= SHORTEST)


_URL_SAFE = str.maketrans("+/", "-_")


def _in_base64(secret: bytes) -> Iterator[str]:
    """Yield the secret in base64 after 0, 1 and 2 other bytes, without the characters that depend on other bytes."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret).decode()
        first, last = -(-before * 8 // 6), (before + len(secret)) * 8 // 6
        yield encoded[first:last]


def _keys(values: Iterable[object]) -> Iterator[str]:
    from pydantic import SecretStr  # imported here, as secret settings imply pydantic

    for value in values:
        if isinstance(value, SecretStr):
            yield value.get_secret_value()
        elif isinstance(value, Mapping):  # names and values of headers
            yield from _keys(value.values())


def _values(text: str) -> Iterator[str]:
    """Yield the text values of a JSON object. Yield nothing if `text` is not a JSON object."""
    with suppress(ValueError, RecursionError):
        parsed = json.loads(text)
        if isinstance(parsed, dict):
            yield from (value for value in parsed.values() if isinstance(value, str))


def _after(value: str) -> Iterator[str]:
    """Yield the password of `user:password`. Yield nothing if `value` has no colon."""
    _, colon, password = value.partition(":")
    if colon:
        yield password
