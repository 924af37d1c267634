"""The engine: wiring, start and stop."""
