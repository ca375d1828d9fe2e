"""The driver's arguments for a URL are those that SQLAlchemy makes of it; what it would read otherwise is left."""

import pytest
from sqlalchemy import make_url
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from tamis_producer.ledger.direct import driver_arguments

SCHEME = "postgresql+psycopg://"


@pytest.mark.parametrize(
    "url",
    [
        "ann:p%40ss%2Fw@db.example:5433/tamis",
        "ann@db.example/tamis",
        "db.example",
        "ann:secret@[::1]:5432/tamis",
        "postgres@/tamis?host=/tmp/a%20b/run&port=5432",
        "ann:s@db/tamis?sslmode=verify-full&sslrootcert=/etc/ca.pem&application_name=nightly",
    ],
)
def test_a_plain_url_is_read_as_sqlalchemy_reads_it(url: str) -> None:
    (_, theirs) = PGDialect_psycopg().create_connect_args(make_url(f"{SCHEME}{url}"))
    ours = driver_arguments(f"{SCHEME}{url}")
    assert ours == {name: str(value) for name, value in theirs.items() if name != "context"}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann@db/tamis",
        "sqlite:///tamis.db",
        "no url at all",
        f"{SCHEME}ann@db:many/tamis",
        f"{SCHEME}ann@db/tamis?pgbouncer=true",
        f"{SCHEME}ann@db/tamis?options=-c%20search_path%3Dours",
        f"{SCHEME}ann@db/tamis?connect_timeout=2",
        f"{SCHEME}ann@/tamis?host=one&host=two",
        f"{SCHEME}ann@/tamis?host=one:5432",
        f"{SCHEME}ann:p@ss@db/tamis",
        f"{SCHEME}ann@db/ta%20mis",
        f"{SCHEME}ann@db/tamis#fragment",
    ],
)
def test_any_other_url_is_left_to_sqlalchemy(url: str) -> None:
    assert driver_arguments(url) is None
