-- What an API key may reach and do. The row is sealed, and so is its secret: both under a key that is not in here.
CREATE TABLE mnemolog.api_keys (
    key_id     text        PRIMARY KEY,
    name       text        NOT NULL,
    tenant     text        NOT NULL,
    agents     text[]      NOT NULL,
    users      text[]      NOT NULL,
    roles      text[]      NOT NULL,
    secret_mac bytea       NOT NULL,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz,
    mac        bytea       NOT NULL
);

-- Lets readers see one tenant of a table at a time, whatever they ask for: that of the setting mnemolog.tenant. The
-- subquery is evaluated once a statement; without a setting there is no tenant, and no row.
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

-- Readers go through this role; the engine's own sees all tenants, of the log and of nothing else.
DO $$
DECLARE
    name text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_reader') THEN
        CREATE ROLE mnemolog_reader NOLOGIN;
    END IF;
    EXECUTE format('GRANT mnemolog_reader TO %I', current_user);
    FOREACH name IN ARRAY ARRAY['events', 'tags', 'receipts', 'heads', 'embeddings'] LOOP
        PERFORM mnemolog.confine(format('mnemolog.%I', name)::regclass);
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
            EXECUTE format('CREATE POLICY all_tenants ON mnemolog.%I TO mnemolog_engine '
                           'USING (true) WITH CHECK (true)', name);
        END IF;
    END LOOP;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'no right to create the role mnemolog_reader: the conditions of each query alone keep tenants apart';
END $$;
