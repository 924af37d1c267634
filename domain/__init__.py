"""The rules: pure functions and frozen values. No I/O, no clock, no randomness: time and ids are passed in."""
