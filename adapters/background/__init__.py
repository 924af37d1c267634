"""One engine for all programs on a data directory: a process of its own, which the first of them starts."""
