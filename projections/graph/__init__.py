"""The graph: who and what a user speaks of."""
