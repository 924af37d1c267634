-- What read models need beside their own tables, as the migrations of the log make it where both share a database. A
-- migration of the log that changes any of it has one beside it here; a test compares the two.
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TEXT SEARCH DICTIONARY mnemolog.stem (TEMPLATE = snowball, Language = english);
CREATE TEXT SEARCH CONFIGURATION mnemolog.words (COPY = pg_catalog.english);
ALTER TEXT SEARCH CONFIGURATION mnemolog.words ALTER MAPPING REPLACE pg_catalog.english_stem WITH mnemolog.stem;

CREATE TABLE mnemolog.embeddings (
    tenant       text   NOT NULL,
    user_id      text   NOT NULL,
    memory_id    uuid   NOT NULL,
    model        text   NOT NULL,
    content_hash bytea  NOT NULL,
    embedding    vector NOT NULL,
    seq          bigint NOT NULL DEFAULT 0,
    stream_kind  text   NOT NULL,
    PRIMARY KEY (tenant, stream_kind, user_id, memory_id, model, content_hash)
);

CREATE FUNCTION mnemolog.confine(place regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    space text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = place);
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_reader') THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', place);
        EXECUTE format('CREATE POLICY one_tenant ON %s FOR SELECT TO mnemolog_reader '
                       'USING (tenant = (SELECT current_setting(''mnemolog.tenant'', true)))', place);
        EXECUTE format('GRANT USAGE ON SCHEMA %s TO mnemolog_reader', space);
        EXECUTE format('GRANT SELECT ON %s TO mnemolog_reader', place);
    END IF;
END $$;

-- The log that the rows follow from: under another one's keys they would all look forged.
CREATE TABLE mnemolog.log_of_projections (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    log_id   text    NOT NULL
);

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_reader') THEN
        CREATE ROLE mnemolog_reader NOLOGIN;
    END IF;
    IF NOT pg_has_role(current_user, 'mnemolog_reader', 'member') THEN
        EXECUTE format('GRANT mnemolog_reader TO %I', current_user);
    END IF;
    PERFORM mnemolog.confine('mnemolog.embeddings');
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'no right to create the role mnemolog_reader: the conditions of each query alone keep tenants apart';
END $$;
