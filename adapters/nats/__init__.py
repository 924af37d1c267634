"""NATS JetStream: carries events to projectors and turns from producers. Postgres holds the truth (design §4)."""
