"""mem0: a store of its own, which a projection keeps like the log (E08)."""
