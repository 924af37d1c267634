"""Erasure beyond the log and the projections: what is swept, and the proof that nothing can be read (X07, X16)."""
