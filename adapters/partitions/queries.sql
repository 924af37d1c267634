-- Every query of `mnemolog partition-log`, called by name. A column `statement` is to be executed, in the given order.

-- begin --
-- Names are written with their schema, whatever the login's search path. A copy may take as long as it takes. Rows that
-- a policy would hide from this login are an error: neither copied nor counted, they would be lost.
SELECT set_config('search_path', 'pg_catalog', true), set_config('row_security', 'off', true),
       set_config('lock_timeout', %(patience)s, true),
       (SELECT count(set_config(name, '0', true)) FROM pg_settings
        WHERE name IN ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout'));

-- hold --
-- Keeps out what would change the definitions meanwhile, such as a migration. Reads and writes go on.
LOCK TABLE mnemolog.events, mnemolog.tags, mnemolog.receipts IN SHARE UPDATE EXCLUSIVE MODE;

-- patience --
SELECT set_config('lock_timeout', %(patience)s, true);

-- lock --
LOCK TABLE mnemolog.events, mnemolog.tags, mnemolog.receipts IN ACCESS EXCLUSIVE MODE;

-- holder --
-- Of another login, Postgres may tell the process alone.
SELECT pid, coalesce(nullif(application_name, ''), backend_type, 'another login') AS name
FROM pg_stat_activity
WHERE pid IN (SELECT pid FROM pg_locks WHERE granted AND relation = ANY(%(tables)s::regclass[])
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
  AND pid <> pg_backend_pid()
ORDER BY xact_start NULLS LAST, backend_start  -- One that has just ended has no transaction any more.
LIMIT 1;

-- size --
SELECT coalesce(sum(seq), 0)::bigint AS events FROM mnemolog.heads;

-- partitions --
-- How many each table has: 1 if it is plain.
SELECT relname AS name, greatest(1, (SELECT count(*) FROM pg_inherits WHERE inhparent = place.oid))::int AS partitions
FROM pg_class AS place
WHERE oid = ANY(%(tables)s::regclass[]);

-- dependents --
-- What others made on the tables or their row types, which would go with them or keep them, and publications.
WITH depending AS (
    SELECT classid, objid, objsubid, rule.ev_class, rule.rulename
    FROM pg_depend AS one LEFT JOIN pg_rewrite AS rule ON (classid, objid) = ('pg_rewrite'::regclass, rule.oid)
    WHERE deptype = 'n' AND (
        (refclassid = 'pg_class'::regclass AND refobjid = ANY(%(tables)s::regclass[]))
        OR (refclassid = 'pg_type'::regclass AND refobjid IN (
            SELECT unnest(ARRAY[row.oid, row.typarray]) FROM pg_class AS place JOIN pg_type AS row ON row.oid = reltype
            WHERE place.oid = ANY(%(tables)s::regclass[]))))
      -- What belongs to the tables, such as a constraint that names their columns, is created again; but rules are not.
      AND (rulename IS NOT NULL OR NOT EXISTS (
          SELECT FROM pg_depend AS own
          WHERE (own.classid, own.objid) = (one.classid, one.objid) AND own.deptype IN ('a', 'i')
            AND own.refclassid = 'pg_class'::regclass AND own.refobjid = ANY(%(tables)s::regclass[])))
)
SELECT DISTINCT CASE WHEN rulename = '_RETURN' THEN format('the view %%s', ev_class::regclass)
                     ELSE 'the ' || pg_describe_object(classid, objid, objsubid) END AS name
FROM depending
UNION
SELECT format('the publication %%I', pubname)
FROM pg_publication_rel JOIN pg_publication AS publication ON publication.oid = prpubid
WHERE prrelid = ANY(%(tables)s::regclass[])
ORDER BY name;

-- create --
-- An empty table like another, still without indexes, and its partitions.
WITH place AS (
    SELECT relname AS name, relname || '_next' AS next,
           ' WITH (' || array_to_string(coalesce(reloptions, (
               SELECT part.reloptions FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid
               WHERE inhparent = place.oid ORDER BY inhrelid LIMIT 1)), ', ') || ')' AS options
    FROM pg_class AS place WHERE oid = %(table)s::regclass
)
SELECT format('CREATE TABLE mnemolog.%%I (LIKE mnemolog.%%I INCLUDING ALL EXCLUDING INDEXES)%%s', next, name,
              CASE WHEN %(into)s::int = 1 THEN options ELSE ' PARTITION BY HASH (tenant, stream)' END) AS statement
FROM place
UNION ALL
SELECT format('CREATE TABLE mnemolog.%%I PARTITION OF mnemolog.%%I FOR VALUES WITH (MODULUS %%s, REMAINDER %%s)%%s',
              format('%%s_%%s_%%s', name, %(into)s::int, number), next, %(into)s::int, number, options)
FROM place, generate_series(0, %(into)s::int - 1) AS number
WHERE %(into)s::int > 1;

-- indexes --
-- How each is made on the new table, and how it gets its name there.
SELECT CASE WHEN rule.oid IS NULL
            THEN format('CREATE %%sINDEX %%I ON mnemolog.%%I%%s', CASE WHEN made.indisunique THEN 'UNIQUE ' END,
                        index.relname || '_next', place.relname || '_next',
                        substring(pg_get_indexdef(index.oid) FROM ' USING .*'))
            ELSE format('ALTER TABLE mnemolog.%%I ADD CONSTRAINT %%I %%s', place.relname || '_next',
                        index.relname || '_next', pg_get_constraintdef(rule.oid)) END AS statement,
       format('ALTER INDEX mnemolog.%%I RENAME TO %%I', index.relname || '_next', index.relname) AS renaming
FROM pg_index AS made
JOIN pg_class AS place ON place.oid = made.indrelid
JOIN pg_class AS index ON index.oid = made.indexrelid
LEFT JOIN pg_constraint AS rule ON rule.conindid = index.oid AND rule.conrelid = place.oid
WHERE place.oid = %(table)s::regclass
ORDER BY made.indisprimary DESC, index.relname;

-- rest --
-- What LIKE does not copy. Run on the new table once it has the name of the old one.
WITH place AS (SELECT *, oid::regclass AS name FROM pg_class WHERE oid = %(table)s::regclass)
SELECT format('ALTER TABLE %%s OWNER TO %%s', name, relowner::regrole) AS statement FROM place
UNION ALL
SELECT format('COMMENT ON TABLE %%s IS %%L', name, obj_description(oid, 'pg_class')) FROM place
WHERE obj_description(oid, 'pg_class') IS NOT NULL
UNION ALL
SELECT format('GRANT %%s%%s ON %%s TO %%s%%s', granted.privilege_type, granted.which, name,
              CASE WHEN granted.grantee = 0 THEN 'PUBLIC' ELSE granted.grantee::regrole::text END,
              CASE WHEN granted.is_grantable THEN ' WITH GRANT OPTION' END)
FROM place, LATERAL (
    SELECT '' AS which, entry.* FROM aclexplode(relacl) AS entry
    UNION ALL
    SELECT format(' (%%I)', attname), entry.* FROM pg_attribute, aclexplode(attacl) AS entry
    WHERE attrelid = place.oid AND NOT attisdropped) AS granted
WHERE granted.grantee <> relowner
UNION ALL
SELECT format('ALTER TABLE %%s ALTER COLUMN %%I SET STATISTICS %%s', name, attname, attstattarget)
FROM place JOIN pg_attribute ON attrelid = place.oid AND attnum > 0 AND NOT attisdropped WHERE attstattarget >= 0
UNION ALL
SELECT format('ALTER TABLE %%s ALTER COLUMN %%I SET (%%s)', name, attname, array_to_string(attoptions, ', '))
FROM place JOIN pg_attribute ON attrelid = place.oid AND NOT attisdropped WHERE attoptions IS NOT NULL
UNION ALL
SELECT format('CREATE POLICY %%I ON %%s AS %%s FOR %%s TO %%s%%s%%s', policyname, name, permissive, cmd,
              (SELECT string_agg(quote_ident(role), ', ') FROM unnest(roles) AS role),
              ' USING (' || qual || ')', ' WITH CHECK (' || with_check || ')')
FROM place JOIN pg_policies ON (schemaname, tablename) = (relnamespace::regnamespace::text, relname)
UNION ALL
SELECT format('ALTER TABLE %%s ENABLE ROW LEVEL SECURITY', name) FROM place WHERE relrowsecurity
UNION ALL
SELECT format('ALTER TABLE %%s FORCE ROW LEVEL SECURITY', name) FROM place WHERE relforcerowsecurity
UNION ALL
SELECT pg_get_triggerdef(rule.oid) FROM place JOIN pg_trigger AS rule ON tgrelid = place.oid AND NOT tgisinternal
UNION ALL
SELECT format('ALTER TABLE %%s %%s TRIGGER %%I', name, how, tgname)
FROM place JOIN pg_trigger ON tgrelid = place.oid AND NOT tgisinternal
JOIN (VALUES ('A', 'ENABLE ALWAYS'), ('R', 'ENABLE REPLICA'), ('D', 'DISABLE')) AS state (letter, how)
     ON letter = tgenabled::text;

-- rest_of_partitions --
-- A trigger for each statement fires on the table that the statement names, and so does row-level security: without
-- policies, nobody but the owner sees rows of a partition that is named itself.
SELECT needed.statement
FROM pg_inherits JOIN pg_class AS place ON place.oid = inhparent
CROSS JOIN LATERAL (
    SELECT format('ALTER TABLE %%s OWNER TO %%s', inhrelid::regclass, relowner::regrole)
    UNION ALL
    SELECT format('ALTER TABLE %%s ENABLE ROW LEVEL SECURITY', inhrelid::regclass) WHERE relrowsecurity
    UNION ALL
    SELECT replace(pg_get_triggerdef(rule.oid), format(' ON %%s ', place.oid::regclass),
                   format(' ON %%s ', inhrelid::regclass))
    FROM pg_trigger AS rule WHERE tgrelid = place.oid AND NOT tgisinternal AND tgtype::int & 1 = 0
    UNION ALL
    SELECT format('ALTER TABLE %%s ENABLE ALWAYS TRIGGER %%I', inhrelid::regclass, tgname)
    FROM pg_trigger WHERE tgrelid = place.oid AND NOT tgisinternal AND tgtype::int & 1 = 0 AND tgenabled = 'A'
) AS needed (statement)
WHERE inhparent = %(table)s::regclass;

-- begin_copy --
-- What is copied of each stream, and in which batch of this round.
CREATE TEMPORARY TABLE copied (
    tenant text NOT NULL, stream text NOT NULL, after bigint NOT NULL, until bigint NOT NULL, batch bigint,
    PRIMARY KEY (tenant, stream)
) ON COMMIT DROP;

-- index_batches --
CREATE INDEX ON pg_temp.copied (batch);

-- end_round --
UPDATE pg_temp.copied SET batch = NULL WHERE batch IS NOT NULL;

-- begin_round --
-- Streams that have grown since the last round, or are new.
INSERT INTO pg_temp.copied (tenant, stream, after, until, batch)
SELECT tenant, stream, after, seq, div(sum(seq - after) OVER (ORDER BY tenant, stream) - (seq - after), %(size)s)
FROM (SELECT tenant, stream, coalesce(known.until, 0) AS after, head.seq
      FROM mnemolog.heads AS head LEFT JOIN pg_temp.copied AS known USING (tenant, stream)) AS grown
WHERE seq > after
ON CONFLICT (tenant, stream) DO UPDATE SET (after, until, batch) = (excluded.after, excluded.until, excluded.batch);

-- batches --
SELECT batch, sum(until - after)::bigint AS events FROM pg_temp.copied WHERE batch IS NOT NULL
GROUP BY batch ORDER BY batch;

-- joins --
-- Off for a batch, whose streams are looked up by key, whatever the estimates.
SELECT set_config(name, %(value)s, true)
FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS name;

-- copy_events --
INSERT INTO mnemolog.events_next
SELECT one.* FROM pg_temp.copied AS batch JOIN mnemolog.events AS one USING (tenant, stream)
WHERE batch.batch = %(batch)s AND one.seq > batch.after AND one.seq <= batch.until;

-- copy_tags --
INSERT INTO mnemolog.tags_next
SELECT one.* FROM pg_temp.copied AS batch JOIN mnemolog.tags AS one USING (tenant, stream)
WHERE batch.batch = %(batch)s AND one.seq > batch.after AND one.seq <= batch.until;

-- copy_receipts --
INSERT INTO mnemolog.receipts_next
SELECT one.* FROM pg_temp.copied AS batch JOIN mnemolog.receipts AS one USING (tenant, stream)
WHERE batch.batch = %(batch)s AND one.last_seq > batch.after AND one.last_seq <= batch.until;

-- copy_other_receipts --
-- Of appends that wrote no event, or whose events were written before.
INSERT INTO mnemolog.receipts_next
SELECT one.* FROM mnemolog.receipts AS one
WHERE NOT EXISTS (SELECT FROM mnemolog.receipts_next AS known
                  WHERE (known.tenant, known.stream, known.idempotency_key)
                      = (one.tenant, one.stream, one.idempotency_key));

-- counts --
SELECT (SELECT count(*) FROM mnemolog.events) AS events, (SELECT count(*) FROM mnemolog.tags) AS tags,
       (SELECT count(*) FROM mnemolog.receipts) AS receipts;
