-- Writes to webhooks by their idempotency keys. `data` is sealed: what was asked, and what was answered, which may be a
-- secret. `about` is the user whose change an answer names; `stream` is that of the webhook, '' for all users.
CREATE TABLE mnemolog.webhook_requests (
    tenant     text        NOT NULL,
    stream     text        NOT NULL,
    agent_id   text        NOT NULL,
    key        text        NOT NULL,
    about      text        NOT NULL DEFAULT '',
    data       bytea       NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, stream, agent_id, key)
);
CREATE INDEX webhook_requests_about ON mnemolog.webhook_requests (tenant, about);
CREATE INDEX webhook_requests_made ON mnemolog.webhook_requests (created_at);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON mnemolog.webhook_requests TO mnemolog_engine;
    END IF;
END $$;
