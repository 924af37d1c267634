-- What models were asked for, by tenant, day (UTC), feature and model: the budget of a day is held against the sum.
-- `reserved_tokens` is what calls that run now may use at most; one whose process died keeps its share until the day
-- is over.
CREATE TABLE mnemolog.model_usage (
    tenant          text   NOT NULL,
    day             date   NOT NULL,
    feature         text   NOT NULL,
    model           text   NOT NULL,
    requests        bigint NOT NULL DEFAULT 0,
    input_tokens    bigint NOT NULL DEFAULT 0,
    output_tokens   bigint NOT NULL DEFAULT 0,
    reserved_tokens bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, day, feature, model)
);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemolog_engine') THEN
        GRANT SELECT, INSERT, UPDATE ON mnemolog.model_usage TO mnemolog_engine;
    END IF;
END $$;
