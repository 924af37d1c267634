-- Keys, apart from the log: a dump of the log alone (pg_dump --exclude-schema=mnemolog_keys) shows no text.
CREATE SCHEMA mnemolog_keys;

-- Two kinds, wrapped by the master key: the root of which integrity keys derive, and the key that wraps users' keys.
CREATE TABLE mnemolog_keys.roots (
    key_id     bytea       PRIMARY KEY,
    purpose    text        NOT NULL CHECK (purpose IN ('integrity', 'wrapping')),
    wrapped    bytea       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX roots_one_integrity ON mnemolog_keys.roots (purpose) WHERE purpose = 'integrity';

-- One key a stream, wrapped by a root. It wraps the stream's data keys, and blinds its tags.
CREATE TABLE mnemolog_keys.stream_keys (
    tenant  text  NOT NULL,
    stream  text  NOT NULL,
    -- A writer that knows only roots that a rotation took away is refused, and loses nothing.
    root_id bytea NOT NULL REFERENCES mnemolog_keys.roots,
    wrapped bytea NOT NULL,
    PRIMARY KEY (tenant, stream)
);
CREATE INDEX stream_keys_root ON mnemolog_keys.stream_keys (root_id);

-- One key a scope, such as memory:<id>. A row that is deleted takes the text of its scope with it.
CREATE TABLE mnemolog_keys.data_keys (
    tenant  text  NOT NULL,
    stream  text  NOT NULL,
    scope   text  NOT NULL,
    key_id  bytea NOT NULL,
    wrapped bytea NOT NULL,
    PRIMARY KEY (tenant, stream, scope)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT USAGE ON SCHEMA mnemolog_keys TO mnemolog_engine;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mnemolog_keys TO mnemolog_engine;
    END IF;
END $$;
