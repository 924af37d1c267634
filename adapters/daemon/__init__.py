"""The process of a background engine, and the commands that it runs for other programs."""
