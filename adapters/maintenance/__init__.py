"""Scheduled maintenance: retention, expiry of proposals, the patrol."""
