"""What can have happened: event types, envelope, versions and upcasters, codec, and the EventLog protocol."""
