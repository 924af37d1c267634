"""The libraries of agents: reading documents into chunks (A §2.4)."""
