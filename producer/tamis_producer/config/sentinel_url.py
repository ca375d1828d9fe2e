"""A URL of Redis with Sentinels: `sentinel://:password@host1:26379,host2:26379/0?master_name=mymaster`.

Sentinels know which server is the primary. Redis-py has no URL with Sentinels. Celery has the scheme `sentinel://`, but
reads the service's name and the Sentinels' password from options, which an environment variable cannot hold. So this
URL has the options in its query, with Celery's names. The hosts are a list, as in a URL of Postgres. User, password and
database number are for the Redis servers.

| in the query | meaning |
|---|---|
| `master_name` | the service, as in the Sentinels' `sentinel monitor NAME` |
| `sentinel_username`, `sentinel_password` | login at the Sentinels, if they require one |
| `ssl_cert_reqs`, `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile` | any of them: TLS to Sentinels and servers |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, quote, unquote, urlsplit

SCHEME = "sentinel"
REDIS_SCHEMES = ("redis", "rediss", SCHEME)
PORT = 26_379
FORM = "sentinel://:password@host1:26379,host2:26379/0?master_name=mymaster"
LOGIN = ("username", "password")
TLS = ("ssl_cert_reqs", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
OPTIONS = ("master_name", *(f"sentinel_{name}" for name in LOGIN), *TLS)


@dataclass(frozen=True)
class SentinelUrl:
    """The parts of a URL with Sentinels. The mappings hold keyword arguments for the Redis client."""

    hosts: tuple[tuple[str, int], ...]  # of the Sentinels
    service: str
    database: int
    login: Mapping[str, str]
    sentinel_login: Mapping[str, str]
    tls: Mapping[str, str]

    @classmethod
    def read(cls, url: str) -> Self | None:
        """Return the parts of a URL; None if the URL has another scheme.

        Raises:
            ValueError: the URL is wrong. The message contains no secret.
        """
        if not url.startswith(f"{SCHEME}://"):
            return None
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        if ";" in parts.path or ";" in parts.netloc:
            raise ValueError(f"has Celery's form for several Sentinels: write {FORM}")
        if unknown := sorted(query.keys() - set(OPTIONS)):
            raise ValueError(f"has the unknown option {unknown[0]!r}: use {', '.join(OPTIONS)}")
        if "master_name" not in query:
            raise ValueError("names no service: add ?master_name=NAME, as in the Sentinels' `sentinel monitor NAME`")
        user, _, hosts = parts.netloc.rpartition("@")
        database = parts.path.strip("/") or "0"
        try:
            places = [urlsplit(f"//{host.strip()}") for host in hosts.split(",")]
            sentinels = tuple((place.hostname or "", place.port or PORT) for place in places)
        except ValueError:
            sentinels = (("", 0),)
        if not all(host for host, _ in sentinels) or not database.isdigit():
            raise ValueError(f"is not a URL of Sentinels: write {FORM}, and in a password / and @ as %2F and %40")
        login = zip(LOGIN, map(unquote, user.partition(":")[::2]), strict=True)
        return cls(
            sentinels,
            query["master_name"],
            int(database),
            {name: value for name, value in login if value},
            {name: query[f"sentinel_{name}"] for name in LOGIN if f"sentinel_{name}" in query},
            {name: query[name] for name in TLS if name in query},
        )

    def __str__(self) -> str:
        """Return the service's name and the Sentinels' addresses, without secrets."""
        return f"{self.service} (Sentinels {', '.join(f'{host}:{port}' for host, port in self.hosts)})"

    @property
    def celery_url(self) -> str:
        """The URL in Celery's form. Each Sentinel is a separate URL, because Celery may begin with any of them."""
        user = ":".join(quote(self.login.get(name, ""), safe="") for name in LOGIN)
        hosts = [f"[{host}]" if ":" in host else host for host, _ in self.hosts]
        at = f"{user}@" if self.login else ""
        return ";".join(
            f"{SCHEME}://{at}{host}:{port}/{self.database}" for host, (_, port) in zip(hosts, self.hosts, strict=True)
        )


def is_redis(url: str) -> bool:
    """Return whether a URL names a Redis server, or Sentinels of such servers."""
    return urlsplit(url).scheme in REDIS_SCHEMES
