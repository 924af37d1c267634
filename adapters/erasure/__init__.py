"""Erasure beyond the log: clearing projections and other stores, and the proof (X07, X16)."""
