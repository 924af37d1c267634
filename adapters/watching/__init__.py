"""Watchers of a user's changes."""
