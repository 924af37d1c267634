"""Backups: one file with everything that cannot be rebuilt, and its restore (X23)."""
