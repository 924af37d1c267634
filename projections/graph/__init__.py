"""The graph: entities and facts."""
