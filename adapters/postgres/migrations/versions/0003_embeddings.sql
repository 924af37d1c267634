-- Embeddings by memory, so that an erasure finds each one: a vector can be turned back into words, and a hash of words
-- can be guessed. What was kept by words alone cannot be attributed and is made anew when it is needed.
DROP TABLE mnemolog.embeddings;
CREATE TABLE mnemolog.embeddings (
    tenant       text   NOT NULL,
    user_id      text   NOT NULL,
    memory_id    uuid   NOT NULL,
    model        text   NOT NULL,
    content_hash bytea  NOT NULL,
    embedding    vector NOT NULL,
    PRIMARY KEY (tenant, user_id, memory_id, model, content_hash)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON mnemolog.embeddings TO mnemolog_engine;
    END IF;
END $$;
