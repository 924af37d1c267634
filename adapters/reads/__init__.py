"""Reads as an engine runs them: waits, limits, replays, healing."""
