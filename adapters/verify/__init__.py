"""Verification: anchors over the log, and the search for whatever was changed behind the engine's back (X08)."""
