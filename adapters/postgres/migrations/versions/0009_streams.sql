-- Whose an embedding is, by the whole stream: a user and an agent may have one name. What is there is all of users.
ALTER TABLE mnemolog.embeddings ADD COLUMN stream_kind text NOT NULL DEFAULT 'user';
ALTER TABLE mnemolog.embeddings ALTER COLUMN stream_kind DROP DEFAULT;
ALTER TABLE mnemolog.embeddings DROP CONSTRAINT embeddings_pkey;
ALTER TABLE mnemolog.embeddings
    ADD PRIMARY KEY (tenant, stream_kind, user_id, memory_id, model, content_hash);
