"""What another policy would have decided over a recorded stream, and what its readers would see (X06)."""
