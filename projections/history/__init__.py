"""The audit of each memory: every write that touched it (B §8)."""
