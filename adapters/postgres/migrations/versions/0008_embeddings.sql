-- The event that told the text: a rebuild that comes by the erasure of a user keeps what was told after it. Of what was
-- kept before, nobody knows; a rebuild that comes by an erasure has it made once more.
ALTER TABLE mnemolog.embeddings ADD COLUMN seq bigint NOT NULL DEFAULT 0;
