-- Checkpoints of graphs (B15, ADR 54). Each thread of an agent has a key of its own, and its rows name it: what a key
-- that was destroyed had sealed is read by nobody, and is no hindrance to what comes later. All `data` is sealed.
-- Ciphertext does not shrink, so it is stored as it is.
CREATE TABLE mnemolog.checkpoint_threads (
    tenant     text        NOT NULL,
    stream     text        NOT NULL,
    key_id     bytea       NOT NULL,
    scope      text        NOT NULL,
    agent_id   text        NOT NULL,
    thread_id  text        NOT NULL,
    -- How often something was taken away: a writer that does not know of the last time knows chunks that are gone.
    prunings   bigint      NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, stream, key_id)
);
CREATE INDEX checkpoint_threads_by_name ON mnemolog.checkpoint_threads (tenant, thread_id, agent_id);

CREATE TABLE mnemolog.supervisor_checkpoints (
    tenant        text             NOT NULL,
    stream        text             NOT NULL,
    key_id        bytea            NOT NULL,
    namespace     text COLLATE "C" NOT NULL,
    checkpoint_id text COLLATE "C" NOT NULL,
    parent_id     text,
    run_hash      bytea,
    chunk_ids     bytea[]          NOT NULL,
    data          bytea            NOT NULL,
    created_at    timestamptz      NOT NULL DEFAULT clock_timestamp(),
    updated_at    timestamptz      NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant, stream, key_id, namespace, checkpoint_id)
);
CREATE INDEX supervisor_checkpoints_run ON mnemolog.supervisor_checkpoints (tenant, run_hash) WHERE run_hash IS NOT NULL;

-- Parts of the values of channels, by an HMAC of their content: each is stored once, whichever checkpoints have it.
CREATE TABLE mnemolog.checkpoint_chunks (
    tenant   text  NOT NULL,
    stream   text  NOT NULL,
    key_id   bytea NOT NULL,
    chunk_id bytea NOT NULL,
    data     bytea NOT NULL,
    PRIMARY KEY (tenant, stream, key_id, chunk_id)
);

-- What tasks of a step wrote, which is pending until the next checkpoint.
CREATE TABLE mnemolog.checkpoint_writes (
    tenant        text             NOT NULL,
    stream        text             NOT NULL,
    key_id        bytea            NOT NULL,
    namespace     text COLLATE "C" NOT NULL,
    checkpoint_id text COLLATE "C" NOT NULL,
    task_id       text             NOT NULL,
    idx           integer          NOT NULL,
    data          bytea            NOT NULL,
    PRIMARY KEY (tenant, stream, key_id, namespace, checkpoint_id, task_id, idx)
);

ALTER TABLE mnemolog.supervisor_checkpoints ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE mnemolog.checkpoint_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE mnemolog.checkpoint_writes ALTER COLUMN data SET STORAGE EXTERNAL;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON mnemolog.checkpoint_threads, mnemolog.supervisor_checkpoints,
            mnemolog.checkpoint_chunks, mnemolog.checkpoint_writes TO mnemolog_engine;
    END IF;
END $$;
