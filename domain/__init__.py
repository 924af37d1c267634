"""Domain rules: pure functions and frozen values. No I/O, clock or randomness: time and ids are passed in."""
