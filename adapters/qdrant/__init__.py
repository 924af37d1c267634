"""Qdrant: nearest neighbours from a server of its own, for users with very many memories."""
