"""Whom to tell what, and whether it was told.

Revision ID: 0011
Revises: 0010
"""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Change nothing yet."""
    op.execute("SELECT 1")


def downgrade() -> None:
    """Nothing is to be taken back."""
