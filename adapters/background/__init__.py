"""One engine for all programs on a data directory, in its own process, which the first program starts."""
