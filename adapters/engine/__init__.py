"""The engine: everything wired together, started and stopped in one place."""
