"""What the release of revision 0007 says to the ledger, word for word: statements of its workers and its producer."""

COPY_ITEMS = "COPY items (batch_id, idx, item_id, payload, state, origin) FROM STDIN"

CLAIM = """
WITH wanted AS (
    SELECT i.batch_id, i.idx, b.round, i.state = 'running' AND i.worker = :worker AND w.doubted AS again,
           i.state = 'running' AS held
    FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[]), CAST(:doubted AS bool[]))
         AS w(batch_id, idx, doubted)
    JOIN items i USING (batch_id, idx)
    JOIN batches b ON b.id = i.batch_id AND b.state = 'running'
    WHERE ((i.state = 'running' AND i.worker = :worker AND w.doubted)
        OR (i.state = 'pending' OR (i.state = 'running' AND NOT EXISTS (
              SELECT FROM workers k
              WHERE k.id = i.worker AND (k.lease_until > now() OR NOT EXISTS (
                  SELECT FROM workers me
                  WHERE me.id = :worker AND now() BETWEEN me.judges_from AND me.judges_until)))))
        AND i.attempts < :max_claims)
    ORDER BY i.batch_id, i.idx
    FOR UPDATE OF i SKIP LOCKED
)
UPDATE items i
SET state = 'running', fence = i.fence + 1,
    attempts = i.attempts + CASE WHEN wanted.again THEN 0 ELSE 1 END,
    lost_claims = i.lost_claims + CASE WHEN wanted.held AND NOT wanted.again THEN 1 ELSE 0 END,
    worker = :worker, claimed_at = now()
FROM wanted
WHERE i.batch_id = wanted.batch_id AND i.idx = wanted.idx
RETURNING i.batch_id, i.idx, i.fence, i.item_id, i.payload, wanted.round
"""

LOST_CLAIMS = """
SELECT i.batch_id, i.idx
FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[])) AS held(batch_id, idx)
JOIN items i USING (batch_id, idx)
WHERE i.state <> 'running' OR i.worker IS DISTINCT FROM :worker
"""

RECORD = """
WITH given AS (
    SELECT * FROM json_to_recordset(CAST(:rows AS json)) AS r(
        batch_id uuid, idx int, fence int, state text, value json, detail json, confidence float8,
        reasoning text, error_kind text, error text, model text, prompt_sha256 text,
        prompt_tokens bigint, completion_tokens bigint, cached_tokens bigint, cache_write_tokens bigint,
        reasoning_tokens bigint, tier text, cost numeric, calls int, unanswered int, cached bool, latency_ms int,
        cut json, deviations json)
), accepted AS (
    UPDATE items i SET state = given.state, worker = NULL
    FROM given
    WHERE i.batch_id = given.batch_id AND i.idx = given.idx AND i.fence = given.fence AND i.state = 'running'
    RETURNING i.batch_id, i.idx, i.fence
), said AS (
    INSERT INTO evaluations (batch_id, idx, field, label, metric_type, score, category, reason)
    SELECT said.batch_id, said.idx, said.field, said.label, said.metric_type, said.score, said.category, said.reason
    FROM json_to_recordset(CAST(:evaluations AS json)) AS said(
        batch_id uuid, idx int, fence int, field text, label text, metric_type text, score float8, category text,
        reason text)
    JOIN accepted USING (batch_id, idx, fence)
    ON CONFLICT (batch_id, idx, field, label) DO UPDATE SET
        metric_type = EXCLUDED.metric_type, score = EXCLUDED.score, category = EXCLUDED.category,
        reason = EXCLUDED.reason
), common AS (
    INSERT INTO prompts (batch_id, sha256, text)
    SELECT p.batch_id, p.sha256, p.text
    FROM json_to_recordset(CAST(:prompts AS json)) AS p(batch_id uuid, sha256 text, text text)
    WHERE p.batch_id IN (SELECT batch_id FROM accepted)
    ON CONFLICT DO NOTHING
), transcribed AS (
    INSERT INTO transcripts (batch_id, idx, fence, round, calls)
    SELECT t.batch_id, t.idx, t.fence, b.round, t.calls
    FROM json_to_recordset(CAST(:transcripts AS json)) AS t(batch_id uuid, idx int, fence int, calls json)
    JOIN accepted USING (batch_id, idx, fence) JOIN batches b ON b.id = t.batch_id
)
INSERT INTO results (batch_id, idx, fence, round, value, detail, confidence, reasoning, error_kind, error, model,
                     prompt_sha256, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens,
                     reasoning_tokens, tier, cost, calls, unanswered, cached, latency_ms, cut, deviations)
SELECT given.batch_id, given.idx, given.fence, b.round, given.value, given.detail, given.confidence,
       given.reasoning, given.error_kind, given.error, given.model, given.prompt_sha256,
       given.prompt_tokens, given.completion_tokens, given.cached_tokens, given.cache_write_tokens,
       given.reasoning_tokens, given.tier, given.cost, given.calls, given.unanswered, given.cached, given.latency_ms,
       given.cut, given.deviations
FROM given JOIN accepted USING (batch_id, idx, fence) JOIN batches b ON b.id = given.batch_id
ON CONFLICT (batch_id, idx) DO UPDATE SET  -- a new round replaces the failure of the last one, but not its bill
    fence = EXCLUDED.fence, round = EXCLUDED.round, value = EXCLUDED.value, detail = EXCLUDED.detail,
    confidence = EXCLUDED.confidence, reasoning = EXCLUDED.reasoning, error_kind = EXCLUDED.error_kind,
    error = EXCLUDED.error, model = EXCLUDED.model, prompt_sha256 = EXCLUDED.prompt_sha256,
    prompt_tokens = results.prompt_tokens + EXCLUDED.prompt_tokens,
    completion_tokens = results.completion_tokens + EXCLUDED.completion_tokens,
    cached_tokens = results.cached_tokens + EXCLUDED.cached_tokens,
    cache_write_tokens = results.cache_write_tokens + EXCLUDED.cache_write_tokens,
    reasoning_tokens = results.reasoning_tokens + EXCLUDED.reasoning_tokens,
    tier = EXCLUDED.tier,
    cost = CASE  -- unknown where one of them is; without a call there is nothing to know
        WHEN results.calls = 0 THEN EXCLUDED.cost
        WHEN EXCLUDED.calls = 0 THEN results.cost
        ELSE results.cost + EXCLUDED.cost END,
    calls = least(results.calls::bigint + EXCLUDED.calls, 2147483647),
    unanswered = least(results.unanswered::bigint + EXCLUDED.unanswered, 2147483647),
    cached = EXCLUDED.cached AND results.calls = 0,  -- calls of an earlier round were paid for
    latency_ms = EXCLUDED.latency_ms,
    cut = EXCLUDED.cut,
    deviations = EXCLUDED.deviations,
    created_at = now()
RETURNING batch_id, idx
"""

GIVE_BACK = """
UPDATE items i SET state = 'pending', worker = NULL, attempts = i.attempts - 1, republished_at = now()
FROM unnest(CAST(:batch_ids AS uuid[]), CAST(:indexes AS int[]), CAST(:fences AS int[])) AS r(batch_id, idx, fence)
WHERE i.batch_id = r.batch_id AND i.idx = r.idx AND i.fence = r.fence AND i.state = 'running'
RETURNING i.batch_id, i.idx
"""

GIVE_UP = """
WITH poison AS (
    UPDATE items i
    SET state = 'failed', worker = NULL,
        lost_claims = i.lost_claims + CASE WHEN i.state = 'running' THEN 1 ELSE 0 END  -- of a pending one it is counted
    FROM batches b
    WHERE b.id = i.batch_id AND b.state IN ('running', 'paused') AND i.attempts >= :max_claims
      AND (i.state = 'pending' OR (i.state = 'running' AND NOT EXISTS (
              SELECT FROM workers k WHERE k.id = i.worker AND k.lease_until > now())))
      AND EXISTS (SELECT FROM shards s WHERE s.batch_id = i.batch_id AND s.round = b.round
                  AND s.state = 'dispatched' AND i.idx >= s.first_idx AND i.idx < s.end_idx)
    RETURNING i.batch_id, i.idx, i.fence, b.round, i.attempts
)
INSERT INTO results (batch_id, idx, fence, round, error_kind, error, prompt_tokens, completion_tokens, calls)
SELECT batch_id, idx, fence, round, 'attempts_exhausted',
       format('claimed %s times, and each time the worker died before a result', attempts), 0, 0, 0
FROM poison
ON CONFLICT (batch_id, idx) DO UPDATE SET
    fence = EXCLUDED.fence, round = EXCLUDED.round, error_kind = EXCLUDED.error_kind, error = EXCLUDED.error,
    value = NULL, detail = NULL, created_at = now()
RETURNING batch_id, idx
"""

RELEASE_DEAD = """
UPDATE items i SET state = 'pending', worker = NULL, republished_at = now(), lost_claims = i.lost_claims + 1
FROM shards s JOIN batches b ON b.id = s.batch_id AND b.round = s.round
WHERE s.state = 'dispatched' AND i.batch_id = s.batch_id AND i.idx >= s.first_idx AND i.idx < s.end_idx
  AND i.state = 'running'
  AND NOT EXISTS (SELECT FROM workers k WHERE k.id = i.worker AND k.lease_until > now())
RETURNING i.batch_id, b.operation, b.state AS batch_state, i.idx, i.item_id
"""

CANCEL_RELEASED = """
UPDATE items i SET state = 'cancelled'
FROM batches b
WHERE b.state = 'cancelled' AND b.finished_at IS NULL AND i.batch_id = b.id AND i.state = 'pending'
"""

LOST = """
WITH published AS (
    SELECT i.batch_id, b.operation, b.priority, coalesce(b.lane, 0) AS lane, i.idx, i.item_id, i.state, i.claimed_at,
           greatest(s.dispatched_at, i.republished_at) AS published_at
    FROM shards s
    JOIN batches b ON b.id = s.batch_id AND b.round = s.round AND b.state = 'running'
    JOIN items i ON i.batch_id = s.batch_id AND i.idx >= s.first_idx AND i.idx < s.end_idx
    WHERE s.state = 'dispatched'
), reached AS (  -- of each queue, the latest publication of which something was claimed a while ago
    SELECT priority, lane, max(published_at) AS upto FROM (
        SELECT priority, lane, published_at FROM published
        WHERE claimed_at >= published_at AND claimed_at < now() - make_interval(secs => :grace)
        UNION ALL
        SELECT b.priority, coalesce(b.lane, 0), s.dispatched_at FROM shards s JOIN batches b ON b.id = s.batch_id
        WHERE s.state = 'aggregated' AND s.aggregated_at < now() - make_interval(secs => :grace)
          AND s.aggregated_at > now() - interval '1 day'
    ) AS seen
    GROUP BY priority, lane
), lost AS (
    SELECT p.* FROM published p LEFT JOIN reached r USING (priority, lane)
    WHERE p.state = 'pending' AND p.published_at < now() - make_interval(secs => :grace)
      AND (p.published_at < r.upto
           OR (p.priority, p.lane) IN (SELECT * FROM unnest(CAST(:priorities AS text[]), CAST(:lanes AS int[]))))
)
UPDATE items i SET republished_at = now() FROM lost
WHERE i.batch_id = lost.batch_id AND i.idx = lost.idx AND i.state = 'pending'
RETURNING i.batch_id, lost.operation, i.idx, i.item_id
"""

UNCLOSED = """
SELECT s.batch_id, s.round, s.shard, b.traceparent
FROM shards s JOIN batches b ON b.id = s.batch_id AND b.round = s.round AND b.state IN ('running', 'paused')
WHERE s.state = 'dispatched' AND s.dispatched_at < now() - make_interval(secs => :grace)
  AND NOT EXISTS (SELECT FROM items i WHERE i.batch_id = s.batch_id AND i.idx >= s.first_idx AND i.idx < s.end_idx
                  AND i.state IN ('pending', 'running'))
ORDER BY s.batch_id, s.shard
"""

UNFINISHED = """
SELECT b.id FROM batches b
WHERE b.state = 'cancelled' AND b.finished_at IS NULL
  AND NOT EXISTS (SELECT FROM items i WHERE i.batch_id = b.id AND i.state IN ('pending', 'running'))
ORDER BY b.created_at
"""
