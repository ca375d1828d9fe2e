"""Keys of the gateway: shown once, kept as a hash, revoked for good."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from tamis_producer import Client
from tamis_producer.gateway import api_keys
from tamis_producer.gateway.api_keys import Scope
from tamis_schemas import InvalidParameters, InvalidRequest


def test_a_key_opens_what_its_scopes_say(client: Client) -> None:
    key = api_keys.create(client.engine, "Reviewer 1", [Scope.READ])
    found = api_keys.find(client.engine, key)
    assert found is not None
    assert (found.label, found.scopes) == ("Reviewer 1", {Scope.READ})


def test_the_ledger_holds_nothing_that_could_be_used_as_a_key(client: Client) -> None:
    key = api_keys.create(client.engine, "Reviewer 1", [Scope.READ])
    secret = key.split("_", 2)[2]
    with client.engine.connect() as connection:
        row = connection.execute(text("SELECT row_to_json(k)::text FROM api_keys k ORDER BY created_at DESC")).scalar()
    assert secret not in str(row)
    assert len(secret) >= 43  # 256 bits in base 64


@pytest.mark.parametrize(
    "change", [lambda key: key[:-1], lambda key: key + "A", lambda key: key.upper(), lambda key: ""]
)
def test_what_is_not_the_whole_key_is_none(client: Client, change: Callable[[str], str]) -> None:
    key = api_keys.create(client.engine, "Reviewer 1", [Scope.READ])
    assert api_keys.find(client.engine, change(key)) is None


@pytest.mark.parametrize(
    "given",
    ["", "tamis", "tamis_", "tamis__", "tamis_x_", "tamis_000000000000_secret", "tamis_\x00_x", "tamis_\ud800_x"],
)
def test_any_text_is_no_key(client: Client, given: str) -> None:
    assert api_keys.find(client.engine, given) is None


def test_a_revoked_key_opens_nothing_and_is_still_listed(client: Client) -> None:
    key = api_keys.create(client.engine, "Reviewer 2", [Scope.DECIDE])
    key_id = key.split("_")[1]
    api_keys.revoke(client.engine, key_id)
    assert api_keys.find(client.engine, key) is None
    (listed,) = [one for one in api_keys.read_all(client.engine) if one.id == key_id]
    assert listed.revoked_at is not None
    with pytest.raises(InvalidRequest, match="tamis keys list"):
        api_keys.revoke(client.engine, key_id)
    with pytest.raises(InvalidRequest, match="tamis keys list"):
        api_keys.change(client.engine, key_id, api_keys.Restrictions(models=("double-1",)))


@pytest.mark.parametrize("label", ["", "  ", "x" * 101, "line\nbreak", "\x1b[2J"])
def test_a_label_that_is_none_is_refused(client: Client, label: str) -> None:
    with pytest.raises(InvalidParameters, match="name its holder"):
        api_keys.create(client.engine, label, [Scope.READ])


def test_a_key_without_a_scope_is_refused(client: Client) -> None:
    with pytest.raises(InvalidParameters, match="needs a scope"):
        api_keys.create(client.engine, "Reviewer 3", [])
