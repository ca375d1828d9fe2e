-- The tables of the first ledger; tamis_schemas.ledger.tables says what their columns mean.

CREATE TABLE api_keys (
    id TEXT NOT NULL,
    secret_sha256 TEXT NOT NULL,
    label TEXT NOT NULL,
    scopes JSON NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    revoked_at timestamptz,
    models JSON,
    monthly_cost NUMERIC(18, 9),
    callback JSON,
    CONSTRAINT pk_api_keys PRIMARY KEY (id)
);

CREATE TABLE dialects (
    endpoint TEXT NOT NULL,
    model TEXT NOT NULL,
    rung TEXT NOT NULL,
    proven BOOLEAN DEFAULT false NOT NULL,
    unusable INTEGER DEFAULT 0 NOT NULL,
    probe_worker TEXT,
    probe_until timestamptz,
    changed_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_dialects PRIMARY KEY (endpoint, model)
);

CREATE TABLE llm_cache (
    key TEXT NOT NULL,
    content TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    probability DOUBLE PRECISION,
    CONSTRAINT pk_llm_cache PRIMARY KEY (key)
);
CREATE INDEX ix_llm_cache_created_at ON llm_cache (created_at);

CREATE TABLE repairs (
    kind TEXT NOT NULL,
    total BIGINT NOT NULL,
    last_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_repairs PRIMARY KEY (kind)
);

CREATE TABLE results (
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    round INTEGER NOT NULL,
    value JSON,
    detail JSON,
    confidence DOUBLE PRECISION,
    reasoning TEXT,
    error_kind TEXT,
    error TEXT,
    model TEXT,
    prompt_sha256 TEXT,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    cached_tokens BIGINT DEFAULT 0 NOT NULL,
    cache_write_tokens BIGINT DEFAULT 0 NOT NULL,
    reasoning_tokens BIGINT DEFAULT 0 NOT NULL,
    tier TEXT,
    cost NUMERIC(18, 9),
    calls INTEGER NOT NULL,
    unanswered INTEGER DEFAULT 0 NOT NULL,
    cached BOOLEAN DEFAULT false NOT NULL,
    latency_ms INTEGER,
    cut JSON,
    deviations JSON,
    probability DOUBLE PRECISION,
    relevance SMALLINT,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_results PRIMARY KEY (batch_id, idx),
    CONSTRAINT ck_results_error_kind_known CHECK (error_kind IN ('authentication', 'permission', 'model_not_found', 'invalid_request', 'context_length', 'timeout', 'connection', 'server', 'rate_limited', 'refused', 'content_filter', 'truncated', 'empty', 'malformed', 'invalid', 'no_content', 'attempts_exhausted', 'internal')),
    CONSTRAINT ck_results_error_has_kind CHECK ((error_kind IS NULL) = (error IS NULL)),
    CONSTRAINT ck_results_error_no_decision CHECK (error_kind IS NULL OR value IS NULL),
    CONSTRAINT ck_results_confidence_range CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT ck_results_probability_range CHECK (probability BETWEEN 0 AND 1),
    CONSTRAINT ck_results_relevance_range CHECK (relevance BETWEEN 0 AND 100)
);
CREATE INDEX ix_results_failed ON results (batch_id, idx) WHERE error_kind IS NOT NULL;

CREATE TABLE reviews (
    id UUID NOT NULL,
    content_sha256 TEXT NOT NULL,
    label TEXT NOT NULL,
    plan JSON NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    finished_at timestamptz,
    purging_at timestamptz,
    CONSTRAINT pk_reviews PRIMARY KEY (id),
    CONSTRAINT uq_reviews_content_sha256 UNIQUE (content_sha256)
);
CREATE INDEX ix_reviews_open ON reviews (created_at) WHERE finished_at IS NULL;

-- Half of each page is free for the next version: a row is written with every group of claims or outcomes.
CREATE TABLE tallies (
    batch_id UUID NOT NULL,
    round INTEGER NOT NULL,
    backend INTEGER NOT NULL,
    pending BIGINT DEFAULT 0 NOT NULL,
    running BIGINT DEFAULT 0 NOT NULL,
    decided BIGINT DEFAULT 0 NOT NULL,
    failed BIGINT DEFAULT 0 NOT NULL,
    cancelled BIGINT DEFAULT 0 NOT NULL,
    excluded_by_filter BIGINT DEFAULT 0 NOT NULL,
    lost_claims BIGINT DEFAULT 0 NOT NULL,
    ended BIGINT DEFAULT 0 NOT NULL,
    passed BIGINT DEFAULT 0 NOT NULL,
    prompt_tokens NUMERIC DEFAULT 0 NOT NULL,
    completion_tokens NUMERIC DEFAULT 0 NOT NULL,
    cost NUMERIC DEFAULT 0 NOT NULL,
    priced BIGINT DEFAULT 0 NOT NULL,
    free BIGINT DEFAULT 0 NOT NULL,
    unpriced BIGINT DEFAULT 0 NOT NULL,
    unanswered BIGINT DEFAULT 0 NOT NULL,
    decided_cost NUMERIC DEFAULT 0 NOT NULL,
    decided_priced BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT pk_tallies PRIMARY KEY (batch_id, round, backend)
) WITH (fillfactor = 50);
CREATE INDEX ix_tallies_failed ON tallies (batch_id) WHERE failed != 0;

CREATE TABLE workers (
    id TEXT NOT NULL,
    started_at timestamptz DEFAULT now() NOT NULL,
    lease_until timestamptz NOT NULL,
    host TEXT,
    pid INTEGER,
    concurrency INTEGER,
    in_flight INTEGER,
    version TEXT,
    state TEXT DEFAULT 'working' NOT NULL,
    state_since timestamptz,
    reason TEXT,
    progress_at timestamptz,
    judges_from timestamptz,
    judges_until timestamptz,
    CONSTRAINT pk_workers PRIMARY KEY (id)
);

CREATE TABLE batches (
    id UUID NOT NULL,
    idempotency_key TEXT,
    api_key_id TEXT,
    service TEXT,
    callback JSON,
    content_sha256 TEXT NOT NULL,
    label TEXT,
    operation TEXT NOT NULL,
    includes TEXT,
    excludes TEXT,
    excluded_because TEXT,
    params JSON NOT NULL,
    model TEXT,
    state TEXT DEFAULT 'pending' NOT NULL,
    n_items INTEGER NOT NULL,
    shard_size INTEGER NOT NULL,
    window_size INTEGER NOT NULL,
    use_cache BOOLEAN DEFAULT true NOT NULL,
    steering JSON,
    source JSON,
    review_id UUID,
    stage INTEGER,
    updates UUID,
    round INTEGER DEFAULT 1 NOT NULL,
    pause JSON,
    priority TEXT DEFAULT 'normal' NOT NULL,
    lane SMALLINT,
    max_cost NUMERIC(18, 9),
    traceparent TEXT,
    created_at timestamptz DEFAULT now() NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    purging_at timestamptz,
    restored_at timestamptz,
    CONSTRAINT pk_batches PRIMARY KEY (id),
    CONSTRAINT ck_batches_state_known CHECK (state IN ('pending', 'running', 'paused', 'completed', 'cancelled')),
    CONSTRAINT ck_batches_priority_known CHECK (priority IN ('low', 'normal', 'high')),
    CONSTRAINT ck_batches_max_cost_range CHECK (max_cost >= 0),
    CONSTRAINT ck_batches_stage_of_review CHECK ((review_id IS NULL) = (stage IS NULL)),
    CONSTRAINT uq_batches_review_id_stage UNIQUE (review_id, stage),
    CONSTRAINT fk_batches_reviews FOREIGN KEY(review_id) REFERENCES reviews (id) ON DELETE CASCADE
);
CREATE INDEX ix_batches_by_key ON batches (api_key_id, created_at) WHERE api_key_id IS NOT NULL;
CREATE INDEX ix_batches_created_at ON batches (created_at);
CREATE INDEX ix_batches_listed ON batches (created_at) WHERE service IS NULL;
CREATE INDEX ix_batches_purging ON batches (purging_at) WHERE purging_at IS NOT NULL;
CREATE INDEX ix_batches_unfinished ON batches (created_at) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX uq_batches_idempotency_key ON batches (coalesce(api_key_id, ''), idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE audits (
    id UUID NOT NULL,
    batch_id UUID NOT NULL,
    seed BIGINT NOT NULL,
    stratum TEXT NOT NULL,
    population INTEGER NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_audits PRIMARY KEY (id),
    CONSTRAINT ck_audits_stratum_known CHECK (stratum IN ('all', 'rules', 'model')),
    CONSTRAINT fk_audits_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);
CREATE INDEX ix_audits_batch ON audits (batch_id);

CREATE TABLE evaluations (
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    field TEXT DEFAULT '' NOT NULL,
    label TEXT NOT NULL,
    metric_type TEXT NOT NULL,
    score DOUBLE PRECISION,
    category TEXT,
    reason TEXT,
    CONSTRAINT pk_evaluations PRIMARY KEY (batch_id, idx, field, label),
    CONSTRAINT ck_evaluations_one_value CHECK (num_nonnulls(score, category, reason) = 1),
    CONSTRAINT ck_evaluations_score_range CHECK (score BETWEEN 0 AND 1),
    CONSTRAINT fk_evaluations_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);

CREATE TABLE exclusions (
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    rule TEXT NOT NULL,
    exclusion JSON NOT NULL,
    copy_of INTEGER,
    CONSTRAINT pk_exclusions PRIMARY KEY (batch_id, idx),
    CONSTRAINT fk_exclusions_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);
CREATE INDEX ix_exclusions_copies ON exclusions (batch_id, idx) WHERE copy_of IS NOT NULL;

-- Percent of a page that COPY fills: an item is claimed and decided, and both versions find room beside the first.
CREATE TABLE item_states (
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    item_id TEXT NOT NULL,
    state TEXT DEFAULT 'pending' NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    fence INTEGER DEFAULT 0 NOT NULL,
    lost_claims INTEGER DEFAULT 0 NOT NULL,
    worker TEXT,
    claimed_at timestamptz,
    republished_at timestamptz,
    CONSTRAINT pk_item_states PRIMARY KEY (batch_id, idx),
    CONSTRAINT ck_item_states_state_known CHECK (state IN ('pending', 'running', 'decided', 'failed', 'cancelled', 'excluded_by_filter')),
    CONSTRAINT fk_item_states_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
) WITH (fillfactor = 40);

CREATE TABLE past_failures (
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    round INTEGER NOT NULL,
    error_kind TEXT NOT NULL,
    error TEXT NOT NULL,
    CONSTRAINT pk_past_failures PRIMARY KEY (batch_id, idx, round),
    CONSTRAINT fk_past_failures_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);

CREATE TABLE payloads (
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    payload JSON NOT NULL,
    origin INTEGER,
    source SMALLINT,
    call_id UUID,
    CONSTRAINT pk_payloads PRIMARY KEY (batch_id, idx),
    CONSTRAINT fk_payloads_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);
CREATE INDEX ix_payloads_origin ON payloads (batch_id, origin) WHERE origin IS NOT NULL;
CREATE UNIQUE INDEX uq_payloads_call_id ON payloads (call_id) WHERE call_id IS NOT NULL;

CREATE TABLE prompts (
    batch_id UUID NOT NULL,
    sha256 TEXT NOT NULL,
    text TEXT NOT NULL,
    CONSTRAINT pk_prompts PRIMARY KEY (batch_id, sha256),
    CONSTRAINT fk_prompts_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);

CREATE TABLE reading_orders (
    batch_id UUID NOT NULL,
    seed BIGINT NOT NULL,
    explore DOUBLE PRECISION NOT NULL,
    last_override BIGINT NOT NULL,
    answered BIGINT NOT NULL,
    decided INTEGER NOT NULL,
    included INTEGER NOT NULL,
    text_weight DOUBLE PRECISION NOT NULL,
    made_at timestamptz DEFAULT now() NOT NULL,
    places INTEGER[] NOT NULL,
    reasons TEXT[] NOT NULL,
    CONSTRAINT pk_reading_orders PRIMARY KEY (batch_id),
    CONSTRAINT fk_reading_orders_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);

CREATE TABLE screening_modes (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    batch_id UUID NOT NULL,
    mode TEXT NOT NULL,
    set_by TEXT NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_screening_modes PRIMARY KEY (id),
    CONSTRAINT ck_screening_modes_mode_known CHECK (mode IN ('single', 'pair', 'model_second', 'model_audited')),
    CONSTRAINT fk_screening_modes_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);
CREATE INDEX ix_screening_modes_batch ON screening_modes (batch_id, id);

CREATE TABLE shards (
    batch_id UUID NOT NULL,
    round INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    first_idx INTEGER NOT NULL,
    end_idx INTEGER NOT NULL,
    state TEXT DEFAULT 'waiting' NOT NULL,
    dispatched_at timestamptz,
    published_at timestamptz,
    aggregated_at timestamptz,
    CONSTRAINT pk_shards PRIMARY KEY (batch_id, round, shard),
    CONSTRAINT ck_shards_state_known CHECK (state IN ('waiting', 'dispatched', 'aggregated')),
    CONSTRAINT fk_shards_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);
CREATE INDEX ix_shards_aggregated ON shards (dispatched_at) WHERE state = 'aggregated';
CREATE INDEX ix_shards_open ON shards (state) WHERE state <> 'aggregated';

CREATE TABLE spending (
    batch_id UUID NOT NULL,
    reserved NUMERIC(18, 9) DEFAULT 0 NOT NULL,
    spent NUMERIC(18, 9) DEFAULT 0 NOT NULL,
    CONSTRAINT pk_spending PRIMARY KEY (batch_id),
    CONSTRAINT fk_spending_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);

CREATE TABLE stop_samples (
    id UUID NOT NULL,
    batch_id UUID NOT NULL,
    number INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    recall DOUBLE PRECISION NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    records INTEGER[] NOT NULL,
    drawn INTEGER DEFAULT 0 NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    closed_at timestamptz,
    CONSTRAINT pk_stop_samples PRIMARY KEY (id),
    CONSTRAINT uq_stop_samples_batch_id_number UNIQUE (batch_id, number),
    CONSTRAINT ck_stop_samples_recall_range CHECK (recall > 0 AND recall <= 1),
    CONSTRAINT ck_stop_samples_confidence_range CHECK (confidence > 0 AND confidence < 1),
    CONSTRAINT ck_stop_samples_drawn_range CHECK (drawn BETWEEN 0 AND cardinality(records)),
    CONSTRAINT fk_stop_samples_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX uq_stop_samples_open ON stop_samples (batch_id) WHERE closed_at IS NULL;

CREATE TABLE summaries (
    batch_id UUID NOT NULL,
    round INTEGER NOT NULL,
    summary JSONB NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_summaries PRIMARY KEY (batch_id, round),
    CONSTRAINT fk_summaries_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);

CREATE TABLE webhooks (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    batch_id UUID,
    round INTEGER,
    type TEXT NOT NULL,
    url TEXT NOT NULL,
    data JSON NOT NULL,
    body TEXT,
    state TEXT DEFAULT 'waiting' NOT NULL,
    tries INTEGER DEFAULT 0 NOT NULL,
    next_at timestamptz DEFAULT now() NOT NULL,
    claimed_until timestamptz,
    last_at timestamptz,
    last_status INTEGER,
    last_said TEXT,
    created_at timestamptz DEFAULT now() NOT NULL,
    ended_at timestamptz,
    CONSTRAINT pk_webhooks PRIMARY KEY (id),
    CONSTRAINT ck_webhooks_state_known CHECK (state IN ('waiting', 'delivered', 'given_up')),
    CONSTRAINT ck_webhooks_ended_at_known CHECK ((state = 'waiting') = (ended_at IS NULL)),
    CONSTRAINT fk_webhooks_batches FOREIGN KEY(batch_id) REFERENCES batches (id) ON DELETE CASCADE
);
CREATE INDEX ix_webhooks_batch ON webhooks (batch_id);
CREATE INDEX ix_webhooks_created_at ON webhooks (created_at);
CREATE INDEX ix_webhooks_due ON webhooks (next_at) WHERE state = 'waiting';
CREATE UNIQUE INDEX uq_webhooks_failing ON webhooks (batch_id, round) WHERE type = 'batch.failing';

CREATE TABLE audit_items (
    audit_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    drawn INTEGER NOT NULL,
    CONSTRAINT pk_audit_items PRIMARY KEY (audit_id, idx),
    CONSTRAINT fk_audit_items_audits FOREIGN KEY(audit_id) REFERENCES audits (id) ON DELETE CASCADE
);

CREATE TABLE copy_decisions (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    copy_of INTEGER NOT NULL,
    verdict TEXT,
    reviewer TEXT NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_copy_decisions PRIMARY KEY (id),
    CONSTRAINT fk_copy_decisions_items FOREIGN KEY(batch_id, idx) REFERENCES item_states (batch_id, idx) ON DELETE CASCADE,
    CONSTRAINT ck_copy_decisions_verdict_known CHECK (verdict IN ('copies', 'different'))
);
CREATE INDEX ix_copy_decisions_pair ON copy_decisions (batch_id, idx, copy_of, id);

CREATE TABLE overrides (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    value JSON,
    note TEXT,
    reviewer TEXT NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    stage TEXT DEFAULT 'own' NOT NULL,
    reason TEXT,
    settles BOOLEAN DEFAULT false NOT NULL,
    in_order BOOLEAN DEFAULT false NOT NULL,
    decision_id UUID,
    CONSTRAINT pk_overrides PRIMARY KEY (id),
    CONSTRAINT fk_overrides_items FOREIGN KEY(batch_id, idx) REFERENCES item_states (batch_id, idx) ON DELETE CASCADE,
    CONSTRAINT ck_overrides_stage_known CHECK (stage IN ('own', 'retrieval', 'full-text'))
);
CREATE INDEX ix_overrides_item ON overrides (batch_id, idx, id);
CREATE UNIQUE INDEX uq_overrides_decision_id ON overrides (batch_id, decision_id) WHERE decision_id IS NOT NULL;

CREATE TABLE remarks (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    removes BOOLEAN DEFAULT false NOT NULL,
    reviewer TEXT NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_remarks PRIMARY KEY (id),
    CONSTRAINT fk_remarks_items FOREIGN KEY(batch_id, idx) REFERENCES item_states (batch_id, idx) ON DELETE CASCADE,
    CONSTRAINT ck_remarks_kind_known CHECK (kind IN ('label', 'note'))
);
CREATE INDEX ix_remarks_item ON remarks (batch_id, idx, id);

CREATE TABLE transcripts (
    batch_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    round INTEGER NOT NULL,
    calls JSON NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_transcripts PRIMARY KEY (batch_id, idx, fence),
    CONSTRAINT fk_transcripts_items FOREIGN KEY(batch_id, idx) REFERENCES item_states (batch_id, idx) ON DELETE CASCADE
);

CREATE TABLE audit_decisions (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    audit_id UUID NOT NULL,
    idx INTEGER NOT NULL,
    include BOOLEAN NOT NULL,
    note TEXT,
    reviewer TEXT NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_audit_decisions PRIMARY KEY (id),
    CONSTRAINT fk_audit_decisions_audit_items FOREIGN KEY(audit_id, idx) REFERENCES audit_items (audit_id, idx) ON DELETE CASCADE
);
CREATE INDEX ix_audit_decisions_item ON audit_decisions (audit_id, idx, id);
