"""Working memory: the session of each user, agent and chat, in Redis (A §2.1, A04)."""
