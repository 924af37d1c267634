-- Every query of the models, called by name (adapters/postgres/queries.py).

-- lock_model_budget --
-- One reservation of a tenant at a time, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('mnemolog model budget ' || %(tenant)s, 0));

-- reserve_model_tokens --
-- Nothing when the tenant has fewer tokens left for the day. A limit of 0 is none.
INSERT INTO mnemolog.model_usage (tenant, day, feature, model, reserved_tokens)
SELECT %(tenant)s, %(day)s, %(feature)s, %(model)s, %(tokens)s::bigint
WHERE %(limit)s::bigint = 0 OR %(limit)s::bigint >= %(tokens)s::bigint + (
    SELECT coalesce(sum(input_tokens + output_tokens + reserved_tokens), 0) FROM mnemolog.model_usage
    WHERE (tenant, day) = (%(tenant)s, %(day)s))
ON CONFLICT (tenant, day, feature, model)
DO UPDATE SET reserved_tokens = model_usage.reserved_tokens + excluded.reserved_tokens
RETURNING tenant;

-- settle_model_tokens --
UPDATE mnemolog.model_usage
SET reserved_tokens = greatest(0, reserved_tokens - %(reserved)s), requests = requests + %(requests)s,
    input_tokens = input_tokens + %(input)s, output_tokens = output_tokens + %(output)s
WHERE (tenant, day, feature, model) = (%(tenant)s, %(day)s, %(feature)s, %(model)s);

-- model_usage_of_day --
SELECT feature, model, requests, input_tokens, output_tokens, reserved_tokens FROM mnemolog.model_usage
WHERE (tenant, day) = (%(tenant)s, %(day)s)
ORDER BY feature, model;
