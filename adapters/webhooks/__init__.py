"""Webhooks: changes of users, sent to URLs, signed and retried (ADR 84)."""
