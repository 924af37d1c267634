"""The profile: what a user said of himself, what he has yet to agree to, his todos, and how he was seeded."""
