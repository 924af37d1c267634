-- Every query of the webhooks, called by name (adapters/postgres/queries.py).

-- insert_webhook --
-- With the heads as its progress: it is sent what comes from now on. Nothing if its owner has `most` already.
WITH made AS (
    INSERT INTO mnemolog.webhooks (tenant, stream, agent_id, webhook_id, data, created_at)
    SELECT %(tenant)s, %(stream)s, %(agent_id)s, %(webhook_id)s, %(data)s, %(created_at)s
    WHERE (SELECT count(*) FROM mnemolog.webhooks
           WHERE (tenant, stream, agent_id) = (%(tenant)s, %(stream)s, %(agent_id)s)) < %(most)s
    RETURNING webhook_id
), begun AS (
    INSERT INTO mnemolog.webhook_progress (tenant, stream, webhook_id, seq)
    SELECT head.tenant, head.stream, made.webhook_id, head.seq FROM made, mnemolog.heads AS head
    WHERE head.tenant = %(tenant)s
      AND (head.stream = %(stream)s OR (%(stream)s = '' AND starts_with(head.stream, 'user:')))
)
SELECT webhook_id FROM made;

-- hold_webhook --
SELECT * FROM mnemolog.webhooks WHERE webhook_id = %(webhook_id)s FOR UPDATE;

-- seal_webhook --
UPDATE mnemolog.webhooks SET data = %(data)s WHERE webhook_id = %(webhook_id)s;

-- claim_request --
-- Waits for another that makes the same request; nothing if that was made.
INSERT INTO mnemolog.webhook_requests (tenant, stream, agent_id, key, created_at)
VALUES (%(tenant)s, %(stream)s, %(agent_id)s, %(key)s, %(now)s)
ON CONFLICT DO NOTHING
RETURNING key;

-- answer_request --
UPDATE mnemolog.webhook_requests SET data = %(data)s, about = %(about)s
WHERE (tenant, stream, agent_id, key) = (%(tenant)s, %(stream)s, %(agent_id)s, %(key)s);

-- find_request --
SELECT data FROM mnemolog.webhook_requests
WHERE (tenant, stream, agent_id, key) = (%(tenant)s, %(stream)s, %(agent_id)s, %(key)s);

-- list_webhooks --
SELECT hook.*, (SELECT count(*) FROM mnemolog.webhook_deliveries AS due
                WHERE due.webhook_id = hook.webhook_id AND due.status = 'pending') AS pending
FROM mnemolog.webhooks AS hook
WHERE (%(tenant)s::text IS NULL OR (tenant, stream, agent_id) = (%(tenant)s, %(stream)s, %(agent_id)s))
  AND (%(webhook_id)s::uuid IS NULL OR webhook_id = %(webhook_id)s)
ORDER BY created_at, webhook_id;

-- any_webhook --
SELECT webhook_id FROM mnemolog.webhooks WHERE paused_at IS NULL LIMIT 1;

-- webhooks_of_streams --
-- Those that are sent the changes of a stream, for each of several.
SELECT wanted.stream AS of_stream, hook.*,
       CASE WHEN hook.failures > 0 THEN (
           SELECT count(*) FROM mnemolog.webhook_deliveries AS due
           WHERE due.webhook_id = hook.webhook_id AND due.status = 'pending') ELSE 0 END AS pending
FROM unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream)
JOIN mnemolog.webhooks AS hook ON hook.tenant = wanted.tenant AND hook.stream IN (wanted.stream, '')
WHERE hook.paused_at IS NULL;

-- behind_webhooks --
-- The streams that have more than their webhooks have seen.
SELECT head.stream AS of_stream, hook.*,
       CASE WHEN hook.failures > 0 THEN (
           SELECT count(*) FROM mnemolog.webhook_deliveries AS due
           WHERE due.webhook_id = hook.webhook_id AND due.status = 'pending') ELSE 0 END AS pending
FROM mnemolog.webhooks AS hook
JOIN mnemolog.heads AS head ON head.tenant = hook.tenant
    AND (head.stream = hook.stream OR (hook.stream = '' AND starts_with(head.stream, 'user:')))
LEFT JOIN mnemolog.webhook_progress AS seen ON (seen.webhook_id, seen.stream) = (hook.webhook_id, head.stream)
WHERE hook.paused_at IS NULL AND head.seq > coalesce(seen.seq, 0)
LIMIT %(most)s;

-- find_progress --
SELECT seq FROM mnemolog.webhook_progress WHERE (webhook_id, stream) = (%(webhook_id)s, %(stream)s);

-- advance --
-- Deliveries, and the progress that they make, together; nothing if another process was faster, or the webhook is gone.
WITH hook AS (
    SELECT webhook_id FROM mnemolog.webhooks WHERE webhook_id = %(webhook_id)s FOR KEY SHARE
), moved AS (
    INSERT INTO mnemolog.webhook_progress AS seen (tenant, stream, webhook_id, seq)
    SELECT %(tenant)s, %(stream)s, webhook_id, %(seq)s FROM hook
    ON CONFLICT (webhook_id, stream) DO UPDATE SET seq = excluded.seq WHERE seen.seq = %(since)s
    RETURNING webhook_id
), made AS (
    INSERT INTO mnemolog.webhook_deliveries
        (tenant, stream, webhook_id, delivery_id, type, seq, data, created_at, next_at)
    SELECT %(tenant)s, %(stream)s, moved.webhook_id, new.delivery_id, new.type, new.seq, new.data, %(now)s, %(now)s
    FROM moved, unnest(%(ids)s::uuid[], %(types)s::text[], %(seqs)s::bigint[], %(data)s::bytea[])
        AS new (delivery_id, type, seq, data)
    ON CONFLICT (webhook_id, delivery_id) DO NOTHING
)
SELECT webhook_id FROM moved;

-- insert_delivery --
-- Before all others.
INSERT INTO mnemolog.webhook_deliveries
    (tenant, stream, webhook_id, delivery_id, type, seq, data, created_at, next_at)
SELECT tenant, stream, webhook_id, %(delivery_id)s, %(type)s, 0, %(data)s, %(now)s, created_at
FROM mnemolog.webhooks WHERE webhook_id = %(webhook_id)s
RETURNING *;

-- begin_sending --
-- The webhook, held by this job; with `busy` if another job that still runs holds it.
UPDATE mnemolog.webhooks AS hook
SET job_id = CASE WHEN found.busy THEN hook.job_id ELSE %(job_id)s END,
    fence = CASE WHEN found.busy THEN hook.fence ELSE %(fence)s END,
    round = hook.round + CASE WHEN found.busy THEN 0 ELSE 1 END
FROM (
    SELECT webhook_id, EXISTS (
        SELECT FROM mnemolog.jobs AS job
        WHERE (job.job_id, job.fence) = (held.job_id, held.fence) AND job.status = 'running'
          AND job.job_id <> %(job_id)s) AS busy
    FROM mnemolog.webhooks AS held WHERE webhook_id = %(webhook_id)s FOR UPDATE) AS found
WHERE hook.webhook_id = found.webhook_id AND hook.paused_at IS NULL
RETURNING hook.*, found.busy;

-- next_delivery --
-- The longest due, of a webhook that is neither deleted nor paused.
SELECT due.* FROM mnemolog.webhook_deliveries AS due
JOIN mnemolog.webhooks AS hook USING (webhook_id)
WHERE due.webhook_id = %(webhook_id)s AND due.status = 'pending' AND due.next_at <= %(now)s AND hook.paused_at IS NULL
ORDER BY due.next_at, due.seq, due.delivery_id
LIMIT 1;

-- next_due --
SELECT greatest(min(due.next_at), hook.retry_at) AS at, hook.round
FROM mnemolog.webhooks AS hook JOIN mnemolog.webhook_deliveries AS due USING (webhook_id)
WHERE hook.webhook_id = %(webhook_id)s AND hook.paused_at IS NULL AND due.status = 'pending'
GROUP BY hook.webhook_id;

-- delivered --
WITH done AS (
    UPDATE mnemolog.webhook_deliveries
    SET status = 'delivered', attempts = attempts + 1, finished_at = %(now)s, response_status = %(response_status)s,
        error = NULL
    WHERE (webhook_id, delivery_id) = (%(webhook_id)s, %(delivery_id)s)
)
UPDATE mnemolog.webhooks SET failures = 0, failing_since = NULL, retry_at = NULL, error = NULL
WHERE webhook_id = %(webhook_id)s AND failures > 0;

-- not_delivered --
WITH failed AS (
    UPDATE mnemolog.webhook_deliveries
    SET status = CASE WHEN attempts + 1 < %(max_attempts)s THEN 'pending' ELSE 'failed' END, attempts = attempts + 1,
        finished_at = CASE WHEN attempts + 1 < %(max_attempts)s THEN NULL ELSE %(now)s END,
        next_at = %(next_at)s, response_status = %(response_status)s, error = %(error)s
    WHERE (webhook_id, delivery_id) = (%(webhook_id)s, %(delivery_id)s)
)
UPDATE mnemolog.webhooks
SET failures = failures + 1, failing_since = coalesce(failing_since, %(now)s), retry_at = %(retry_at)s,
    error = %(error)s,
    paused_at = CASE WHEN %(gone)s OR coalesce(failing_since, %(now)s) <= %(pause_since)s THEN %(now)s END
WHERE webhook_id = %(webhook_id)s
RETURNING paused_at;

-- pause_webhook --
UPDATE mnemolog.webhooks SET paused_at = coalesce(paused_at, %(now)s), error = %(error)s
WHERE webhook_id = %(webhook_id)s;

-- resume_webhook --
UPDATE mnemolog.webhooks
SET paused_at = NULL, failures = 0, failing_since = NULL, retry_at = NULL, error = NULL, round = round + 1
WHERE webhook_id = %(webhook_id)s;

-- hurry --
-- Send at once, whatever was put off.
UPDATE mnemolog.webhooks SET retry_at = NULL, round = round + 1 WHERE webhook_id = %(webhook_id)s;

-- bring_forward --
-- What is due later than anything can be, as after the clock was set back, is due now; the webhooks that this is about.
WITH moved AS (
    UPDATE mnemolog.webhook_deliveries SET next_at = %(now)s WHERE status = 'pending' AND next_at > %(latest)s
    RETURNING webhook_id
)
SELECT hook.* FROM mnemolog.webhooks AS hook
WHERE hook.paused_at IS NULL AND (hook.retry_at > %(latest)s OR hook.webhook_id IN (SELECT webhook_id FROM moved));

-- send_again --
-- Before all others.
UPDATE mnemolog.webhook_deliveries SET status = 'pending', attempts = 0, next_at = created_at, finished_at = NULL
WHERE (webhook_id, delivery_id) = (%(webhook_id)s, %(delivery_id)s)
RETURNING *;

-- list_deliveries --
SELECT * FROM mnemolog.webhook_deliveries
WHERE webhook_id = %(webhook_id)s AND (%(status)s::text IS NULL OR status = %(status)s)
  AND (%(before_at)s::timestamptz IS NULL OR (created_at, delivery_id) < (%(before_at)s, %(before_id)s))
ORDER BY created_at DESC, delivery_id DESC
LIMIT %(limit)s;

-- deliveries_beginning --
SELECT delivery_id FROM mnemolog.webhook_deliveries
WHERE webhook_id = %(webhook_id)s AND starts_with(delivery_id::text, %(prefix)s)
ORDER BY delivery_id
LIMIT %(limit)s;

-- delete_webhook --
WITH deliveries AS (DELETE FROM mnemolog.webhook_deliveries WHERE webhook_id = %(webhook_id)s),
     progress AS (DELETE FROM mnemolog.webhook_progress WHERE webhook_id = %(webhook_id)s)
DELETE FROM mnemolog.webhooks WHERE webhook_id = %(webhook_id)s;

-- forget_stream --
-- The webhooks of a user, and what others would be sent about him.
WITH hooks AS (
    DELETE FROM mnemolog.webhooks WHERE (tenant, stream) = (%(tenant)s, %(stream)s) RETURNING webhook_id
), deliveries AS (
    DELETE FROM mnemolog.webhook_deliveries
    WHERE (tenant, stream) = (%(tenant)s, %(stream)s) OR webhook_id IN (SELECT webhook_id FROM hooks)
), requests AS (
    DELETE FROM mnemolog.webhook_requests WHERE tenant = %(tenant)s AND %(stream)s IN (stream, about)
)
DELETE FROM mnemolog.webhook_progress WHERE webhook_id IN (SELECT webhook_id FROM hooks);

-- unsent_webhooks --
-- Those with deliveries that are due, and no job that would send them.
SELECT hook.* FROM mnemolog.webhooks AS hook
WHERE hook.paused_at IS NULL
  AND EXISTS (SELECT FROM mnemolog.webhook_deliveries AS due
              WHERE due.webhook_id = hook.webhook_id AND due.status = 'pending'
                AND greatest(due.next_at, hook.retry_at) <= %(now)s)
  AND NOT EXISTS (SELECT FROM mnemolog.jobs AS job
                  WHERE (job.kind, job.tenant, job.stream) = (%(kind)s, hook.tenant, hook.stream)
                    AND job.status IN ('queued', 'running')
                    AND job.payload ->> 'webhook_id' = hook.webhook_id::text);

-- delete_finished --
WITH requests AS (DELETE FROM mnemolog.webhook_requests WHERE created_at < %(before)s)
DELETE FROM mnemolog.webhook_deliveries WHERE finished_at < %(before)s;
