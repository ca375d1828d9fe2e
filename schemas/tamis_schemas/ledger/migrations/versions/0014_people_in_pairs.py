"""Each person's decision on a record stands on its own, in the stage that it belongs to.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the stage of a decision, its reason, and whether it settles a conflict.

    Workers and gateways of the release before write none of them.
    """
    op.add_column("overrides", sa.Column("stage", sa.Text, nullable=False, server_default="own"))
    op.add_column("overrides", sa.Column("reason", sa.Text, nullable=True))
    op.add_column("overrides", sa.Column("settles", sa.Boolean, nullable=False, server_default=sa.text("false")))
    op.create_check_constraint(
        op.f("ck_overrides_stage_known"), "overrides", "stage IN ('own', 'retrieval', 'full-text')"
    )
