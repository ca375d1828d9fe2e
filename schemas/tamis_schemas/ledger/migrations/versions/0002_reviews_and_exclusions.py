"""Reviews, where a batch's records come from, and why a record never reached a model.

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the tables and columns; what is there stays as it is."""
    op.create_table(
        "reviews",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("content_sha256", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("plan", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reviews")),
        sa.UniqueConstraint("content_sha256", name=op.f("uq_reviews_content_sha256")),
    )
    op.create_index(
        "ix_reviews_open", "reviews", ["created_at"], unique=False, postgresql_where=sa.text("finished_at IS NULL")
    )
    op.add_column("batches", sa.Column("source", sa.JSON(), nullable=True))
    op.add_column("batches", sa.Column("review_id", sa.Uuid(), nullable=True))
    op.add_column("batches", sa.Column("stage", sa.Integer(), nullable=True))
    op.create_foreign_key(op.f("fk_batches_reviews"), "batches", "reviews", ["review_id"], ["id"], ondelete="CASCADE")
    op.create_unique_constraint("uq_batches_review_id_stage", "batches", ["review_id", "stage"])
    op.create_check_constraint(op.f("ck_batches_stage_of_review"), "batches", "(review_id IS NULL) = (stage IS NULL)")
    op.add_column("items", sa.Column("origin", sa.Integer(), nullable=True))
    op.create_table(
        "exclusions",
        sa.Column("batch_id", sa.Uuid(), nullable=False),
        sa.Column("idx", sa.Integer(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("exclusion", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["batch_id"], ["batches.id"], name=op.f("fk_exclusions_batches"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("batch_id", "idx", name=op.f("pk_exclusions")),
    )
