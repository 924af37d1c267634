"""Verification: anchors over the log, and detection of tampering (X08)."""
