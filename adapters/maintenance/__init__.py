"""What an engine does by the clock: retention, expiry of proposals, the patrol."""
