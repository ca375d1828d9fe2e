"""Results keep the probability of their decision and the grade of relevance; kept answers their probability.

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the columns, empty: of what was decided before nobody knows either."""
    op.add_column("results", sa.Column("probability", sa.Double, nullable=True))
    op.add_column("results", sa.Column("relevance", sa.SmallInteger, nullable=True))
    op.add_column("llm_cache", sa.Column("probability", sa.Double, nullable=True))
    op.create_check_constraint(op.f("ck_results_probability_range"), "results", "probability BETWEEN 0 AND 1")
    op.create_check_constraint(op.f("ck_results_relevance_range"), "results", "relevance BETWEEN 0 AND 100")
