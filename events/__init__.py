"""Events: event types, envelope, versions and upcasters, codec, and the EventLog protocol."""
