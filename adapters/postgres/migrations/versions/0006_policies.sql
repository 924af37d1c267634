-- What a policy version in an event's meta said. A version is a hash of its text, which therefore cannot be changed unseen.
CREATE TABLE mnemolog.policies (
    version    text        PRIMARY KEY,
    policy     text        NOT NULL,
    first_used timestamptz NOT NULL
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT SELECT, INSERT ON mnemolog.policies TO mnemolog_engine;
    END IF;
END $$;
