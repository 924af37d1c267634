-- Every query of verification, called by name.

-- page_of_heads --
-- Of the whole log, or of one stream where `only` names it.
SELECT tenant, stream, seq, link, recorded_at
FROM mnemolog.heads
WHERE (tenant, stream) > (%(tenant)s, %(stream)s)
  AND (%(only_tenant)s::text IS NULL OR (tenant, stream) = (%(only_tenant)s, %(only_stream)s))
ORDER BY tenant, stream
LIMIT %(batch)s;

-- heads_of --
SELECT tenant, stream, seq, link, recorded_at
FROM mnemolog.heads
JOIN unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream) USING (tenant, stream);

-- page_of_events --
SELECT event.tenant, event.stream, event.seq, event.event_id, event.type, event.version, event.tags, event.meta,
       event.occurred_at, event.recorded_at, event.data, event.link
FROM mnemolog.events AS event
JOIN unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream) USING (tenant, stream)
ORDER BY event.tenant, event.stream, event.seq;

-- headless --
-- Events of streams that have no head.
SELECT DISTINCT event.tenant, event.stream
FROM mnemolog.events AS event
WHERE (%(only_tenant)s::text IS NULL OR (event.tenant, event.stream) = (%(only_tenant)s, %(only_stream)s))
  AND NOT EXISTS (SELECT FROM mnemolog.heads AS head WHERE (head.tenant, head.stream) = (event.tenant, event.stream));

-- differing_tags --
-- Tags of events that the index lacks, and entries of the index that no event has.
SELECT coalesce(told.tenant, kept.tenant) AS tenant, coalesce(told.stream, kept.stream) AS stream,
       coalesce(told.seq, kept.seq) AS seq, coalesce(told.tag, kept.tag) AS tag, kept.tag IS NULL AS missing
FROM (SELECT event.tenant, event.stream, event.seq, tag
      FROM mnemolog.events AS event
      JOIN unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream) USING (tenant, stream),
           unnest(event.tags) AS tag) AS told
FULL JOIN (SELECT entry.tenant, entry.stream, entry.seq, entry.tag
           FROM mnemolog.tags AS entry
           JOIN unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream) USING (tenant, stream))
          AS kept
       ON (told.tenant, told.stream, told.seq, told.tag) = (kept.tenant, kept.stream, kept.seq, kept.tag)
WHERE told.tag IS NULL OR kept.tag IS NULL
ORDER BY 1, 2, 3, 4
LIMIT %(limit)s;

-- stray_tags --
-- Entries of the index for streams that have no head.
SELECT entry.tenant, entry.stream, entry.seq, entry.tag
FROM mnemolog.tags AS entry
WHERE (%(only_tenant)s::text IS NULL OR (entry.tenant, entry.stream) = (%(only_tenant)s, %(only_stream)s))
  AND NOT EXISTS (SELECT FROM mnemolog.heads AS head WHERE (head.tenant, head.stream) = (entry.tenant, entry.stream))
LIMIT %(limit)s;

-- stray_receipts --
-- Receipts of events that the log does not have. What they say of others is bound to the request that asks for them.
SELECT receipt.tenant, receipt.stream, receipt.idempotency_key, receipt.last_seq
FROM mnemolog.receipts AS receipt
LEFT JOIN mnemolog.heads AS head USING (tenant, stream)
WHERE (%(only_tenant)s::text IS NULL OR (receipt.tenant, receipt.stream) = (%(only_tenant)s, %(only_stream)s))
  AND receipt.last_seq > coalesce(head.seq, 0)
LIMIT %(limit)s;

-- links_at --
-- What the log holds at these places: the link there, and the head of the stream.
SELECT wanted.tenant, wanted.stream, wanted.seq, event.link, event.event_id, coalesce(head.seq, 0) AS head,
       coalesce(head.link, ''::bytea) AS head_link
FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(seqs)s::bigint[]) AS wanted (tenant, stream, seq)
LEFT JOIN mnemolog.events AS event USING (tenant, stream, seq)
LEFT JOIN mnemolog.heads AS head ON (head.tenant, head.stream) = (wanted.tenant, wanted.stream);

-- heads_since --
SELECT tenant, stream, seq, link FROM mnemolog.heads WHERE recorded_at > %(since)s AND seq > 0
ORDER BY tenant, stream;

-- events_at --
-- The events that stand at these places, each with the link of the one before it.
SELECT event.tenant, event.stream, event.seq, event.event_id, event.type, event.version, event.tags, event.meta,
       event.occurred_at, event.recorded_at, event.data, event.link,
       (SELECT link FROM mnemolog.events AS before
        WHERE (before.tenant, before.stream, before.seq) = (event.tenant, event.stream, event.seq - 1)) AS previous
FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(seqs)s::bigint[]) AS wanted (tenant, stream, seq)
JOIN mnemolog.events AS event USING (tenant, stream, seq);

-- newest_record --
SELECT max(recorded_at) AS at FROM mnemolog.heads WHERE seq > 0;

-- same_event --
-- Where else the log holds what stands at a damaged place: under the same id, or with the same link.
SELECT tenant, stream, seq, event_id, link
FROM mnemolog.events
WHERE event_id = ANY(%(event_ids)s::uuid[]) OR link = ANY(%(links)s::bytea[])
ORDER BY tenant, stream, seq;

-- count_events --
SELECT coalesce(sum(seq), 0)::bigint AS count FROM mnemolog.heads
WHERE %(only_tenant)s::text IS NULL OR (tenant, stream) = (%(only_tenant)s, %(only_stream)s);

-- begin_head --
-- Whoever holds the head of a stream is its only writer until the commit.
INSERT INTO mnemolog.heads (tenant, stream) VALUES (%(tenant)s, %(stream)s)
ON CONFLICT (tenant, stream) DO UPDATE SET seq = heads.seq;

-- heal_head --
UPDATE mnemolog.heads AS head SET seq = last.seq, link = last.link, recorded_at = last.recorded_at
FROM (SELECT seq, link, recorded_at FROM mnemolog.events
      WHERE tenant = %(tenant)s AND stream = %(stream)s ORDER BY seq DESC LIMIT 1) AS last
WHERE head.tenant = %(tenant)s AND head.stream = %(stream)s;

-- forget_tags --
DELETE FROM mnemolog.tags WHERE tenant = %(tenant)s AND stream = %(stream)s;

-- heal_tags --
INSERT INTO mnemolog.tags (tenant, stream, tag, seq)
SELECT DISTINCT tenant, stream, tag, seq FROM mnemolog.events, unnest(tags) AS tag
WHERE tenant = %(tenant)s AND stream = %(stream)s;
