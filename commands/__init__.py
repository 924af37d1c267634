"""What may be asked: one decider a subject, and the handler that runs it against the log."""
