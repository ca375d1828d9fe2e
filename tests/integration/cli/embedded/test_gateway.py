"""The key of the embedded stack's gateway: kept where it is valid, made anew where it is not, its owner's alone."""

import getpass
import stat
from pathlib import Path

from sqlalchemy import Engine

from tamis_cli.embedded.programs import keep_key
from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope


def kept(client: Client, database_url: str, path: Path) -> str:
    keep_key(database_url, path)
    key = path.read_text("utf-8")
    found = api_keys.find(client.engine, key)
    assert found is not None
    assert (found.label, found.scopes) == (getpass.getuser(), frozenset(Scope))
    return key


def ids(engine: Engine) -> list[str]:
    return [key.id for key in api_keys.read_all(engine)]


def test_a_key_is_made_once_and_only_its_owner_may_read_it(client: Client, database_url: str, tmp_path: Path) -> None:
    path = tmp_path / "page.key"
    assert kept(client, database_url, path) == kept(client, database_url, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(ids(client.engine)) == 1


def test_a_key_that_was_revoked_or_is_of_another_ledger_is_made_anew(
    client: Client, database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "page.key"
    path.write_text("tamis_0123456789ab_of-another-ledger", "utf-8")
    path.chmod(0o600)
    first = kept(client, database_url, path)
    api_keys.revoke(client.engine, ids(client.engine)[0])
    assert kept(client, database_url, path) != first
