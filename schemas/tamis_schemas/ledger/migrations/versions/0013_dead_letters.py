"""Messages that no worker understood are kept, the newest of them.

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

MOST_KEPT = 2_000  # a flood of them fills no disk: 20 kB each at the most

# With its owner's rights: who may add a letter need not be allowed to delete one. What another one deletes is skipped.
FORGET = """
CREATE FUNCTION forget_dead_letters() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
BEGIN
    DELETE FROM dead_letters WHERE id IN (
        SELECT id FROM dead_letters ORDER BY id DESC OFFSET {most} FOR UPDATE SKIP LOCKED
    );
    RETURN NULL;
END $$
"""
FORGOTTEN = """
CREATE TRIGGER dead_letters_forgotten AFTER INSERT ON dead_letters
FOR EACH STATEMENT EXECUTE FUNCTION forget_dead_letters()
"""
# Who could delete batches, by the policy of retention, deletes letters with them: without this right it would do neither.
RIGHTS = """
DO $$
DECLARE may record;
BEGIN
    FOR may IN
        SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS who
        FROM pg_class, aclexplode(relacl)
        WHERE oid = 'batches'::regclass AND grantee <> relowner AND privilege_type = 'DELETE'
    LOOP
        EXECUTE format('GRANT SELECT, DELETE ON dead_letters TO %s', may.who);
    END LOOP;
END $$
"""


def upgrade() -> None:
    """Add the table, and the trigger that bounds it whoever writes."""
    instant = sa.DateTime(timezone=True)
    op.create_table(
        "dead_letters",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        sa.Column("created_at", instant, nullable=False, server_default=sa.func.now()),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("queue", sa.Text),
        sa.Column("task", sa.Text),
        sa.Column("task_id", sa.Text),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("content_type", sa.Text),
        sa.Column("content_encoding", sa.Text),
        sa.Column("headers", sa.JSON, nullable=False),
        sa.Column("properties", sa.JSON, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("in_base64", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("body_bytes", sa.BigInteger, nullable=False),
        sa.Column("whole", sa.Boolean, nullable=False),
        sa.Column("more", sa.BigInteger, nullable=False, server_default="0"),
    )
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    op.execute(FORGET.format(schema=schema, most=MOST_KEPT))
    op.execute(FORGOTTEN)
    op.execute(RIGHTS)
