"""Export and import: a user's whole stream as JSON Lines, and what other systems export (X17)."""
