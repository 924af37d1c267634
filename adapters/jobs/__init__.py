"""Durable jobs: queued in Postgres, fetched by workers, retried until they succeed or fail (ADR 47)."""
