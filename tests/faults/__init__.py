"""Faults: what is killed, lost or doubled, and what must hold afterwards."""
