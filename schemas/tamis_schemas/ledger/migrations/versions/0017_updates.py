"""A batch knows which earlier one it brings up to date.

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column; no foreign key: the earlier batch may be purged, and come back."""
    op.add_column("batches", sa.Column("updates", sa.Uuid, nullable=True))
