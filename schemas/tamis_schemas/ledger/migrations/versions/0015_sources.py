"""A record remembers which of its batch's sources it comes from.

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column; where there is one source, or none is known, it stays empty."""
    op.add_column("payloads", sa.Column("source", sa.SmallInteger, nullable=True))
