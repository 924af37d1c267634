"""The read side: one folder per read model, with its tables, projector and reader."""
