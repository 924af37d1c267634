-- How often the jobs of a mind failed in a row for a user (`stream`). With `paused_at` its jobs for that user wait until
-- an operator resumes it. The error quotes nothing that anybody said.
CREATE TABLE mnemolog.mind_failures (
    mind      text        NOT NULL,
    tenant    text        NOT NULL,
    stream    text        NOT NULL,
    failures  integer     NOT NULL,
    failed_at timestamptz NOT NULL,
    paused_at timestamptz,
    error     text        NOT NULL,
    PRIMARY KEY (mind, tenant, stream)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON mnemolog.mind_failures TO mnemolog_engine;
    END IF;
END $$;
