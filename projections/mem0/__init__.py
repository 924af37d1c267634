"""What a mem0 store is to hold of a user's memory, and the projection that keeps it so (E08)."""
