"""Projections as an engine runs them: stores, workers, rebuilds, upgrades."""
