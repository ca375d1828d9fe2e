"""A fourth way to read a batch: the model decides, and people judge a random sample of its exclusions.

Revision ID: 0022
Revises: 0021
"""

from alembic import op

revision = "0022"
down_revision = "0021"

CHECK = "ck_screening_modes_mode_known"


def upgrade() -> None:
    """Widen the check. No worker writes modes, and whoever reads an unknown one is a gateway to be updated with it."""
    op.drop_constraint(op.f(CHECK), "screening_modes")
    op.create_check_constraint(
        op.f(CHECK), "screening_modes", "mode IN ('single', 'pair', 'model_second', 'model_audited')"
    )
