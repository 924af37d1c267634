-- Projections that an operator paused. It is kept here and not with their rows, which a rebuild replaces.
CREATE TABLE mnemolog.paused_projections (
    name text        PRIMARY KEY,
    at   timestamptz NOT NULL,
    by   text        NOT NULL
);
