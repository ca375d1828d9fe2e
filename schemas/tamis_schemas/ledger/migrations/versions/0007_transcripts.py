"""Transcripts of each item, and the texts that all questions of a batch have in common.

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables; what items ended with before stays without a transcript.

    Workers of the release before write none, and read none.
    """
    op.create_table(
        "transcripts",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=False),
        sa.Column("calls", sa.JSON(), nullable=False),
        sa.Column("created_at", INSTANT, server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch_id", "idx"],
            ["items.batch_id", "items.idx"],
            name=op.f("fk_transcripts_items"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("batch_id", "idx", "fence", name=op.f("pk_transcripts")),
    )
    op.create_table(
        "prompts",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_prompts_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("batch_id", "sha256", name=op.f("pk_prompts")),
    )
