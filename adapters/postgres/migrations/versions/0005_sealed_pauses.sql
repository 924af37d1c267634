-- A pause counts only under a MAC. One from before has none, and is to be said again.
DELETE FROM mnemolog.paused_projections;
ALTER TABLE mnemolog.paused_projections ADD COLUMN mac bytea NOT NULL;
