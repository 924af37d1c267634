"""Backups: one file that holds all that cannot be rebuilt, and a new engine made of it (X23)."""
