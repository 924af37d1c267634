-- Every query of the jobs, called by name (adapters/postgres/queries.py).

-- enqueue_job --
-- Nothing when its unique key was used before, or when it is to be `alone` and another of its kind is unfinished.
INSERT INTO mnemolog.jobs
    (job_id, kind, tenant, stream, payload, unique_key, mac, enqueued_at, run_at, max_attempts)
SELECT %(job_id)s, %(kind)s, %(tenant)s, %(stream)s, %(payload)s, %(unique_key)s, %(mac)s, %(enqueued_at)s, %(run_at)s,
       %(max_attempts)s
WHERE NOT (%(alone)s AND EXISTS (
    SELECT FROM mnemolog.jobs
    WHERE (kind, tenant, stream) = (%(kind)s, %(tenant)s, %(stream)s) AND status IN ('queued', 'running')))
ON CONFLICT (kind, tenant, stream, unique_key) WHERE unique_key IS NOT NULL DO NOTHING
RETURNING *;

-- find_unique_job --
SELECT * FROM mnemolog.jobs
WHERE (kind, tenant, stream, unique_key) = (%(kind)s, %(tenant)s, %(stream)s, %(unique_key)s);

-- find_unique_jobs --
-- Which of these streams and unique keys have a job, several at once.
SELECT tenant, stream, unique_key FROM mnemolog.jobs
WHERE kind = %(kind)s AND (tenant, stream, unique_key) IN (
    SELECT * FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(keys)s::text[]));

-- find_job --
SELECT * FROM mnemolog.jobs WHERE job_id = %(job_id)s;

-- list_jobs --
SELECT * FROM mnemolog.jobs
WHERE (%(status)s::text IS NULL OR status = %(status)s) AND (%(kind)s::text IS NULL OR kind = %(kind)s)
  AND (%(before_at)s::timestamptz IS NULL OR (enqueued_at, job_id) < (%(before_at)s, %(before_id)s::uuid))
ORDER BY enqueued_at DESC, job_id DESC
LIMIT %(limit)s;

-- jobs_beginning --
SELECT job_id FROM mnemolog.jobs WHERE starts_with(job_id::text, %(prefix)s) ORDER BY job_id LIMIT %(limit)s;

-- count_jobs --
-- By status. A failure of what recurs counts no longer once a later one of its kind succeeded.
SELECT status, count(*) AS count FROM mnemolog.jobs AS job
WHERE NOT (status = 'failed' AND EXISTS (
    SELECT FROM mnemolog.jobs AS later
    WHERE (later.kind, later.tenant, later.stream) = (job.kind, job.tenant, job.stream)
      AND job.stream = '' AND later.status = 'succeeded' AND later.finished_at > job.finished_at))
GROUP BY status;

-- fetch_jobs --
-- Of each kind as many as there are places for, the longest due first. What another worker looks at is skipped, and so
-- are the jobs of a mind that is paused for their stream.
WITH due AS (
    SELECT found.job_id
    FROM unnest(%(kinds)s::text[], %(places)s::int[], %(minds)s::text[]) AS wanted (kind, places, mind)
    CROSS JOIN LATERAL (
        SELECT job.job_id FROM mnemolog.jobs AS job
        WHERE job.kind = wanted.kind AND job.status = 'queued' AND job.run_at <= %(now)s
          AND NOT EXISTS (
              SELECT FROM mnemolog.mind_failures AS paused
              WHERE (paused.mind, paused.tenant, paused.stream) = (wanted.mind, job.tenant, job.stream)
                AND paused.paused_at IS NOT NULL)
        ORDER BY job.run_at, job.job_id
        LIMIT wanted.places
        FOR UPDATE SKIP LOCKED) AS found
)
UPDATE mnemolog.jobs AS job
SET status = 'running', worker = %(worker)s, worker_name = %(worker_name)s, started_at = %(now)s,
    attempts = attempts + 1, fence = fence + 1
FROM due WHERE job.job_id = due.job_id
RETURNING job.*;

-- held_jobs --
-- What a worker holds, as the table has it: a job that is missing was taken from it, or erased.
SELECT job_id, fence, cancel_requested FROM mnemolog.jobs WHERE status = 'running' AND worker = %(worker)s;

-- stalled_jobs --
-- Those whose worker's lease is gone: it was killed, or said nothing for too long.
SELECT * FROM mnemolog.jobs AS job
WHERE status = 'running' AND NOT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 2
      AND classid = hashtext('mnemolog job workers')::bit(32)::bigint::oid
      AND objid::bigint::bit(32)::int = job.worker
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()));

-- join_job_workers --
SELECT pg_try_advisory_lock(hashtext('mnemolog job workers'), %(worker)s) AS joined;

-- save_progress --
UPDATE mnemolog.jobs SET progress = %(progress)s
WHERE job_id = %(job_id)s AND fence = %(fence)s AND status = 'running'
RETURNING job_id;

-- finish_job --
-- With a success of a mind, its failures are no longer in a row.
WITH forgotten AS (
    DELETE FROM mnemolog.mind_failures
    WHERE %(status)s = 'succeeded' AND (mind, tenant, stream) = (%(mind)s, %(tenant)s, %(stream)s))
UPDATE mnemolog.jobs
SET status = %(status)s, finished_at = %(now)s, error = %(error)s, worker = NULL, cancel_requested = false
WHERE job_id = %(job_id)s AND fence = %(fence)s AND status = 'running'
RETURNING job_id;

-- requeue_job --
UPDATE mnemolog.jobs
SET status = 'queued', run_at = %(run_at)s, error = coalesce(%(error)s, error), attempts = attempts - %(uncounted)s,
    worker = NULL
WHERE job_id = %(job_id)s AND fence = %(fence)s AND status = 'running'
RETURNING job_id;

-- set_back --
-- After the clock was set back. What waits for a time by the later clock waits as long as it was to, from now on. And the
-- jobs of periods that are still to come are deleted, whose keys would keep these periods from being enqueued.
WITH waiting AS (
    UPDATE mnemolog.jobs
    SET run_at = %(now)s + (run_at - greatest(enqueued_at, started_at)),
        enqueued_at = least(enqueued_at, %(now)s), started_at = least(started_at, %(now)s)
    WHERE kind = ANY(%(kinds)s) AND status = 'queued' AND greatest(enqueued_at, started_at) > %(later)s
)
DELETE FROM mnemolog.jobs
WHERE kind = ANY(%(kinds)s) AND stream = '' AND starts_with(unique_key, 'period ') AND finished_at IS NOT NULL
  AND enqueued_at > %(later)s;

-- cancel_job --
-- One that waits is cancelled at once; one that runs is told so by its worker.
UPDATE mnemolog.jobs
SET status = CASE status WHEN 'queued' THEN 'cancelled' ELSE status END,
    finished_at = CASE status WHEN 'queued' THEN %(now)s::timestamptz END,
    cancel_requested = status = 'running'
WHERE job_id = %(job_id)s AND status IN ('queued', 'running')
RETURNING *;

-- withdraw_job --
DELETE FROM mnemolog.jobs WHERE job_id = %(job_id)s AND status = 'queued';

-- has_later_job --
SELECT EXISTS (
    SELECT FROM mnemolog.jobs
    WHERE (kind, tenant, stream) = (%(kind)s, %(tenant)s, %(stream)s) AND payload = %(payload)s
        AND status IN ('queued', 'running') AND (enqueued_at, job_id) > (%(enqueued_at)s, %(job_id)s)
) AS found;

-- has_unfinished_job --
SELECT EXISTS (
    SELECT FROM mnemolog.jobs
    WHERE (kind, tenant, stream) = (%(kind)s, %(tenant)s, %(stream)s) AND status IN ('queued', 'running')
) AS found;

-- retry_job --
UPDATE mnemolog.jobs
SET status = 'queued', run_at = %(now)s, attempts = 0, finished_at = NULL, cancel_requested = false
WHERE job_id = %(job_id)s AND status IN ('failed', 'cancelled')
RETURNING *;

-- delete_finished_jobs --
DELETE FROM mnemolog.jobs WHERE finished_at < %(before)s;

-- delete_jobs_of_stream --
WITH forgotten AS (DELETE FROM mnemolog.mind_failures WHERE (tenant, stream) = (%(tenant)s, %(stream)s))
DELETE FROM mnemolog.jobs WHERE (tenant, stream) = (%(tenant)s, %(stream)s);

-- count_mind_failure --
-- One more in a row; with the last of `most` the mind is paused for the stream.
INSERT INTO mnemolog.mind_failures AS known (mind, tenant, stream, failures, failed_at, error)
VALUES (%(mind)s, %(tenant)s, %(stream)s, 1, %(now)s, %(error)s)
ON CONFLICT (mind, tenant, stream) DO UPDATE
SET failures = known.failures + 1, failed_at = excluded.failed_at, error = excluded.error,
    paused_at = CASE WHEN known.failures + 1 >= %(most)s THEN coalesce(known.paused_at, %(now)s) END
RETURNING *;

-- forget_mind_failures --
-- On an operator's word; of all users if no stream is given.
DELETE FROM mnemolog.mind_failures
WHERE mind = %(mind)s AND (%(stream)s::text IS NULL OR (tenant, stream) = (%(tenant)s, %(stream)s))
RETURNING *;

-- list_mind_failures --
SELECT * FROM mnemolog.mind_failures ORDER BY mind, tenant, stream;

-- last_jobs_of_kinds --
-- When a job of each kind last succeeded, and how many wait.
SELECT kind, max(finished_at) FILTER (WHERE status = 'succeeded') AS succeeded_at,
       count(*) FILTER (WHERE status IN ('queued', 'running')) AS waiting
FROM mnemolog.jobs WHERE kind = ANY(%(kinds)s) GROUP BY kind;

-- sum_up_jobs --
-- Of one stream: how far the jobs of the first kind with this payload got, and what those of all kinds have written since
-- a time.
SELECT coalesce(
         max((progress->>'through')::bigint) FILTER (WHERE payload @> %(payload)s AND kind = %(kind)s), 0
       ) AS through,
       coalesce(sum((progress->>'written')::bigint) FILTER (WHERE enqueued_at >= %(since)s), 0)::bigint AS written
FROM mnemolog.jobs
WHERE kind = ANY(%(kinds)s) AND (tenant, stream) = (%(tenant)s, %(stream)s) AND unique_key IS NOT NULL;
