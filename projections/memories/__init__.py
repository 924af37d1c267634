"""Memories as they read now: rows, links and full text."""
