"""The end of a single call is told.

Revision ID: 0012
Revises: 0011
"""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Change nothing yet."""
    op.execute("SELECT 1")


def downgrade() -> None:
    """Nothing is to be taken back."""
