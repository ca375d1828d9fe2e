"""The embedded Redis-protocol server: real processes."""

import stat
from pathlib import Path

import psutil
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tamis_cli.embedded.ports import HOST
from tamis_cli.embedded.valkey import Valkey


def client(valkey: Valkey, database: int = 0) -> "redis.Redis":
    return redis.Redis.from_url(valkey.url, db=database, decode_responses=True)


def test_it_is_set_up_so_that_no_message_is_thrown_away(tmp_path: Path) -> None:
    with Valkey(tmp_path) as valkey, client(valkey) as connection:
        expected = {
            "maxmemory-policy": "noeviction",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "databases": "16",
            "bind": HOST,
        }
        assert {name: connection.config_get(name)[name] for name in expected} == expected
        with client(valkey, database=15) as last:
            assert last.ping()


def test_data_survive_a_stop_and_a_start_and_the_port_is_kept(tmp_path: Path) -> None:
    with Valkey(tmp_path) as valkey, client(valkey) as connection:
        connection.set("kept", "7")
        before = valkey.url
    with Valkey(tmp_path) as valkey, client(valkey) as connection:
        assert connection.get("kept") == "7"
        assert valkey.url == before


def test_another_port_is_taken_where_the_kept_one_is_in_use(tmp_path: Path) -> None:
    with Valkey(tmp_path / "one") as one:
        (tmp_path / "two").mkdir()
        (tmp_path / "two" / "port").write_text(str(one.port))
        with Valkey(tmp_path / "two") as two:
            assert two.port != one.port


def test_a_killed_server_comes_back_under_the_same_url(tmp_path: Path) -> None:
    with Valkey(tmp_path) as valkey:
        before = valkey.url
        valkey.process.kill()
        assert not valkey.process.running
        valkey.start()
        assert valkey.url == before


def test_nobody_gets_in_without_the_password(tmp_path: Path) -> None:
    with (
        Valkey(tmp_path) as valkey,
        redis.Redis(host=HOST, port=valkey.port, retry=Retry(NoBackoff(), 0)) as stranger,
        pytest.raises(redis.AuthenticationError),
    ):
        stranger.ping()


def test_the_password_is_the_owners_alone_and_on_no_command_line(tmp_path: Path) -> None:
    with Valkey(tmp_path) as valkey:
        assert valkey.password not in " ".join(psutil.Process(valkey.process.pid).cmdline())
        for name in ("password", "valkey.conf"):
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
