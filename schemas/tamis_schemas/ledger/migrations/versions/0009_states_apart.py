# ruff: noqa: S608 - every statement is put together from constants
"""The changing part of items, apart from their payloads; and counters, kept by whatever changes a state.

`items` becomes `payloads`, where it lies: nothing heavy is read or written. Its changing columns move to `item_states`,
narrow rows with room on their page for the next version. A view `items` takes the statements of the release before.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

# Percent of a page that COPY fills: an item is claimed and decided, and both versions find room beside the first.
FILL = 40
STATES = ("pending", "running", "decided", "failed", "cancelled", "excluded_by_filter")
# As revision 0001 has them, for the table that the states are in now.
STEPS = (
    ("pending", "running"),
    ("pending", "cancelled"),
    ("pending", "failed"),
    ("running", "decided"),
    ("running", "failed"),
    ("running", "pending"),
    ("failed", "pending"),
    ("cancelled", "pending"),
)
CHANGING = ("state", "attempts", "fence", "lost_claims", "worker", "claimed_at", "republished_at")

# What a row of each table adds to its batch's tally; `n` is 1 where the row comes, -1 where it goes.
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
}
COLUMNS = (*OF_ITEMS, *OF_RESULTS)
READ = {
    "item_states": "batch_id, 0 AS round, state, lost_claims",
    "results": "batch_id, round, prompt_tokens, completion_tokens, cost, calls, unanswered, error_kind",
}


def _add(columns: tuple[str, ...]) -> str:
    """The end of an INSERT into `tallies` that adds to a row which is there already."""
    sums = ", ".join(f"{name} = tallies.{name} + EXCLUDED.{name}" for name in columns)
    return f"ON CONFLICT (batch_id, round, backend) DO UPDATE SET {sums}"


def _difference(table: str, rows: str) -> str:
    """Add to the tally of this connection what `rows` change; nothing is written where that is nothing."""
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
    # A batch that goes takes its tally along: what its rows would change is nobody's.
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
    """`settle_tallies(batch)`: recount, add what is missing, and make one row a round of those of all connections.

    True where something was missing. The recount and the sums are of one snapshot, so that what others change meanwhile
    is in both or in neither; and a row that another transaction holds is left as it is: nobody is waited for.
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


# What the release before says to a table. An UPDATE was worked out from the row as the statement's snapshot has it, and
# no executor looks again for a view: so the base row must still be that one. Whoever comes second changes nothing.
VIEW = f"""
CREATE VIEW items AS
SELECT s.batch_id, s.idx, s.item_id, p.payload, s.state, s.attempts, s.fence, s.worker, s.claimed_at, s.republished_at,
       p.origin, s.lost_claims
FROM item_states s JOIN payloads p ON p.batch_id = s.batch_id AND p.idx = s.idx;

ALTER VIEW items ALTER state SET DEFAULT 'pending', ALTER attempts SET DEFAULT 0, ALTER fence SET DEFAULT 0,
                 ALTER lost_claims SET DEFAULT 0;

CREATE FUNCTION write_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    CASE TG_OP
    WHEN 'INSERT' THEN
        INSERT INTO payloads (batch_id, idx, payload, origin)
        VALUES (NEW.batch_id, NEW.idx, NEW.payload, NEW.origin);
        INSERT INTO item_states (batch_id, idx, item_id, {", ".join(CHANGING)})
        VALUES (NEW.batch_id, NEW.idx, NEW.item_id, {", ".join(f"NEW.{name}" for name in CHANGING)});
        RETURN NEW;
    WHEN 'UPDATE' THEN
        IF (NEW.batch_id, NEW.idx, NEW.item_id, NEW.payload::text, NEW.origin)
           IS DISTINCT FROM (OLD.batch_id, OLD.idx, OLD.item_id, OLD.payload::text, OLD.origin) THEN
            RAISE EXCEPTION 'what an item is cannot be changed' USING ERRCODE = 'check_violation';
        END IF;
        UPDATE item_states s SET {", ".join(f"{name} = NEW.{name}" for name in CHANGING)}
        WHERE s.batch_id = OLD.batch_id AND s.idx = OLD.idx
          AND (s.fence, s.state, s.attempts, s.lost_claims) = (OLD.fence, OLD.state, OLD.attempts, OLD.lost_claims);
        RETURN CASE WHEN FOUND THEN NEW END;
    WHEN 'DELETE' THEN
        DELETE FROM item_states s WHERE s.batch_id = OLD.batch_id AND s.idx = OLD.idx;
        DELETE FROM payloads p WHERE p.batch_id = OLD.batch_id AND p.idx = OLD.idx;
        RETURN OLD;
    END CASE;
END $$;

CREATE TRIGGER write_item INSTEAD OF INSERT OR UPDATE OR DELETE ON items FOR EACH ROW EXECUTE FUNCTION write_item();
"""

# Whoever had a right to the table has it to what stands in its place: workers go on without a hand's help.
RIGHTS = """
DO $$
DECLARE given record;
BEGIN
    FOR given IN
        SELECT privilege_type AS may, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS who
        FROM pg_class, aclexplode(relacl) WHERE oid = 'payloads'::regclass AND grantee <> relowner
    LOOP
        EXECUTE format('GRANT %s ON items, item_states TO %s', given.may, given.who);
        IF given.may = 'SELECT' THEN
            EXECUTE format('GRANT SELECT ON tallies TO %s', given.who);
        END IF;
    END LOOP;
END $$
"""


def upgrade() -> None:
    """Part the table, count what is there, and keep counting.

    What is renamed and dropped here the release before still finds, in the view; so it is said in SQL.
    """
    schema = op.get_bind().execute(sa.text("SELECT quote_ident(current_schema())")).scalar_one()
    _part()
    _name_tallies()
    for table in READ:
        _keep_tallies_of(table, schema)
    op.execute(_settling(schema))
    op.execute("SELECT count(settle_tallies(id)) FROM batches")
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
    op.execute(VIEW)
    op.execute(RIGHTS)
    for name, table, columns, condition in INDEXES:
        op.execute(f"CREATE INDEX {name} ON {table} ({columns}) WHERE {condition}")


# What is open, and what failed: whoever looks for that passes over what is finished, however much of it there is.
INDEXES = (
    ("ix_batches_unfinished", "batches", "created_at", "finished_at IS NULL"),
    ("ix_shards_aggregated", "shards", "dispatched_at", "state = 'aggregated'"),
    ("ix_tallies_failed", "tallies", "batch_id", "failed <> 0"),
    ("ix_results_failed", "results", "batch_id, idx", "error_kind IS NOT NULL"),
)


def _part() -> None:
    steps = ", ".join(f"'{before}>{after}'" for before, after in STEPS)
    states = ", ".join(f"'{state}'" for state in STATES)
    for statement in (
        "ALTER TABLE items RENAME TO payloads",
        "ALTER TABLE payloads RENAME CONSTRAINT pk_items TO pk_payloads",
        "ALTER TABLE payloads RENAME CONSTRAINT fk_items_batches TO fk_payloads_batches",
        f"""CREATE TABLE item_states (
            batch_id uuid NOT NULL,
            idx integer NOT NULL,
            item_id text NOT NULL,
            state text NOT NULL DEFAULT 'pending' CONSTRAINT ck_item_states_state_known CHECK (state IN ({states})),
            attempts integer NOT NULL DEFAULT 0,
            fence integer NOT NULL DEFAULT 0,
            lost_claims integer NOT NULL DEFAULT 0,
            worker text,
            claimed_at timestamptz,
            republished_at timestamptz
        ) WITH (fillfactor = {FILL})""",
        f"INSERT INTO item_states (batch_id, idx, item_id, {', '.join(CHANGING)}) "
        f"SELECT batch_id, idx, item_id, {', '.join(CHANGING)} FROM payloads",
        "ALTER TABLE item_states ADD CONSTRAINT pk_item_states PRIMARY KEY (batch_id, idx)",
        "ALTER TABLE item_states ADD CONSTRAINT fk_item_states_batches "
        "FOREIGN KEY (batch_id) REFERENCES batches (id) ON DELETE CASCADE",
        "CREATE TRIGGER legal_transitions BEFORE UPDATE OF state ON item_states FOR EACH ROW "
        f"WHEN (OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN ({steps})) "
        "EXECUTE FUNCTION refuse_transition()",
        # Whoever writes a transcript holds the item's row, and that is the one that changes.
        *(
            f"ALTER TABLE {table} DROP CONSTRAINT fk_{table}_items, ADD CONSTRAINT fk_{table}_items "
            "FOREIGN KEY (batch_id, idx) REFERENCES item_states (batch_id, idx) ON DELETE CASCADE"
            for table in ("transcripts", "overrides")
        ),
        "DROP TRIGGER legal_transitions ON payloads",
        f"ALTER TABLE payloads DROP item_id, {', '.join(f'DROP {name}' for name in CHANGING)}",
    ):
        op.execute(statement)


def _name_tallies() -> None:
    # No foreign key: its check would take a lock on the batch's row, for which a worker that holds items must not wait.
    # Half of each page is free for the next version, as a row is written with every group of claims or outcomes.
    columns = ", ".join(
        f"{name} {'numeric' if 'cost' in name or 'tokens' in name else 'bigint'} NOT NULL DEFAULT 0" for name in COLUMNS
    )
    op.execute(
        f"CREATE TABLE tallies (batch_id uuid NOT NULL, round integer NOT NULL, backend integer NOT NULL, {columns}, "
        "CONSTRAINT pk_tallies PRIMARY KEY (batch_id, round, backend)) WITH (fillfactor = 50)"
    )
