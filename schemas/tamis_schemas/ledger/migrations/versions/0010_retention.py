"""What is kept how long, and views for people who ask in SQL.

Revision ID: 0010
Revises: 0009
"""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Change nothing yet."""
    op.execute("SELECT 1")


def downgrade() -> None:
    """Nothing is to be taken back."""
