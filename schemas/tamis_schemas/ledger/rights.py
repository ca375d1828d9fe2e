"""Rights of workers and gateways in the ledger: the least that they need, granted by the owner of the tables.

docs/security.md shows these statements.
"""

from dataclasses import dataclass

import psycopg
from psycopg import sql
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from ..errors import ConfigurationError
from .outages import translated
from .pooler import address, session

SCRAM = b"scram-sha-256"


@dataclass(frozen=True)
class Rights:
    """The rights of a database role, which may read every table.

    The role may write to all tables except `only_read`. In the tables `only_added_to`, it may add rows, but not change
    them. It may delete rows only in the tables `deleted_from`.
    """

    only_read: tuple[str, ...]
    only_added_to: tuple[str, ...] = ()
    deleted_from: tuple[str, ...] = ()


# Rows of people's decisions, which never change.
BY_PEOPLE = ("audits", "audit_items", "audit_decisions", "copy_decisions", "overrides", "remarks", "screening_modes")
# Triggers write the counters, with their owner's rights. Workers may not write people's decisions, or gateway keys.
WORKER = Rights(
    only_read=("alembic_version", "api_keys", *BY_PEOPLE, "reading_orders", "stop_samples", "tallies"),
    only_added_to=("payloads", "prompts", "transcripts"),
    deleted_from=("llm_cache", "webhooks", "workers"),
)
# Producers may not write models' answers.
GATEWAY = Rights(
    only_read=(
        "alembic_version",
        "dialects",
        "evaluations",
        "llm_cache",
        "prompts",
        "repairs",
        "results",
        "summaries",
        "tallies",
        "transcripts",
        "workers",
    ),
    only_added_to=(*BY_PEOPLE, "payloads"),
)


def grants(role: str, rights: Rights) -> list[str]:
    """Return the statements that grant a role these rights, also on tables of later migrations.

    The statements can be run again without harm.
    """
    statements = [
        f"GRANT USAGE ON SCHEMA public TO {role}",
        f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO {role}",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE ON TABLES TO {role}",
        f"REVOKE INSERT, UPDATE ON {', '.join(rights.only_read)} FROM {role}",
    ]
    if rights.only_added_to:
        statements.append(f"REVOKE UPDATE ON {', '.join(rights.only_added_to)} FROM {role}")
    if rights.deleted_from:
        statements.append(f"GRANT DELETE ON {', '.join(rights.deleted_from)} TO {role}")
    return statements


def grant(owner_url: str, role_url: str, rights: Rights) -> str:
    """Create or change the role of `role_url` with its password and these rights, and return the role's name.

    The password reaches the server as a hash.

    Raises:
        ConfigurationError: the URL names no role, or names the owner of the tables; or the owner may not create roles.
        LedgerUnavailable: Postgres does not answer.
    """
    try:
        named = make_url(role_url)
    except ArgumentError as error:
        raise ConfigurationError(
            "the role's URL is invalid: it must look like postgresql+psycopg://role:password@host:5432/tamis"
        ) from error
    if not named.username or named.username == make_url(owner_url).username:
        raise ConfigurationError("the role's URL must name a user other than the owner of the tables")
    role = named.username
    server = address(owner_url)
    engine = create_engine(server.url, poolclass=NullPool, hide_parameters=True, connect_args=session(server, {}))
    with translated(), engine.begin() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)  # noqa: S101 - the ledger's driver, see `address`
        try:
            _make(driver, role, named.password)
            for statement in grants(sql.Identifier(role).as_string(driver), rights):
                driver.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege as error:
            raise ConfigurationError(
                f"the role {role!r} cannot get its rights: run this as the owner of the tables, who must be "
                "allowed to create roles (ALTER ROLE ... CREATEROLE)"
            ) from error
    return role


def _make(driver: psycopg.Connection[object], role: str, password: str | None) -> None:
    exists = driver.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is not None
    words = [sql.SQL("ALTER ROLE" if exists else "CREATE ROLE"), sql.Identifier(role), sql.SQL("LOGIN")]
    if password is not None:
        hashed = driver.pgconn.encrypt_password(str(password).encode(), role.encode(), SCRAM).decode()
        words += [sql.SQL("PASSWORD"), sql.Literal(hashed)]
    driver.execute(sql.SQL(" ").join(words))
