# ruff: noqa: S608 - every statement is put together from constants
"""The first ledger: tables, rules and views are in the SQL files beside this one; counters are built here.

Revision ID: 0001
"""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

HERE = Path(__file__).parent
STATES = ("pending", "running", "decided", "failed", "cancelled", "excluded_by_filter")

# What a row of each table adds to each column of its batch's tally; `n` is 1 for a new row, -1 for a deleted row.
OF_ITEMS = {state: f"sum(n) FILTER (WHERE state = '{state}')" for state in STATES} | {
    "lost_claims": "sum(n * lost_claims)"
}
OF_RESULTS = {
    "ended": "sum(n)",
    "prompt_tokens": "sum(n * prompt_tokens)",
    "completion_tokens": "sum(n * completion_tokens)",
    "cost": "sum(n * cost)",
    "priced": "sum(n) FILTER (WHERE cost > 0)",
    "free": "sum(n) FILTER (WHERE cost = 0 AND calls > unanswered)",
    "unpriced": "sum(n) FILTER (WHERE cost IS NULL AND calls > 0)",
    "unanswered": "sum(n * unanswered)",
    "decided_cost": "sum(n * cost) FILTER (WHERE error_kind IS NULL AND calls > 0)",
    "decided_priced": "sum(n) FILTER (WHERE error_kind IS NULL AND calls > 0 AND cost IS NOT NULL)",
    "passed": "sum(n) FILTER (WHERE EXISTS (SELECT FROM batches b WHERE b.id = batch_id AND b.includes = value #>> '{}'))",
}
COLUMNS = (*OF_ITEMS, *OF_RESULTS)
READ = {
    "item_states": "batch_id, 0 AS round, state, lost_claims",
    "results": "batch_id, round, prompt_tokens, completion_tokens, cost, calls, unanswered, error_kind, value",
}


def _add(columns: tuple[str, ...]) -> str:
    """Return the ON CONFLICT clause for an INSERT into `tallies`: it adds the new numbers to an existing row."""
    sums = ", ".join(f"{name} = tallies.{name} + EXCLUDED.{name}" for name in columns)
    return f"ON CONFLICT (batch_id, round, backend) DO UPDATE SET {sums}"


def _difference(table: str, rows: str) -> str:
    """Return the statement that adds the counts of changed rows to this connection's `tallies`, unless all are 0.

    `rows`: a SELECT of the changed rows, with `n` as 1 for an added row and -1 for a removed row.
    """
    figures = OF_ITEMS if table == "item_states" else OF_RESULTS
    taken = ", ".join(f"coalesce({figure}, 0) AS {name}" for name, figure in figures.items())
    names = ", ".join(figures)
    return f"""
        INSERT INTO tallies (batch_id, round, backend, {names})
        SELECT batch_id, round, pg_backend_pid(), {names}
        FROM (SELECT batch_id, round, {taken} FROM ({rows}) AS changed GROUP BY batch_id, round) AS difference
        WHERE ({names}) <> ({", ".join("0" for _ in figures)})
        {_add(tuple(figures))};"""


def _keep_tallies_of(table: str, schema: str) -> None:
    read = READ[table]
    added, removed = f"SELECT {read}, 1 AS n FROM added", f"SELECT {read}, -1 AS n FROM removed"
    # A deleted batch takes its tally along, so changes of its rows count nowhere.
    gone = f"{removed} r WHERE EXISTS (SELECT FROM batches b WHERE b.id = r.batch_id)"
    op.execute(f"""
        CREATE FUNCTION tally_{table}() RETURNS trigger LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
        BEGIN
            CASE TG_OP
            WHEN 'INSERT' THEN {_difference(table, added)}
            WHEN 'UPDATE' THEN {_difference(table, f"{added} UNION ALL {removed}")}
            WHEN 'DELETE' THEN {_difference(table, gone)}
            END CASE;
            RETURN NULL;
        END $$""")
    for event, rows in {
        "INSERT": "NEW TABLE AS added",
        "UPDATE": "OLD TABLE AS removed NEW TABLE AS added",
        "DELETE": "OLD TABLE AS removed",
    }.items():
        op.execute(
            f"CREATE TRIGGER tally_{event.lower()} AFTER {event} ON {table} REFERENCING {rows} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION tally_{table}()"
        )


def _settling(schema: str) -> str:
    """Return the SQL of the function `settle_tallies(batch)`, which corrects tallies and merges the rows of each round.

    The SQL function returns true if a tally was wrong. The function counts and compares in one snapshot, and skips
    locked rows.
    """
    counted = "\nUNION ALL\n".join(
        f"SELECT round, {', '.join(f'coalesce({of[name]}, 0) AS {name}' if name in of else f'0 AS {name}' for name in COLUMNS)} "
        f"FROM (SELECT {READ[table]}, 1 AS n FROM {table} WHERE batch_id = of_batch) AS rows GROUP BY round"
        for table, of in (("item_states", OF_ITEMS), ("results", OF_RESULTS))
    )
    names = ", ".join(COLUMNS)
    sums = ", ".join(f"sum({name}) AS {name}" for name in COLUMNS)
    minus = ", ".join(f"-sum({name})" for name in COLUMNS)
    return f"""
        CREATE FUNCTION settle_tallies(of_batch uuid) RETURNS boolean LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
        DECLARE mended boolean;
        BEGIN
            INSERT INTO tallies (batch_id, round, backend, {names})
            SELECT of_batch, round, pg_backend_pid(), {names} FROM (
                SELECT round, {sums} FROM (
                    {counted}
                    UNION ALL
                    SELECT round, {minus} FROM tallies WHERE batch_id = of_batch GROUP BY round
                ) AS each GROUP BY round
            ) AS missing
            WHERE ({names}) <> ({", ".join("0" for _ in COLUMNS)})
            {_add(COLUMNS)};
            mended := FOUND;
            WITH taken AS (
                DELETE FROM tallies t USING (
                    SELECT batch_id, round, backend FROM tallies
                    WHERE batch_id = of_batch AND backend <> 0 FOR UPDATE SKIP LOCKED
                ) AS free
                WHERE t.batch_id = free.batch_id AND t.round = free.round AND t.backend = free.backend
                RETURNING t.*
            )
            INSERT INTO tallies (batch_id, round, backend, {names})
            SELECT batch_id, round, 0, {sums} FROM taken GROUP BY batch_id, round
            {_add(COLUMNS)};
            RETURN mended;
        END $$"""


def upgrade() -> None:
    """Create the tables, then the rules and counters on them, then the views."""
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    _run("0001_tables.sql", schema)
    _run("0001_rules.sql", schema)
    for table in READ:
        _keep_tallies_of(table, schema)
    op.execute(_settling(schema))
    op.execute(f"""
        CREATE FUNCTION forget_tallies() RETURNS trigger LANGUAGE plpgsql
        SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
        BEGIN
            DELETE FROM tallies t USING removed WHERE t.batch_id = removed.id;
            RETURN NULL;
        END $$""")
    op.execute(
        "CREATE TRIGGER forget_tallies AFTER DELETE ON batches REFERENCING OLD TABLE AS removed "
        "FOR EACH STATEMENT EXECUTE FUNCTION forget_tallies()"
    )
    _run("0001_views.sql", schema)


def _run(name: str, schema: str) -> None:
    """Run a file of SQL statements, with the schema's name in place of `{schema}`, and without parameters."""
    op.get_bind().connection.cursor().execute((HERE / name).read_text("utf-8").replace("{schema}", schema))
