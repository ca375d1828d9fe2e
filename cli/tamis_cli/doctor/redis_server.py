"""A Redis server: whether it answers, executes the commands of workers, keeps its data, and has free memory."""

from dataclasses import dataclass

import redis
from redis.exceptions import NoPermissionError
from redis.sentinel import MasterNotFoundError

from tamis_producer.config.redis_clients import connect
from tamis_producer.transport.redis_servers import CLUSTER, INSTEAD, no_primary
from tamis_schemas.batches import wire
from tamis_schemas.values.network_words import network_words

from .finding import Finding, failure, ok, ok_if, warning
from .surroundings import read_clock

ANSWER_WITHIN = 5.0  # s
SLOW = 0.05  # s per answer; each permit of the rate limit waits for an answer
FULL = 0.8  # of maxmemory
# A trial of what workers do: a script that writes and reads two keys, with a letter that is not ASCII.
WORK = """
redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)
redis.call('LPUSH', KEYS[2], redis.call('GET', KEYS[1]))
redis.call('DEL', KEYS[1])
return redis.call('RPOP', KEYS[2])
"""
LETTER = "\u03b1"
KEEP_ALL = "redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"


@dataclass(frozen=True)
class RedisReading:
    """The state of a Redis server. Values that the server does not report are None."""

    version: str
    latency: float  # s, fastest of a few answers
    ahead: float  # s by which the server's clock is ahead of this machine's
    policy: str | None = None  # what the server evicts when its memory is full
    append_only: bool | None = None
    last_write_ok: bool | None = None
    used: int | None = None  # bytes
    maxmemory: int | None = None  # bytes; 0: no bound
    evicted: int | None = None  # keys, since the server's start
    replica: bool | None = None
    cluster: bool | None = None
    refusal: str | None = None  # why the server refuses a script on two of Tamis's keys; None: it runs the script


@dataclass(frozen=True)
class Unreachable:
    """A Redis server that did not answer, or denied access."""

    why: str
    refused: bool = False  # True: the server answered, but refused the password, or requires a password


def read_redis_server(url: str) -> RedisReading | Unreachable:
    """Return the state of the server at `url`, or the reason why the server is unreachable."""
    try:
        with connect(url, socket_timeout=ANSWER_WITHIN, socket_connect_timeout=ANSWER_WITHIN) as client:
            client.ping()
            latency, ahead = read_clock(lambda: _time(client))
            try:
                info = client.info()
            except redis.ResponseError:  # forbidden for this user, or for all but administrators
                return RedisReading("of unknown version", latency, ahead, refusal=_refusal(client))
            replica = info.get("role") == "slave"
            refusal = None if replica else _refusal(client)  # a replica's refusal would close the connection
    except MasterNotFoundError:
        return Unreachable(str(no_primary(url)))
    except (redis.AuthenticationError, NoPermissionError) as error:
        return Unreachable(str(error).splitlines()[0], refused=True)
    except redis.TimeoutError:
        return Unreachable(f"no answer within {ANSWER_WITHIN:g} s")
    except (redis.RedisError, OSError, ValueError) as error:
        text = str(error)
        return Unreachable(network_words(text) or next(iter(text.splitlines()), type(error).__name__))
    append_only = info.get("aof_enabled")
    return RedisReading(
        version=str(info.get("valkey_version") or info.get("redis_version") or "of unknown version"),
        latency=latency,
        ahead=ahead,
        policy=info.get("maxmemory_policy"),
        append_only=None if append_only is None else bool(append_only),
        last_write_ok=info.get("aof_last_write_status", "ok") == "ok"
        and info.get("rdb_last_bgsave_status", "ok") == "ok",
        used=info.get("used_memory"),
        maxmemory=info.get("maxmemory"),
        evicted=info.get("evicted_keys"),
        replica=replica,
        cluster=bool(info.get("cluster_enabled")),
        refusal=refusal,
    )


def _refusal(client: "redis.Redis") -> str | None:
    """Return why the server refuses a script with commands that workers use; None if it executes the script."""
    keys = [f"{wire.KEY_PREFIX}doctor:{name}" for name in ("value", "list")]
    try:
        read = client.eval(WORK, len(keys), *keys, LETTER)
    except redis.ResponseError as error:
        return str(error).splitlines()[0]
    return None if read == LETTER.encode() else f"it returned {read!r} for {LETTER!r}"


def _time(client: "redis.Redis") -> float:
    seconds, micros = client.time()
    return float(seconds + micros / 1e6)


def judge_redis_server(subject: str, where: str, reading: RedisReading | Unreachable) -> list[Finding]:
    """Return the findings about a Redis server. `subject`: its purpose, such as `broker`. `where`: its address."""
    if isinstance(reading, Unreachable):
        if reading.refused:
            mend = "put user and password in TAMIS_BROKER_URL: redis://user:password@host:6379/0"
            return [failure(subject, f"{where} denies access: {reading.why}", mend)]
        mend = "start it, or correct TAMIS_BROKER_URL (and TAMIS_LIMITER_URL, TAMIS_RESULT_BACKEND_URL)"
        return [failure(subject, f"{where} does not answer: {reading.why}", mend)]
    line = f"{where} answers in {1000 * reading.latency:.1f} ms, version {reading.version}"
    mend = "move Redis closer to the workers: every permit of the rate limit waits for it"
    findings = [ok_if(reading.latency <= SLOW, subject, line, mend)]
    if reading.replica:
        mend = "name the primary in TAMIS_BROKER_URL"
        findings.append(failure(subject, "it is a replica, which accepts no writes", mend))
    elif reading.cluster:
        findings.append(failure(subject, f"it {CLUSTER}", INSTEAD))
    elif reading.refusal is not None:
        mend = "grant this user the keys tamis:* with scripts, lists, hashes, and publish/subscribe"
        findings.append(failure(subject, f"it refuses a script on Tamis's keys: {reading.refusal}", mend))
    return [*findings, *_memory(subject, reading), _persistence(subject, reading)]


def _memory(subject: str, reading: RedisReading) -> list[Finding]:
    if reading.policy is None or reading.maxmemory is None or reading.used is None:
        mend = "grant this user INFO, or check yourself: maxmemory-policy must be noeviction, appendonly yes"
        return [warning(subject, "its eviction and persistence are unknown (no permission for INFO)", mend)]
    findings = []
    if reading.policy == "noeviction":
        findings.append(ok(subject, "it evicts no data (noeviction)"))
    elif reading.maxmemory == 0:
        findings.append(warning(subject, f"it would evict messages ({reading.policy}) if maxmemory were set", KEEP_ALL))
    else:
        findings.append(failure(subject, f"it evicts messages when it is full ({reading.policy})", KEEP_ALL))
    if reading.evicted:
        mend = "set noeviction, and give it more memory. No item is lost: the ledger has them all"
        findings.append(warning(subject, f"it has evicted {reading.evicted:,} keys since its start", mend))
    used = f"{reading.used / 1e6:,.0f} MB"
    if reading.maxmemory == 0:
        findings.append(ok(subject, f"it uses {used} of memory, without a limit"))
    else:
        line = f"it uses {used} of {reading.maxmemory / 1e6:,.0f} MB ({reading.used / reading.maxmemory:.0%})"
        mend = "raise maxmemory: workers wait while it is full. A message takes 1 KB; TAMIS_SHARD_WINDOW limits a batch"
        findings.append(ok_if(reading.used < FULL * reading.maxmemory, subject, line, mend))
    return findings


def _persistence(subject: str, reading: RedisReading) -> Finding:
    if reading.last_write_ok is False:
        return failure(subject, "its last write to disk failed", "check its log: its disk is full, or not writable")
    if reading.append_only is False:
        what = "it has no append-only file: a restart loses messages, and the reconciler must replace them"
        return warning(subject, what, "redis-cli CONFIG SET appendonly yes, and the same in redis.conf")
    return ok(subject, "it persists its data" if reading.append_only else "its persistence is unknown")
