"""The history of each memory, entity and fact (B §8)."""
