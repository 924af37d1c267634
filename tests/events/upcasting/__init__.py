"""A worked example: a made-up event from version 1 to 3, with a sample of each (docs/how-to/change-an-event.md)."""
