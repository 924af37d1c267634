"""Postgres: the event log and related tables, migrations, and the stores of projections."""
