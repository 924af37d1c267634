"""What a search reads: a source for each kind of thing that is known."""
