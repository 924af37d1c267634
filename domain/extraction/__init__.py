"""What a user's plain English sentences say, found by rules: facts, their ends and their dates (B13, E06)."""
