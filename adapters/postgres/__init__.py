"""Postgres: the event log with its neighbours, its migrations, and where projections keep their rows."""
