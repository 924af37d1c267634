"""Projections in an engine: stores, workers, rebuilds, upgrades."""
