-- Every query of the log, called by name (adapters/postgres/queries.py).

-- begin_streams --
-- A stream gets its head when it is first written to; sorted, so that two writers cannot deadlock.
INSERT INTO mnemolog.heads (tenant, stream)
SELECT tenant, stream FROM unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream)
ORDER BY tenant, stream
ON CONFLICT DO NOTHING;

-- lock_heads --
-- Whoever holds the head of a stream is its only writer until the commit.
SELECT tenant, stream, seq, link, recorded_at
FROM mnemolog.heads
WHERE (tenant, stream) IN (SELECT * FROM unnest(%(tenants)s::text[], %(streams)s::text[]))
ORDER BY tenant, stream
FOR UPDATE;

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

-- insert_event --
INSERT INTO mnemolog.events
    (tenant, stream, seq, event_id, type, version, tags, meta, occurred_at, recorded_at, data, link)
VALUES (%(tenant)s, %(stream)s, %(seq)s, %(event_id)s, %(type)s, %(version)s, %(tags)s, %(meta)s,
        %(occurred_at)s, %(recorded_at)s, %(data)s, %(link)s);

-- insert_tags --
INSERT INTO mnemolog.tags (tenant, stream, tag, seq)
SELECT * FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(tags)s::text[], %(seqs)s::bigint[]);

-- insert_receipt --
INSERT INTO mnemolog.receipts (tenant, stream, idempotency_key, fingerprint, first_seq, last_seq)
VALUES (%(tenant)s, %(stream)s, %(key)s, %(fingerprint)s, %(first_seq)s, %(last_seq)s);

-- insert_outbox --
INSERT INTO mnemolog.outbox (tenant, stream, first_seq, last_seq)
SELECT * FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(first_seqs)s::bigint[], %(last_seqs)s::bigint[]);

-- update_heads --
UPDATE mnemolog.heads AS head SET seq = new.seq, link = new.link, recorded_at = new.recorded_at
FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(seqs)s::bigint[], %(links)s::bytea[], %(times)s::timestamptz[])
         AS new (tenant, stream, seq, link, recorded_at)
WHERE (head.tenant, head.stream) = (new.tenant, new.stream);

-- read_stream --
SELECT tenant, stream, seq, event_id, type, version, tags, meta, occurred_at, recorded_at, data, link
FROM mnemolog.events
WHERE tenant = %(tenant)s AND stream = %(stream)s AND seq > %(after)s AND seq <= %(until)s
ORDER BY seq
LIMIT %(batch)s;

-- read_tagged --
SELECT tenant, stream, seq, event_id, type, version, tags, meta, occurred_at, recorded_at, data, link
FROM mnemolog.events
WHERE tenant = %(tenant)s AND stream = %(stream)s AND seq IN
      (SELECT seq FROM mnemolog.tags
       WHERE tenant = %(tenant)s AND stream = %(stream)s AND tag = ANY(%(tags)s::text[])
         AND seq > %(after)s AND seq <= %(until)s)
ORDER BY seq;

-- find_event --
SELECT tenant, stream, seq, event_id, type, version, tags, meta, occurred_at, recorded_at, data, link
FROM mnemolog.events
WHERE tenant = %(tenant)s AND stream = %(stream)s AND event_id = %(event_id)s;

-- read_head --
SELECT seq FROM mnemolog.heads WHERE tenant = %(tenant)s AND stream = %(stream)s;

-- scan_heads --
SELECT tenant, stream, seq FROM mnemolog.heads
WHERE (tenant, stream) > (%(tenant)s, %(stream)s) AND seq > 0
ORDER BY tenant, stream
LIMIT %(batch)s;

-- seq_at --
-- The last event of a stream that was recorded at or before a time.
SELECT coalesce(max(seq), 0) AS seq FROM mnemolog.events
WHERE tenant = %(tenant)s AND stream = %(stream)s AND recorded_at <= %(at)s;

-- count_events --
SELECT type, count(*) AS count FROM mnemolog.events GROUP BY type ORDER BY type;

-- keep_master_key --
INSERT INTO mnemolog.master_key (mac) VALUES (%(mac)s) ON CONFLICT DO NOTHING;

-- read_master_key --
SELECT mac FROM mnemolog.master_key;

-- pending --
-- What the relay has not delivered yet, oldest first.
SELECT outbox.id, outbox.tenant, outbox.stream, outbox.first_seq, outbox.last_seq
FROM mnemolog.outbox AS outbox
ORDER BY outbox.id
LIMIT %(batch)s;

-- pending_events --
SELECT e.tenant, e.stream, e.seq, e.event_id, e.type, e.version, e.tags, e.meta, e.occurred_at, e.recorded_at,
       e.data, e.link
FROM mnemolog.outbox AS outbox
JOIN mnemolog.events AS e
  ON (e.tenant, e.stream) = (outbox.tenant, outbox.stream) AND e.seq BETWEEN outbox.first_seq AND outbox.last_seq
WHERE outbox.id = ANY(%(ids)s)
ORDER BY outbox.id, e.seq;

-- delivered --
DELETE FROM mnemolog.outbox WHERE id = ANY(%(ids)s);

-- outbox_size --
SELECT count(*) AS count FROM mnemolog.outbox;

-- lead --
SELECT pg_try_advisory_lock(hashtextextended('mnemolog relay ' || %(shard)s, 0)) AS leads;
