-- Events by id, apart from those by place. An index that begins with the stream as well was taken for the place of an
-- event while Postgres had no statistics of a young log: each event then cost a walk through its whole stream.
CREATE UNIQUE INDEX events_by_id ON mnemolog.events (event_id, tenant, stream);
DROP INDEX mnemolog.events_event_id;
ALTER INDEX mnemolog.events_by_id RENAME TO events_event_id;
