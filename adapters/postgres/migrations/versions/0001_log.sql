-- The log, its heads, tags, receipts and outbox, and the cache of embeddings.
CREATE EXTENSION IF NOT EXISTS vector;

-- English stems without Postgres' stop words: the domain drops its own, and keeps names such as Will.
CREATE TEXT SEARCH DICTIONARY mnemolog.stem (TEMPLATE = snowball, Language = english);
CREATE TEXT SEARCH CONFIGURATION mnemolog.words (COPY = pg_catalog.english);
ALTER TEXT SEARCH CONFIGURATION mnemolog.words ALTER MAPPING REPLACE pg_catalog.english_stem WITH mnemolog.stem;

-- The log. Rows are inserted and never changed: the trigger refuses, whoever asks.
CREATE TABLE mnemolog.events (
    tenant      text        NOT NULL,
    stream      text        NOT NULL,
    seq         bigint      NOT NULL CHECK (seq > 0),
    event_id    uuid        NOT NULL,
    type        text        NOT NULL,
    version     integer     NOT NULL,
    tags        text[]      NOT NULL,
    meta        jsonb       NOT NULL,
    occurred_at timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL,
    data        bytea       NOT NULL,
    link        bytea       NOT NULL,
    PRIMARY KEY (tenant, stream, seq)
);
CREATE UNIQUE INDEX events_event_id ON mnemolog.events (tenant, stream, event_id);

CREATE FUNCTION mnemolog.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'events are immutable: % on % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER events_are_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON mnemolog.events
    FOR EACH STATEMENT EXECUTE FUNCTION mnemolog.refuse_change();

-- One row a stream: its last event. Writers of a stream queue on it; writers of different streams never meet.
CREATE TABLE mnemolog.heads (
    tenant      text        NOT NULL,
    stream      text        NOT NULL,
    seq         bigint      NOT NULL DEFAULT 0,
    link        bytea       NOT NULL DEFAULT '\x0000000000000000000000000000000000000000000000000000000000000000',
    recorded_at timestamptz NOT NULL DEFAULT 'epoch',
    PRIMARY KEY (tenant, stream)
) WITH (fillfactor = 50);

-- Which events of a stream touch what: the index that deciders read and guard by.
CREATE TABLE mnemolog.tags (
    tenant text   NOT NULL,
    stream text   NOT NULL,
    tag    text   NOT NULL,
    seq    bigint NOT NULL,
    PRIMARY KEY (tenant, stream, tag, seq)
);

-- What an idempotency key was used for. The fingerprint is keyed, so that it tells nothing of the request.
CREATE TABLE mnemolog.receipts (
    tenant          text   NOT NULL,
    stream          text   NOT NULL,
    idempotency_key text   NOT NULL,
    fingerprint     bytea  NOT NULL,
    first_seq       bigint NOT NULL,
    last_seq        bigint NOT NULL,
    PRIMARY KEY (tenant, stream, idempotency_key)
);

-- What is appended and not yet on JetStream.
CREATE TABLE mnemolog.outbox (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant    text   NOT NULL,
    stream    text   NOT NULL,
    first_seq bigint NOT NULL,
    last_seq  bigint NOT NULL
);

-- Tells whether the master key is the one that this log was written with, and nothing of the key.
CREATE TABLE mnemolog.master_key (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    mac      bytea   NOT NULL
);

-- Embeddings by model and content, so that a rebuild does not compute them again.
CREATE TABLE mnemolog.embeddings (
    model        text   NOT NULL,
    content_hash bytea  NOT NULL,
    embedding    vector NOT NULL,
    PRIMARY KEY (model, content_hash)
);

-- The engine appends as a role that may not change an event. Where roles cannot be made, the trigger stands alone.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        CREATE ROLE mnemolog_engine NOLOGIN;
    END IF;
    EXECUTE format('GRANT mnemolog_engine TO %I', current_user);
    GRANT USAGE ON SCHEMA mnemolog TO mnemolog_engine;
    GRANT SELECT, INSERT ON mnemolog.events, mnemolog.tags, mnemolog.receipts, mnemolog.master_key TO mnemolog_engine;
    GRANT SELECT, INSERT, UPDATE ON mnemolog.heads TO mnemolog_engine;
    GRANT SELECT, INSERT, DELETE ON mnemolog.outbox TO mnemolog_engine;
    GRANT SELECT, INSERT, UPDATE, DELETE ON mnemolog.embeddings TO mnemolog_engine;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'no right to create the role mnemolog_engine: the trigger alone keeps events immutable';
END $$;
