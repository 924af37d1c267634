-- The index has the embeddings of present texts; here stay those of replaced ones. Until the vectors are built anew both
-- are here, and the index is filled from them. Halves differ from singles by less than a thousandth of a similarity.
ALTER TABLE mnemolog.embeddings RENAME COLUMN memory_id TO subject_id;
ALTER TABLE mnemolog.embeddings
    ALTER COLUMN content_hash TYPE bytea USING substring(content_hash FOR 16),
    ALTER COLUMN embedding TYPE halfvec USING embedding::halfvec,
    ADD COLUMN embedding_mac bytea NOT NULL DEFAULT '';
ALTER TABLE mnemolog.embeddings ALTER COLUMN embedding_mac DROP DEFAULT;
