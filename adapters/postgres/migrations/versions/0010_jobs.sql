-- Work that is to be done at least once, whichever worker dies in the middle. The payload holds ids, never a text.
-- `stream` is whose work it is, and the job goes with that user's erasure; '' for work over all users. `worker` is the
-- lease that a running job is held under, and `fence` counts how often it was fetched: an earlier holder has an earlier
-- one, and changes nothing any more.
CREATE TABLE mnemolog.jobs (
    job_id           uuid        PRIMARY KEY,
    kind             text        NOT NULL,
    tenant           text        NOT NULL,
    stream           text        NOT NULL,
    payload          jsonb       NOT NULL,
    unique_key       text,
    mac              bytea       NOT NULL,
    status           text        NOT NULL DEFAULT 'queued'
                     CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    enqueued_at      timestamptz NOT NULL,
    run_at           timestamptz NOT NULL,
    started_at       timestamptz,
    finished_at      timestamptz,
    attempts         integer     NOT NULL DEFAULT 0,
    max_attempts     integer     NOT NULL CHECK (max_attempts > 0),
    worker           integer,
    worker_name      text,
    fence            bigint      NOT NULL DEFAULT 0,
    cancel_requested boolean     NOT NULL DEFAULT false,
    progress         jsonb       NOT NULL DEFAULT '{}',
    error            text
);
CREATE UNIQUE INDEX jobs_unique_key ON mnemolog.jobs (kind, tenant, stream, unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX jobs_queued ON mnemolog.jobs (kind, run_at, job_id) WHERE status = 'queued';
CREATE INDEX jobs_running ON mnemolog.jobs (worker) WHERE status = 'running';
CREATE INDEX jobs_finished ON mnemolog.jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_of_stream ON mnemolog.jobs (tenant, stream);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON mnemolog.jobs TO mnemolog_engine;
    END IF;
END $$;
