"""Summaries of conversations (D, E §3)."""
