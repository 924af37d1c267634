-- Webhooks (ADR 84). `stream` is whose changes are sent, '' for all users of the tenant. `data` is sealed: the URL, the
-- secret, and on whose behalf. `round` names the next job, so that a webhook has at most one that waits; `job_id` and
-- `fence` are the job that is sending.
CREATE TABLE mnemolog.webhooks (
    tenant        text        NOT NULL,
    stream        text        NOT NULL,
    agent_id      text        NOT NULL,
    webhook_id    uuid        PRIMARY KEY,
    data          bytea       NOT NULL,
    created_at    timestamptz NOT NULL,
    round         bigint      NOT NULL DEFAULT 0,
    job_id        uuid,
    fence         bigint,
    failures      integer     NOT NULL DEFAULT 0,
    failing_since timestamptz,
    retry_at      timestamptz,
    error         text,
    paused_at     timestamptz
);
CREATE INDEX webhooks_of_stream ON mnemolog.webhooks (tenant, stream);

-- How far a webhook has made deliveries of the changes of a stream.
CREATE TABLE mnemolog.webhook_progress (
    tenant     text   NOT NULL,
    stream     text   NOT NULL,
    webhook_id uuid   NOT NULL,
    seq        bigint NOT NULL,
    PRIMARY KEY (webhook_id, stream)
);

-- `data` is the body, sealed: ids and no texts.
CREATE TABLE mnemolog.webhook_deliveries (
    tenant          text        NOT NULL,
    stream          text        NOT NULL,
    webhook_id      uuid        NOT NULL,
    delivery_id     uuid        NOT NULL,
    type            text        NOT NULL,
    seq             bigint      NOT NULL,
    data            bytea       NOT NULL,
    status          text        NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts        integer     NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL,
    next_at         timestamptz NOT NULL,
    finished_at     timestamptz,
    response_status integer,
    error           text,
    PRIMARY KEY (webhook_id, delivery_id)
);
CREATE INDEX webhook_deliveries_due ON mnemolog.webhook_deliveries (webhook_id, next_at, seq) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_listed ON mnemolog.webhook_deliveries (webhook_id, created_at DESC, delivery_id DESC);
CREATE INDEX webhook_deliveries_finished ON mnemolog.webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX webhook_deliveries_of_stream ON mnemolog.webhook_deliveries (tenant, stream);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON mnemolog.webhooks, mnemolog.webhook_progress,
            mnemolog.webhook_deliveries TO mnemolog_engine;
    END IF;
END $$;
