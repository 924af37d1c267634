"""Memories: rows, links and full text."""
