"""Reads in an engine: waiting, limits, replays, repairs."""
