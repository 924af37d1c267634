"""What is read: one folder a read model, each with its tables, its projector and its reader."""
