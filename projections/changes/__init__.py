"""Changes by thread and revision: the source of delta headers (B §1)."""
