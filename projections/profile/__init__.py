"""The profile: fields, proposals, todos and seeds."""
