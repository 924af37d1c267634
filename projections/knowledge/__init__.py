"""The library of an agent: documents and their chunks (A §2.4)."""
