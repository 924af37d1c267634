-- Every query of the log, called by name (adapters/postgres/queries.py).

-- begin_streams --
-- A stream gets its head when it is first written to; sorted, so that two writers cannot deadlock.
INSERT INTO mnemolog.heads (tenant, stream)
SELECT tenant, stream FROM unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream)
ORDER BY tenant, stream
ON CONFLICT DO NOTHING;

-- lock_timeout --
SELECT set_config('lock_timeout', %(patience)s, true);

-- lock_heads --
-- Whoever holds the head of a stream is its only writer until the commit.
SELECT tenant, stream, seq, link, recorded_at
FROM mnemolog.heads
WHERE (tenant, stream) IN (SELECT * FROM unnest(%(tenants)s::text[], %(streams)s::text[]))
ORDER BY tenant, stream
FOR UPDATE;

-- unfit_heads --
-- Whether each head, as it is locked now, is what the last event says: what is chained to another fits nothing.
SELECT head.tenant, head.stream,
       (SELECT (last.link, last.recorded_at) = (head.link, head.recorded_at) FROM mnemolog.events AS last
        WHERE (last.tenant, last.stream, last.seq) = (head.tenant, head.stream, head.seq)) AS fits
FROM mnemolog.heads AS head
WHERE (tenant, stream) IN (SELECT * FROM unnest(%(tenants)s::text[], %(streams)s::text[])) AND seq > 0;

-- find_receipts --
SELECT r.tenant, r.stream, r.idempotency_key, r.fingerprint, r.first_seq, r.last_seq,
       ARRAY(SELECT e.event_id FROM mnemolog.events AS e
             WHERE (e.tenant, e.stream) = (r.tenant, r.stream) AND e.seq BETWEEN r.first_seq AND r.last_seq
             ORDER BY e.seq) AS event_ids
FROM mnemolog.receipts AS r
WHERE (r.tenant, r.stream, r.idempotency_key) IN
      (SELECT * FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(keys)s::text[]));

-- find_conflicts --
-- For each guard the last seq after it that carries one of its tags.
SELECT guard.position, max(found.seq) AS seq
FROM unnest(%(positions)s::int[], %(tenants)s::text[], %(streams)s::text[], %(tags)s::text[], %(afters)s::bigint[])
         AS guard (position, tenant, stream, tag, after)
JOIN mnemolog.tags AS found USING (tenant, stream, tag)
WHERE found.seq > guard.after
GROUP BY guard.position;

-- find_written --
SELECT event.event_id, event.seq
FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(event_ids)s::uuid[]) AS wanted (tenant, stream, event_id)
CROSS JOIN LATERAL (SELECT * FROM mnemolog.events AS one WHERE one.event_id = wanted.event_id OFFSET 0) AS event
WHERE (event.tenant, event.stream) = (wanted.tenant, wanted.stream);

-- last_erasures --
-- Of each stream the last event of a type, with the link of the one before it.
SELECT event.tenant, event.stream, event.seq, event.event_id, event.type, event.version, event.tags, event.meta,
       event.occurred_at, event.recorded_at, event.data, event.link,
       (SELECT link FROM mnemolog.events AS before
        WHERE (before.tenant, before.stream, before.seq) = (event.tenant, event.stream, event.seq - 1)) AS previous
FROM unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream)
CROSS JOIN LATERAL (
    SELECT * FROM mnemolog.events AS erasure
    WHERE (erasure.tenant, erasure.stream) = (wanted.tenant, wanted.stream) AND erasure.type = %(type)s
    ORDER BY erasure.seq DESC
    LIMIT 1) AS event;

-- first_sealed --
-- Of each stream the first event after a place whose data holds `sealed`.
SELECT wanted.tenant, wanted.stream, first.seq, first.event_id
FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(afters)s::bigint[]) AS wanted (tenant, stream, after)
CROSS JOIN LATERAL (
    SELECT event.seq, event.event_id FROM mnemolog.events AS event
    WHERE (event.tenant, event.stream) = (wanted.tenant, wanted.stream) AND event.seq > wanted.after
      AND position(%(sealed)s::bytea IN event.data) > 0
    ORDER BY event.seq
    LIMIT 1) AS first;

-- last_sealed --
-- Of each scope that has no key the last event whose data holds `sealed`, that is what was sealed under such a key.
SELECT wanted.tenant, wanted.stream, wanted.scope, last.seq, last.event_id
FROM json_to_recordset(%(wanted)s::json) AS wanted (tenant text, stream text, scope text, tag text, sealed text)
CROSS JOIN LATERAL (
    SELECT event.seq, event.event_id
    FROM mnemolog.tags AS tagged JOIN mnemolog.events AS event USING (tenant, stream, seq)
    WHERE (tagged.tenant, tagged.stream, tagged.tag) = (wanted.tenant, wanted.stream, wanted.tag)
      AND position(convert_to(wanted.sealed, 'UTF8') IN event.data) > 0
    ORDER BY event.seq DESC
    LIMIT 1) AS last
WHERE NOT EXISTS (SELECT FROM mnemolog_keys.data_keys AS key
                  WHERE (key.tenant, key.stream, key.scope) = (wanted.tenant, wanted.stream, wanted.scope));

-- events_of_types --
-- The events of some types after a place in each stream, each with the link of the one before it.
SELECT event.tenant, event.stream, event.seq, event.event_id, event.type, event.version, event.tags, event.meta,
       event.occurred_at, event.recorded_at, event.data, event.link,
       (SELECT link FROM mnemolog.events AS before
        WHERE (before.tenant, before.stream, before.seq) = (event.tenant, event.stream, event.seq - 1)) AS previous
FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(afters)s::bigint[]) AS wanted (tenant, stream, after)
JOIN mnemolog.events AS event USING (tenant, stream)
WHERE event.seq > wanted.after AND event.type = ANY(%(types)s::text[]);

-- write --
-- A whole group at once: events, their tags, the outbox, the heads, new keys and receipts. A stream is written only if
-- its head stands where the group was chained to, its key is still there, and nobody else holds it; nothing at all if a
-- guard, a key or a receipt is in the way, a key that was used is gone, or there are events of the `tag` of a new one. What the statement sees of such a stream is then whole: whoever adds to it
-- moves its head. Returns what was written.
WITH event AS (
    SELECT * FROM json_to_recordset(%(events)s::json) AS event (
        tenant text, stream text, seq bigint, event_id uuid, type text, version integer, tags text[], meta jsonb,
        occurred_at timestamptz, recorded_at timestamptz, data text, link text)
), wanted AS (
    SELECT * FROM json_to_recordset(%(heads)s::json) AS head (
        tenant text, stream text, seq bigint, link text, new_seq bigint, new_link text, recorded_at timestamptz,
        keyed boolean)
), data_key AS (
    SELECT * FROM json_to_recordset(%(data_keys)s::json)
                      AS key (tenant text, stream text, scope text, key_id text, wrapped text, tag text)
), receipt AS (
    SELECT * FROM json_to_recordset(%(receipts)s::json) AS receipt (
        tenant text, stream text, key text, fingerprint text, first_seq bigint, last_seq bigint)
), in_the_way AS (
    SELECT FROM json_to_recordset(%(guards)s::json) AS guard (tenant text, stream text, tag text, after bigint)
    JOIN mnemolog.tags AS found USING (tenant, stream, tag) WHERE found.seq > guard.after
    UNION ALL
    SELECT FROM data_key JOIN mnemolog_keys.data_keys USING (tenant, stream, scope)
    UNION ALL
    SELECT FROM data_key JOIN mnemolog.tags USING (tenant, stream, tag)
    UNION ALL
    SELECT FROM json_to_recordset(%(used_keys)s::json) AS used (tenant text, stream text, scope text, key_id text)
    WHERE NOT EXISTS (SELECT FROM mnemolog_keys.data_keys AS key
                      WHERE (key.tenant, key.stream, key.scope) = (used.tenant, used.stream, used.scope)
                        AND key.key_id = decode(used.key_id, 'hex'))
    UNION ALL
    SELECT FROM receipt JOIN mnemolog.receipts AS known USING (tenant, stream)
    WHERE known.idempotency_key = receipt.key
), locked AS MATERIALIZED (
    SELECT head.tenant, head.stream FROM mnemolog.heads AS head JOIN wanted USING (tenant, stream)
    ORDER BY head.tenant, head.stream FOR UPDATE OF head SKIP LOCKED
), head AS (
    UPDATE mnemolog.heads AS head
    SET seq = wanted.new_seq, link = decode(wanted.new_link, 'hex'), recorded_at = wanted.recorded_at
    FROM wanted JOIN locked USING (tenant, stream)
    WHERE (head.tenant, head.stream, head.seq) = (wanted.tenant, wanted.stream, wanted.seq)
      AND head.link = decode(wanted.link, 'hex') AND NOT EXISTS (SELECT FROM in_the_way)
      AND (NOT wanted.keyed OR EXISTS (SELECT FROM mnemolog_keys.stream_keys AS key
                                       WHERE (key.tenant, key.stream) = (wanted.tenant, wanted.stream)))
    RETURNING head.tenant, head.stream
), events AS (
    INSERT INTO mnemolog.events
        (tenant, stream, seq, event_id, type, version, tags, meta, occurred_at, recorded_at, data, link)
    SELECT tenant, stream, seq, event_id, type, version, tags, meta, occurred_at, recorded_at,
           convert_to(data, 'UTF8'), decode(link, 'hex')
    FROM event JOIN head USING (tenant, stream)
), tags AS (
    INSERT INTO mnemolog.tags (tenant, stream, tag, seq)
    SELECT tenant, stream, tag, seq FROM event JOIN head USING (tenant, stream), unnest(tags) AS tag
), outbox AS (
    INSERT INTO mnemolog.outbox (tenant, stream, first_seq, last_seq)
    SELECT tenant, stream, seq + 1, new_seq FROM wanted JOIN head USING (tenant, stream) WHERE new_seq > seq
), stream_keys AS (
    INSERT INTO mnemolog_keys.stream_keys (tenant, stream, root_id, wrapped)
    SELECT tenant, stream, decode(root_id, 'hex'), decode(wrapped, 'hex')
    FROM json_to_recordset(%(stream_keys)s::json) AS key (tenant text, stream text, root_id text, wrapped text)
    JOIN head USING (tenant, stream)
), data_keys AS (
    INSERT INTO mnemolog_keys.data_keys (tenant, stream, scope, key_id, wrapped)
    SELECT tenant, stream, scope, decode(key_id, 'hex'), decode(wrapped, 'hex')
    FROM data_key JOIN head USING (tenant, stream)
), receipts AS (
    INSERT INTO mnemolog.receipts (tenant, stream, idempotency_key, fingerprint, first_seq, last_seq)
    SELECT tenant, stream, key, decode(fingerprint, 'hex'), first_seq, last_seq
    FROM receipt JOIN head USING (tenant, stream)
)
SELECT tenant, stream FROM head;

-- shred --
-- Before the group is written: what it seals later under the same scopes gets new keys.
DELETE FROM mnemolog_keys.data_keys AS key
USING unnest(%(tenants)s::text[], %(streams)s::text[], %(scopes)s::text[]) AS gone (tenant, stream, scope)
WHERE (key.tenant, key.stream) = (gone.tenant, gone.stream)
  AND (gone.scope = '' OR key.scope = gone.scope OR starts_with(key.scope, gone.scope || '/'));

-- shred_streams --
DELETE FROM mnemolog_keys.stream_keys AS key
USING unnest(%(tenants)s::text[], %(streams)s::text[], %(scopes)s::text[]) AS gone (tenant, stream, scope)
WHERE (key.tenant, key.stream) = (gone.tenant, gone.stream) AND gone.scope = '';

-- find_keys --
SELECT key.tenant, key.stream, key.root_id, key.wrapped AS stream_key, one.scope, data.key_id,
       data.wrapped AS data_key
FROM json_to_recordset(%(wanted)s::json) AS wanted (tenant text, stream text, scopes text[])
JOIN mnemolog_keys.stream_keys AS key USING (tenant, stream)
CROSS JOIN unnest(wanted.scopes) AS one (scope)
LEFT JOIN mnemolog_keys.data_keys AS data
ON (data.tenant, data.stream, data.scope) = (key.tenant, key.stream, one.scope);

-- read_roots --
SELECT key_id, purpose, wrapped FROM mnemolog_keys.roots ORDER BY created_at;

-- lock_roots --
LOCK TABLE mnemolog_keys.roots IN EXCLUSIVE MODE;

-- insert_root --
INSERT INTO mnemolog_keys.roots (key_id, purpose, wrapped) VALUES (%(key_id)s, %(purpose)s, %(wrapped)s);

-- rewrap_root --
UPDATE mnemolog_keys.roots SET wrapped = %(wrapped)s WHERE key_id = %(key_id)s;

-- stale_stream_keys --
SELECT tenant, stream, root_id, wrapped,
       (SELECT count(*) FROM mnemolog_keys.stream_keys WHERE root_id <> %(root_id)s) AS left_over
FROM mnemolog_keys.stream_keys WHERE root_id <> %(root_id)s
ORDER BY tenant, stream
LIMIT %(batch)s
FOR UPDATE;

-- rewrap_stream_key --
UPDATE mnemolog_keys.stream_keys SET root_id = %(root_id)s, wrapped = %(wrapped)s
WHERE (tenant, stream) = (%(tenant)s, %(stream)s);

-- forget_stale_roots --
DELETE FROM mnemolog_keys.roots WHERE purpose = 'wrapping' AND key_id <> %(root_id)s;

-- read_stream --
SELECT tenant, stream, seq, event_id, type, version, tags, meta, occurred_at, recorded_at, data, link
FROM mnemolog.events
WHERE tenant = %(tenant)s AND stream = %(stream)s AND seq > %(after)s AND seq <= %(until)s
ORDER BY seq
LIMIT %(batch)s;

-- read_tagged --
-- Event by event, whatever the estimates: those of a young log are of no use. The last event whatever its type, so that
-- its seq is known.
WITH tagged AS MATERIALIZED (
    SELECT seq, count(*) > 1 AS several FROM mnemolog.tags
    WHERE tenant = %(tenant)s AND stream = %(stream)s AND tag = ANY(%(tags)s::text[])
      AND seq > %(after)s AND seq <= %(until)s AND seq <> ALL(%(known)s::bigint[])
    GROUP BY seq
)
SELECT event.tenant, event.stream, event.seq, event.event_id, event.type, event.version, event.tags, event.meta,
       event.occurred_at, event.recorded_at, event.data, event.link,
       (SELECT link FROM mnemolog.events AS before
        WHERE (before.tenant, before.stream, before.seq) = (event.tenant, event.stream, event.seq - 1)) AS previous
FROM tagged
CROSS JOIN LATERAL (
    SELECT * FROM mnemolog.events AS one
    WHERE one.tenant = %(tenant)s AND one.stream = %(stream)s AND one.seq = tagged.seq
      AND (one.type <> ALL(%(ignored)s::text[]) OR (%(between)s::bool AND tagged.several)
           OR one.seq = (SELECT max(seq) FROM tagged)) OFFSET 0) AS event
ORDER BY event.seq;

-- find_event --
SELECT tenant, stream, seq, event_id, type, version, tags, meta, occurred_at, recorded_at, data, link,
       (SELECT link FROM mnemolog.events AS before
        WHERE (before.tenant, before.stream, before.seq) = (event.tenant, event.stream, event.seq - 1)) AS previous
FROM (SELECT * FROM mnemolog.events AS one WHERE one.event_id = %(event_id)s OFFSET 0) AS event
WHERE tenant = %(tenant)s AND stream = %(stream)s;

-- read_head --
SELECT seq FROM mnemolog.heads WHERE tenant = %(tenant)s AND stream = %(stream)s;

-- scan_heads --
SELECT tenant, stream, seq FROM mnemolog.heads
WHERE (tenant, stream) > (%(tenant)s, %(stream)s) AND seq > 0
    AND (%(of)s = 1 OR abs(hashtextextended(tenant || '/' || stream, 0) %% %(of)s) = %(share)s)
ORDER BY tenant, stream
LIMIT %(batch)s;

-- seq_at --
-- The last event of a stream that was recorded at or before a time, from the end: times never fall.
SELECT coalesce((
    SELECT seq FROM mnemolog.events WHERE tenant = %(tenant)s AND stream = %(stream)s AND recorded_at <= %(at)s
    ORDER BY seq DESC LIMIT 1
), 0) AS seq;

-- count_events --
SELECT type, count(*) AS count FROM mnemolog.events GROUP BY type ORDER BY type;

-- read_master_key --
SELECT mac FROM mnemolog.master_key;

-- pending --
-- What the relay has not delivered yet, oldest first.
SELECT outbox.id, outbox.tenant, outbox.stream, outbox.first_seq, outbox.last_seq
FROM mnemolog.outbox AS outbox
ORDER BY outbox.id
LIMIT %(batch)s;

-- pending_events --
-- The events of ranges of streams, range by range, each with the place of its range and the link before that. LATERAL
-- with a limit keeps the planner from a hash over the log.
SELECT e.tenant, e.stream, e.seq, e.event_id, e.type, e.version, e.tags, e.meta, e.occurred_at, e.recorded_at,
       e.data, e.link, wanted.place,
       (SELECT link FROM mnemolog.events AS before
        WHERE (before.tenant, before.stream, before.seq) = (wanted.tenant, wanted.stream, wanted.first - 1)) AS previous
FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(firsts)s::bigint[], %(lasts)s::bigint[])
         WITH ORDINALITY AS wanted (tenant, stream, first, last, place)
CROSS JOIN LATERAL (
    SELECT * FROM mnemolog.events AS event
    WHERE (event.tenant, event.stream) = (wanted.tenant, wanted.stream)
      AND event.seq BETWEEN wanted.first AND wanted.last
    ORDER BY event.seq
    LIMIT wanted.last - wanted.first + 1) AS e
ORDER BY wanted.place, e.seq;

-- delivered --
DELETE FROM mnemolog.outbox WHERE id = ANY(%(ids)s);

-- outbox_size --
SELECT count(*) AS count FROM mnemolog.outbox WHERE %(until)s::bigint IS NULL OR id <= %(until)s;

-- outbox_last --
SELECT coalesce(max(id), 0) AS last FROM mnemolog.outbox;

-- lead --
-- Held by the session, so that no transaction stays open.
SELECT pg_try_advisory_lock(hashtextextended('mnemolog ' || %(name)s, 0)) AS leads;

-- unlead --
SELECT pg_advisory_unlock(hashtextextended('mnemolog ' || %(name)s, 0));

-- end_when_silent --
-- A session that is not heard of for so long ends, and its leases with it.
SELECT set_config('idle_session_timeout', %(silence)s, false);

-- heartbeat --
SELECT;

-- join_workers --
-- Shared, under a number that no partition has: one row of pg_locks a worker.
SELECT pg_advisory_lock_shared(hashtext('mnemolog partitions ' || %(kept)s::text), -1);

-- look_at_leases --
SELECT pid, objid::bigint::bit(32)::int AS partition FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 2
  AND classid = hashtext('mnemolog partitions ' || %(kept)s::text)::bit(32)::bigint::oid
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- take_partitions --
SELECT partition, pg_try_advisory_lock(hashtext('mnemolog partitions ' || %(kept)s::text), partition) AS taken
FROM unnest(%(partitions)s::int[]) AS wanted (partition);

-- give_partitions --
SELECT pg_advisory_unlock(hashtext('mnemolog partitions ' || %(kept)s::text), partition)
FROM unnest(%(partitions)s::int[]) AS surplus (partition);

-- key_status --
-- How many keys there are, since when the wrapping key is, and how many stream keys a stopped rotation left.
SELECT (SELECT count(*) FROM mnemolog_keys.stream_keys) AS streams,
       (SELECT count(*) FROM mnemolog_keys.data_keys) AS data_keys,
       root.created_at AS since,
       (SELECT count(*) FROM mnemolog_keys.stream_keys WHERE root_id <> root.key_id) AS left_over
FROM mnemolog_keys.roots AS root
WHERE root.purpose = 'wrapping'
ORDER BY root.created_at DESC
LIMIT 1;

-- keep_policy --
INSERT INTO mnemolog.policies (version, policy, first_used) VALUES (%(version)s, %(policy)s, %(at)s)
ON CONFLICT DO NOTHING;

-- find_policies --
SELECT version, policy, first_used FROM mnemolog.policies
WHERE version = ANY(%(versions)s)
ORDER BY first_used, version;

-- policy_versions --
-- The versions that a stream's events name.
SELECT DISTINCT meta ->> 'policy_version' AS version FROM mnemolog.events
WHERE (tenant, stream) = (%(tenant)s, %(stream)s);

-- keep_tables --
-- Before the snapshot, which would not show the rows of a table that replaces one of these later (`partition-log`).
LOCK TABLE mnemolog.events, mnemolog.tags, mnemolog.receipts IN ACCESS SHARE MODE;
