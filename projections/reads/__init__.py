"""Reads: what each question means, over projections at a moment."""
