"""Checkpoints of graphs: stored beside the log, sealed with keys that the log destroys (B15, ADR 54)."""
