"""Threads, sessions and episodes: where each conversation was divided, and why."""
