-- The rules that the ledger itself holds, whoever writes: functions and triggers.

-- The steps of tamis_schemas.batches.status; any other step is refused.
CREATE FUNCTION refuse_transition() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION '% cannot go from % to %', TG_TABLE_NAME, OLD.state, NEW.state USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER legal_transitions BEFORE UPDATE OF state ON item_states FOR EACH ROW
WHEN (OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN (
        'pending>running',
        'pending>cancelled',
        'pending>failed',
        'running>decided',
        'running>failed',
        'running>pending',
        'failed>pending',
        'cancelled>pending'
    ))
EXECUTE FUNCTION refuse_transition();

CREATE TRIGGER legal_transitions BEFORE UPDATE OF state ON batches FOR EACH ROW
WHEN (OLD.state <> NEW.state AND (OLD.state || '>' || NEW.state) NOT IN (
        'pending>running',
        'pending>paused',
        'pending>cancelled',
        'running>completed',
        'running>paused',
        'running>cancelled',
        'paused>running',
        'paused>completed',
        'paused>cancelled',
        'completed>running',
        'cancelled>running'
    ))
EXECUTE FUNCTION refuse_transition();

-- Nobody changes what people decided. Depth 0 is a statement's own change; rows that go with a whole batch may go.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION '% are added to, never changed', TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON overrides FOR EACH ROW
WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change();

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON audits FOR EACH ROW
WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change();

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON audit_items FOR EACH ROW
WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change();

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON audit_decisions FOR EACH ROW
WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change();

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON remarks FOR EACH ROW
WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change();

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON copy_decisions FOR EACH ROW
WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change();

CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON screening_modes FOR EACH ROW
WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change();

-- A sample is promised before it is read: its records and their order stay. It may grow, and be closed once.
CREATE TRIGGER frames_stay BEFORE UPDATE ON stop_samples FOR EACH ROW
WHEN (NEW.drawn < OLD.drawn
    OR OLD.closed_at IS NOT NULL
    OR OLD.id IS DISTINCT FROM NEW.id
    OR OLD.batch_id IS DISTINCT FROM NEW.batch_id
    OR OLD.number IS DISTINCT FROM NEW.number
    OR OLD.seed IS DISTINCT FROM NEW.seed
    OR OLD.records IS DISTINCT FROM NEW.records
    OR OLD.created_at IS DISTINCT FROM NEW.created_at)
EXECUTE FUNCTION refuse_change();

CREATE TRIGGER never_deleted BEFORE DELETE ON stop_samples FOR EACH ROW
WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_change();

-- A pair's last verdict counts. Of copies, the record `idx` is excluded as a duplicate in every stage of its review. Neither
-- its state nor its result changes, so that a later verdict brings it back.
CREATE FUNCTION exclude_copy() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE place record;
BEGIN
    FOR place IN
        WITH ways (idx, copy_of, leaves) AS (
            VALUES (NEW.idx, NEW.copy_of, NEW.verdict IS NOT DISTINCT FROM 'copies'), (NEW.copy_of, NEW.idx, false)
        )
        SELECT NEW.batch_id, idx, copy_of, leaves, copy_of AS stays FROM ways
        UNION ALL
        SELECT p.batch_id, p.idx, ways.copy_of, leaves, stays.idx
        FROM ways
        JOIN batches f ON f.id = NEW.batch_id
        JOIN batches b ON b.review_id = f.review_id AND b.stage > 0
        JOIN payloads p ON p.batch_id = b.id AND p.origin = ways.idx
        LEFT JOIN payloads stays ON stays.batch_id = b.id AND stays.origin = ways.copy_of
    LOOP
        DELETE FROM exclusions e
        WHERE e.batch_id = place.batch_id AND e.idx = place.idx AND e.copy_of = place.copy_of;
        IF place.leaves THEN
            INSERT INTO exclusions (batch_id, idx, rule, copy_of, exclusion)
            SELECT place.batch_id, place.idx, 'duplicate', NEW.copy_of, json_build_object(
                'rule', 'duplicate', 'duplicate_of', place.stays,
                'reason', format('A copy of record %L, as %s decided.', i.item_id, NEW.reviewer))
            FROM item_states i WHERE i.batch_id = NEW.batch_id AND i.idx = NEW.copy_of
            ON CONFLICT DO NOTHING;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

CREATE TRIGGER copy_excluded AFTER INSERT ON copy_decisions FOR EACH ROW EXECUTE FUNCTION exclude_copy();

-- `results` has no foreign key to `batches`, so that recording one takes no lock on the batch. They go with it by this.
CREATE FUNCTION delete_results() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM results WHERE batch_id = OLD.id;
    RETURN NULL;
END $$;

CREATE TRIGGER results_go_too AFTER DELETE ON batches FOR EACH ROW EXECUTE FUNCTION delete_results();

-- A batch that is being purged stays so.
CREATE FUNCTION refuse_purged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'batch % is being purged', OLD.id USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER stays_purged BEFORE UPDATE ON batches FOR EACH ROW
WHEN (OLD.purging_at IS NOT NULL AND (NEW.purging_at IS NULL OR NEW.state <> OLD.state))
EXECUTE FUNCTION refuse_purged();

-- Webhooks are written in the transaction that changes the batch. A callback without events wants all of them.
CREATE FUNCTION webhook_wanted(callback json, event text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
SELECT coalesce(json_typeof(callback) = 'object', false)
   AND coalesce(jsonb_exists(callback::jsonb -> 'events', event), true)
$$;

CREATE FUNCTION tell_of_batch(batch batches, event text) RETURNS void LANGUAGE sql AS $$
INSERT INTO webhooks (batch_id, round, type, url, data)
SELECT batch.id, batch.round, event, batch.callback ->> 'url', json_build_object(
    'batch_id', batch.id, 'label', batch.label, 'operation', batch.operation, 'state', batch.state,
    'round', batch.round, 'review_id', batch.review_id, 'stage', batch.stage, 'pause', batch.pause
)
WHERE webhook_wanted(batch.callback, event)
ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION tell_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state = 'paused' AND OLD.state <> 'paused' AND NEW.pause ->> 'kind' <> 'requested' THEN
        PERFORM tell_of_batch(NEW, 'batch.paused');
    ELSIF NEW.state = 'completed' AND OLD.state <> 'completed'
       OR NEW.state = 'cancelled' AND NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL THEN
        PERFORM tell_of_batch(NEW, 'batch.completed');
    END IF;
    RETURN NULL;
END $$;

-- A batch that came from an archive tells nobody again.
CREATE FUNCTION tell_failures() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    batch batches;
    failed integer := NEW.summary #>> '{counts,failed}';
    decided integer := NEW.summary #>> '{counts,decided}';
BEGIN
    SELECT * INTO batch FROM batches WHERE id = NEW.batch_id;
    IF NEW.created_at > coalesce(batch.restored_at, '-infinity')
       AND failed > (batch.callback ->> 'failed_share')::double precision * (failed + decided) THEN
        PERFORM tell_of_batch(batch, 'batch.failing');
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION take_callback() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.callback := (SELECT callback FROM api_keys WHERE id = NEW.api_key_id);
    RETURN NEW;
END $$;

CREATE TRIGGER told AFTER UPDATE OF state, finished_at ON batches
FOR EACH ROW
WHEN (NEW.callback IS NOT NULL)
EXECUTE FUNCTION tell_state();

CREATE TRIGGER told AFTER INSERT ON summaries
FOR EACH ROW EXECUTE FUNCTION tell_failures();

CREATE TRIGGER callback_of_key BEFORE INSERT ON batches
FOR EACH ROW
WHEN (NEW.api_key_id IS NOT NULL
    AND NEW.service IS NULL
    AND NEW.restored_at IS NULL
    AND coalesce(json_typeof(NEW.callback), 'null') = 'null')
EXECUTE FUNCTION take_callback();

-- A NOTIFY takes a lock of the whole server at its commit. So only items of services' calls notify: ordinary ones are many.
CREATE FUNCTION tell_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tamis_calls', b.id::text)
    FROM batches b
    WHERE b.service IS NOT NULL AND b.id IN (SELECT batch_id FROM ended);
    RETURN NULL;
END $$;

CREATE TRIGGER results_told AFTER INSERT ON results REFERENCING NEW TABLE AS ended
FOR EACH STATEMENT EXECUTE FUNCTION tell_calls();

-- Nobody waits for the end of a service's batch, only for its items.
CREATE FUNCTION tell_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('tamis_batches', NEW.id::text);
    RETURN NULL;
END $$;

CREATE TRIGGER batches_told AFTER UPDATE OF state, finished_at ON batches
FOR EACH ROW WHEN (
    (OLD.state, OLD.finished_at) IS DISTINCT FROM (NEW.state, NEW.finished_at)
    AND (NEW.state IN ('paused', 'cancelled') OR (NEW.state = 'completed' AND NEW.service IS NULL))
) EXECUTE FUNCTION tell_batch();

-- Postgres expects one row of a batch that is younger than its statistics, and may then read the whole batch for each of
-- its rows. Without statistics of the batch's id, Postgres assumes that each batch has one in 200 of the table's rows,
-- and finds single rows through an index.
ALTER TABLE copy_decisions ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE evaluations ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE exclusions ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE item_states ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE overrides ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE past_failures ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE payloads ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE remarks ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE results ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE shards ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE tallies ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE transcripts ALTER COLUMN batch_id SET STATISTICS 0;
ALTER TABLE audit_items ALTER COLUMN audit_id SET STATISTICS 0;
ALTER TABLE audit_decisions ALTER COLUMN audit_id SET STATISTICS 0;
