"""The check that a ledger's tables fit this release."""

from sqlalchemy import Engine, inspect, text

from ..errors import ConfigurationError
from ..release import MIGRATIONS, revisions
from .outages import translated

__all__ = ["MIGRATIONS", "demand", "head", "revisions"]


def head() -> str:
    """Return the revision of the ledger's tables that this release creates."""
    return revisions()[-1]


def demand(engine: Engine) -> None:
    """Check that the ledger has the tables of this release, or of a newer one.

    Raises:
        LedgerUnavailable: Postgres does not answer.
        ConfigurationError: there are no tables, or tables of an older release.
    """
    with translated(), engine.connect() as connection:
        migrated = inspect(connection).has_table("alembic_version")
        statement = text("SELECT max(version_num) FROM alembic_version")
        current = connection.execute(statement).scalar_one() if migrated else None
    if current is None:
        raise ConfigurationError("the ledger has no tables: run `tamis migrate` once")
    *older, newest = revisions()
    if current in older:
        raise ConfigurationError(
            f"the ledger's tables are older (revision {current}) than this release's ({newest}): run `tamis migrate`; "
            "workers of the older release continue"
        )
