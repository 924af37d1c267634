"""The process of a background engine: from its start to its end, and the commands that it runs for others."""
