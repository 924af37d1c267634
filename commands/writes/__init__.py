"""Writes: what each command means, over a log and a handler."""
