"""Benchmarks: `python -m tests.bench.NAME` prints a table, and one JSON object as its last line."""
