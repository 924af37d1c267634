"""The interfaces of other memory packages, answered by this engine."""
