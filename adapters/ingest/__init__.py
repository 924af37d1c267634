"""Ingest: conversations from files, through the same subject that every producer uses."""
