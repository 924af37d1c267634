-- Every query of the checkpoints, called by name (adapters/postgres/queries.py).

-- find_thread --
-- The key of a thread's checkpoints, if there is one, and how often the thread was pruned, if it has a row.
SELECT own.root_id, own.wrapped AS stream_key, key.key_id, key.wrapped AS data_key, thread.prunings
FROM mnemolog_keys.data_keys AS key
JOIN mnemolog_keys.stream_keys AS own USING (tenant, stream)
LEFT JOIN mnemolog.checkpoint_threads AS thread USING (tenant, stream, key_id)
WHERE (key.tenant, key.stream, key.scope) = (%(tenant)s, %(stream)s, %(scope)s);

-- insert_thread --
INSERT INTO mnemolog.checkpoint_threads (tenant, stream, key_id, scope, agent_id, thread_id)
SELECT key.tenant, key.stream, key.key_id, key.scope, %(agent_id)s, %(thread_id)s
FROM mnemolog_keys.data_keys AS key
WHERE (key.tenant, key.stream, key.scope) = (%(tenant)s, %(stream)s, %(scope)s)
ON CONFLICT DO NOTHING;

-- find_threads --
-- The threads that have a key, of one user or of all; with `remains`, also those of which only rows are left.
SELECT DISTINCT thread.stream, thread.agent_id, thread.thread_id
FROM mnemolog.checkpoint_threads AS thread
LEFT JOIN mnemolog_keys.data_keys AS key USING (tenant, stream, scope, key_id)
WHERE thread.tenant = %(tenant)s AND (%(remains)s OR key.key_id IS NOT NULL) AND (%(stream)s::text IS NULL OR thread.stream = %(stream)s)
  AND (%(agent_id)s::text IS NULL OR thread.agent_id = %(agent_id)s)
  AND (%(thread_id)s::text IS NULL OR thread.thread_id = %(thread_id)s)
ORDER BY thread.stream, thread.agent_id, thread.thread_id;

-- find_threads_of_runs --
SELECT DISTINCT thread.stream, thread.agent_id, thread.thread_id
FROM mnemolog.supervisor_checkpoints AS one
JOIN mnemolog.checkpoint_threads AS thread USING (tenant, stream, key_id)
JOIN mnemolog_keys.data_keys AS key USING (tenant, stream, scope, key_id)
WHERE one.tenant = %(tenant)s AND one.run_hash = ANY(%(runs)s::bytea[])
  AND (%(stream)s::text IS NULL OR one.stream = %(stream)s) AND thread.agent_id = %(agent_id)s;

-- save_checkpoint --
-- Nothing where the key was destroyed, or something was pruned that the writer does not know of. The lock keeps both
-- away until the commit. Lists of bytes go in binary (`b`): as text each byte would take two, and a search for quotes.
WITH thread AS MATERIALIZED (
    SELECT thread.tenant, thread.stream, thread.key_id
    FROM mnemolog.checkpoint_threads AS thread
    JOIN mnemolog_keys.data_keys AS key USING (tenant, stream, scope, key_id)
    WHERE (thread.tenant, thread.stream, thread.key_id) = (%(tenant)s, %(stream)s, %(key_id)s)
      AND key.scope = %(scope)s AND thread.prunings = %(prunings)s
    FOR SHARE OF thread FOR KEY SHARE OF key
), chunks AS (
    INSERT INTO mnemolog.checkpoint_chunks (tenant, stream, key_id, chunk_id, data)
    SELECT tenant, stream, key_id, new.chunk_id, new.data
    FROM thread, unnest(%(new_ids)b::bytea[], %(new_data)b::bytea[]) AS new (chunk_id, data)
    ORDER BY new.chunk_id
    ON CONFLICT DO NOTHING
)
INSERT INTO mnemolog.supervisor_checkpoints
    (tenant, stream, key_id, namespace, checkpoint_id, parent_id, run_hash, chunk_ids, data)
SELECT tenant, stream, key_id, %(namespace)s, %(checkpoint_id)s, %(parent_id)s, %(run_hash)s, %(chunk_ids)b, %(data)s
FROM thread
ON CONFLICT (tenant, stream, key_id, namespace, checkpoint_id) DO UPDATE
SET parent_id = excluded.parent_id, run_hash = excluded.run_hash, chunk_ids = excluded.chunk_ids,
    data = excluded.data, updated_at = clock_timestamp()
RETURNING key_id;

-- save_writes --
-- Nothing where the key was destroyed. What was written before is kept, but for errors, interrupts and the like, which
-- have an idx below zero.
WITH thread AS MATERIALIZED (
    SELECT thread.tenant, thread.stream, thread.key_id
    FROM mnemolog.checkpoint_threads AS thread
    JOIN mnemolog_keys.data_keys AS key USING (tenant, stream, scope, key_id)
    WHERE (thread.tenant, thread.stream, thread.key_id) = (%(tenant)s, %(stream)s, %(key_id)s)
      AND key.scope = %(scope)s
    FOR SHARE OF thread FOR KEY SHARE OF key
), written AS (
    INSERT INTO mnemolog.checkpoint_writes AS known
        (tenant, stream, key_id, namespace, checkpoint_id, task_id, idx, data)
    SELECT tenant, stream, key_id, %(namespace)s, %(checkpoint_id)s, %(task_id)s, new.idx, new.data
    FROM thread, unnest(%(idxs)s::int[], %(data)b::bytea[]) AS new (idx, data)
    ORDER BY new.idx
    ON CONFLICT (tenant, stream, key_id, namespace, checkpoint_id, task_id, idx) DO UPDATE
    SET data = excluded.data WHERE excluded.idx < 0
)
SELECT key_id FROM thread;

-- load_checkpoint --
-- The newest of a namespace up to an id, with its chunks in order and what is pending. A chunk is looked up by a
-- subquery: a join would read all chunks of the thread, as long as the planner takes the table for empty.
SELECT own.root_id, own.wrapped AS stream_key, key.key_id, key.wrapped AS data_key, thread.prunings,
       one.namespace, one.checkpoint_id, one.parent_id, one.chunk_ids, one.data,
       ARRAY(SELECT (SELECT chunk.data FROM mnemolog.checkpoint_chunks AS chunk
                     WHERE (chunk.tenant, chunk.stream, chunk.key_id, chunk.chunk_id)
                           = (key.tenant, key.stream, key.key_id, wanted.chunk_id))
             FROM unnest(one.chunk_ids) WITH ORDINALITY AS wanted (chunk_id, place)
             ORDER BY wanted.place) AS chunks,
       ARRAY(SELECT write.data FROM mnemolog.checkpoint_writes AS write
             WHERE (write.tenant, write.stream, write.key_id, write.namespace, write.checkpoint_id)
                   = (key.tenant, key.stream, key.key_id, one.namespace, one.checkpoint_id)) AS writes
FROM mnemolog_keys.data_keys AS key
JOIN mnemolog_keys.stream_keys AS own USING (tenant, stream)
JOIN mnemolog.checkpoint_threads AS thread USING (tenant, stream, key_id)
CROSS JOIN LATERAL (
    SELECT found.namespace, found.checkpoint_id, found.parent_id, found.chunk_ids, found.data
    FROM mnemolog.supervisor_checkpoints AS found
    WHERE (found.tenant, found.stream, found.key_id, found.namespace)
          = (key.tenant, key.stream, key.key_id, %(namespace)s)
      AND found.checkpoint_id <= %(until)s
    ORDER BY found.checkpoint_id DESC
    LIMIT 1) AS one
WHERE (key.tenant, key.stream, key.scope) = (%(tenant)s, %(stream)s, %(scope)s);

-- list_checkpoints --
-- The ids of a thread's checkpoints, the newest first.
SELECT one.namespace, one.checkpoint_id, one.parent_id, one.run_hash
FROM mnemolog_keys.data_keys AS key
JOIN mnemolog.supervisor_checkpoints AS one USING (tenant, stream, key_id)
WHERE (key.tenant, key.stream, key.scope) = (%(tenant)s, %(stream)s, %(scope)s)
ORDER BY one.checkpoint_id DESC, one.namespace;

-- export_threads --
SELECT thread.agent_id, thread.thread_id, own.root_id, own.wrapped AS stream_key, key.key_id, key.wrapped AS data_key
FROM mnemolog.checkpoint_threads AS thread
JOIN mnemolog_keys.stream_keys AS own USING (tenant, stream)
JOIN mnemolog_keys.data_keys AS key USING (tenant, stream, scope, key_id)
WHERE (thread.tenant, thread.stream) = (%(tenant)s, %(stream)s)
ORDER BY thread.agent_id, thread.thread_id;

-- export_chunks --
SELECT chunk_id, data FROM mnemolog.checkpoint_chunks
WHERE (tenant, stream, key_id) = (%(tenant)s, %(stream)s, %(key_id)s);

-- export_checkpoints --
SELECT namespace, checkpoint_id, parent_id, chunk_ids, data FROM mnemolog.supervisor_checkpoints
WHERE (tenant, stream, key_id) = (%(tenant)s, %(stream)s, %(key_id)s);

-- export_writes --
SELECT namespace, checkpoint_id, data FROM mnemolog.checkpoint_writes
WHERE (tenant, stream, key_id) = (%(tenant)s, %(stream)s, %(key_id)s);

-- import_chunk --
INSERT INTO mnemolog.checkpoint_chunks (tenant, stream, key_id, chunk_id, data)
VALUES (%(tenant)s, %(stream)s, %(key_id)s, %(chunk_id)s, %(data)s) ON CONFLICT DO NOTHING;

-- import_checkpoint --
INSERT INTO mnemolog.supervisor_checkpoints
    (tenant, stream, key_id, namespace, checkpoint_id, parent_id, run_hash, chunk_ids, data)
VALUES (%(tenant)s, %(stream)s, %(key_id)s, %(namespace)s, %(checkpoint_id)s, %(parent_id)s, %(run_hash)s,
        %(chunk_ids)s, %(data)s);

-- import_write --
INSERT INTO mnemolog.checkpoint_writes (tenant, stream, key_id, namespace, checkpoint_id, task_id, idx, data)
VALUES (%(tenant)s, %(stream)s, %(key_id)s, %(namespace)s, %(checkpoint_id)s, %(task_id)s, %(idx)s, %(data)s);

-- begin_pruning --
-- Waits for those who save, and makes later ones look again.
UPDATE mnemolog.checkpoint_threads AS thread SET prunings = prunings + 1
FROM mnemolog_keys.data_keys AS key
WHERE (key.tenant, key.stream, key.scope) = (%(tenant)s, %(stream)s, %(scope)s)
  AND (thread.tenant, thread.stream, thread.key_id) = (key.tenant, key.stream, key.key_id)
RETURNING thread.key_id;

-- delete_checkpoints --
DELETE FROM mnemolog.supervisor_checkpoints AS one
USING unnest(%(namespaces)s::text[], %(checkpoint_ids)s::text[]) AS gone (namespace, checkpoint_id)
WHERE (one.tenant, one.stream, one.key_id, one.namespace, one.checkpoint_id)
      = (%(tenant)s, %(stream)s, %(key_id)s, gone.namespace, gone.checkpoint_id);

-- delete_writes --
DELETE FROM mnemolog.checkpoint_writes AS one
USING unnest(%(namespaces)s::text[], %(checkpoint_ids)s::text[]) AS gone (namespace, checkpoint_id)
WHERE (one.tenant, one.stream, one.key_id, one.namespace, one.checkpoint_id)
      = (%(tenant)s, %(stream)s, %(key_id)s, gone.namespace, gone.checkpoint_id);

-- delete_unused_chunks --
DELETE FROM mnemolog.checkpoint_chunks AS chunk
WHERE (chunk.tenant, chunk.stream, chunk.key_id) = (%(tenant)s, %(stream)s, %(key_id)s)
  AND chunk.chunk_id NOT IN (
      SELECT unnest(one.chunk_ids) FROM mnemolog.supervisor_checkpoints AS one
      WHERE (one.tenant, one.stream, one.key_id) = (%(tenant)s, %(stream)s, %(key_id)s));

-- delete_erased --
-- Of a stream all that is sealed with keys that are gone.
WITH gone AS (
    DELETE FROM mnemolog.checkpoint_threads AS thread
    WHERE (thread.tenant, thread.stream) = (%(tenant)s, %(stream)s)
      AND NOT EXISTS (SELECT FROM mnemolog_keys.data_keys AS key
                      WHERE (key.tenant, key.stream, key.scope) = (thread.tenant, thread.stream, thread.scope)
                        AND key.key_id = thread.key_id)
    RETURNING thread.tenant, thread.stream, thread.key_id
), checkpoints AS (
    DELETE FROM mnemolog.supervisor_checkpoints AS one USING gone
    WHERE (one.tenant, one.stream, one.key_id) = (gone.tenant, gone.stream, gone.key_id)
), chunks AS (
    DELETE FROM mnemolog.checkpoint_chunks AS one USING gone
    WHERE (one.tenant, one.stream, one.key_id) = (gone.tenant, gone.stream, gone.key_id)
)
DELETE FROM mnemolog.checkpoint_writes AS one USING gone
WHERE (one.tenant, one.stream, one.key_id) = (gone.tenant, gone.stream, gone.key_id);
