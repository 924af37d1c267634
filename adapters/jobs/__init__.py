"""Durable jobs: enqueued in Postgres, fetched by workers, retried until they succeed or fail for good (ADR 47)."""
