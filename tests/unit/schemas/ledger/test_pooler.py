"""The address of the ledger in a URL, whatever program the URL was written for."""

import pytest
from sqlalchemy.exc import ArgumentError

from tamis_schemas import ConfigurationError
from tamis_schemas.ledger.pooler import address


@pytest.mark.parametrize(
    "driver", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2", "postgresql+asyncpg"]
)
def test_a_url_of_another_driver_of_postgres_is_an_address(driver: str) -> None:
    place = address(f"{driver}://ann:secret@db.example:5433/tamis?sslmode=require&pgbouncer=true")
    expected = "postgresql+psycopg://ann:secret@db.example:5433/tamis?sslmode=require"
    assert (place.url.render_as_string(hide_password=False), place.pooled) == (expected, True)


@pytest.mark.parametrize(("url", "named"), [("mysql://a:s3cret@db/tamis", "mysql"), ("sqlite:///tamis.db", "sqlite")])
def test_another_database_is_named_without_the_password(url: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"names {named}, but the ledger needs Postgres") as refused:
        address(url)
    assert "s3cret" not in str(refused.value)


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(ArgumentError):
        address("db.example")
