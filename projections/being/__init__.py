"""The stores of beings (C15)."""
