"""The vector index over memories: an index, never the truth (A §5)."""
