"""Checks of Redis servers at the start: Tamis cannot use a Redis Cluster, and Sentinels must know the service."""

from collections.abc import Mapping

import redis
from redis.exceptions import NoPermissionError
from redis.sentinel import MasterNotFoundError

from tamis_schemas import BrokerUnavailable, ConfigurationError

from ..config.redis_clients import connect, sentinel_options
from ..config.sentinel_url import SentinelUrl, is_redis
from .broker import place, what_is_wrong

CLUSTER = "is a Redis Cluster, and a script of Tamis uses keys of several slots"
INSTEAD = "use one primary whose replica takes over, with Sentinels or with cluster mode disabled"


def check_servers(urls: Mapping[str, str], *, within: float) -> None:
    """Check each Redis server once. `urls`: URLs by the name of their setting. `within`: seconds for each answer.

    Raises:
        ConfigurationError: a server is a Redis Cluster, or its Sentinels do not know its service.
        BrokerUnavailable: a server does not answer. The other servers were checked.
    """
    unavailable: BrokerUnavailable | None = None
    by_place = {place(url): (setting, url) for setting, url in reversed(list(urls.items())) if is_redis(url)}
    for where, (setting, url) in by_place.items():
        try:
            cluster = is_cluster(url, within=within)
        except BrokerUnavailable as error:
            unavailable = error
        except ConfigurationError as error:
            raise ConfigurationError(f"{setting}: {error}") from error
        else:
            if cluster:
                raise ConfigurationError(f"{setting}: the server at {where} {CLUSTER}: {INSTEAD}")
    if unavailable is not None:
        raise unavailable


def is_cluster(url: str, *, within: float) -> bool:
    """Return whether the server is a Redis Cluster; False if the server denies the user this information.

    Raises `BrokerUnavailable` if the server does not answer, and `ConfigurationError` if the Sentinels do not know its
    service.
    """
    try:
        with connect(url, socket_timeout=within, socket_connect_timeout=within) as client:
            return bool(client.info().get("cluster_enabled"))
    except redis.ResponseError as error:  # a cluster has one database; or INFO is forbidden
        return "cluster mode" in str(error)
    except MasterNotFoundError as error:
        raise no_primary(url) from error
    except (redis.RedisError, OSError) as error:
        raise BrokerUnavailable(f"the broker at {place(url)} {what_is_wrong(error)}") from error


def no_primary(url: str) -> ConfigurationError | BrokerUnavailable:
    """Return the error for Sentinels that name no primary: `ConfigurationError` if waiting does not help."""
    sentinels = SentinelUrl.read(url)
    assert sentinels is not None  # noqa: S101 - no other URL has Sentinels
    services: set[str] = set()
    answers = 0
    for host, port in sentinels.hosts:
        try:
            with redis.Redis(host=host, port=port, **sentinel_options(sentinels)) as sentinel:
                services |= set(sentinel.sentinel_masters())
                answers += 1
        except (redis.AuthenticationError, NoPermissionError):
            return ConfigurationError(f"the Sentinel {host}:{port} denies access: correct sentinel_password")
        except (redis.RedisError, OSError):
            continue
    if not answers:
        return BrokerUnavailable(f"no Sentinel of {sentinels} answers")
    if sentinels.service not in services:
        others = ", ".join(sorted(services)) or "no service"
        return ConfigurationError(f"the Sentinels do not know {sentinels.service!r}, but {others}: correct master_name")
    return BrokerUnavailable(f"the Sentinels see no working primary of {sentinels}")
