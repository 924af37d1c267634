"""The messages of conversations (E §2)."""
