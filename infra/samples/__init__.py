"""Conversations of our own, for the demo and the docs."""
