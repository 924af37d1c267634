"""Artifacts: their bytes in the blob store, and the extraction of their text."""
