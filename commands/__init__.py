"""The write side: one decider per subject, and the handler that runs it against the log."""
