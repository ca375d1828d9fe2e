"""A second revision of the ledger, as the next release may bring one: no release has upgraded a ledger yet."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tamis_schemas import release
from tamis_schemas.ledger import migrate

NUMBER = "0002"
SOURCE = '''"""A column that the release before neither fills nor reads."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add a column with a default, and an index."""
    op.add_column("batches", sa.Column("colour", sa.Text, nullable=False, server_default="white"))
    op.create_index("ix_batches_colour", "batches", ["colour"])
'''


def write_next_release(folder: Path) -> Path:
    """Return a copy of this release's migrations in `folder`, with the sample revision behind them."""
    migrations = Path(shutil.copytree(release.MIGRATIONS, folder / "migrations"))
    (migrations / "versions" / f"{NUMBER}_sample.py").write_text(SOURCE, "utf-8")
    return migrations


@contextmanager
def next_release(folder: Path) -> Iterator[Path]:
    """Let this process be the next release, which knows the sample revision; workers of other processes are not."""
    migrations = write_next_release(folder)
    with pytest.MonkeyPatch.context() as patch:
        for module in (release, migrate):
            patch.setattr(module, "MIGRATIONS", migrations)
        yield migrations
