"""What changes while a batch runs, apart from what its items are.

Revision ID: 0009
Revises: 0008
"""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Change nothing yet."""
    op.execute("SELECT 1")


def downgrade() -> None:
    """Nothing is to be taken back."""
