"""Builders for tests: events, deciders, a clock, and a log and a store in memory."""
