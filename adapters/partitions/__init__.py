"""The log's large tables, divided into partitions by the hash of the stream (ADR 87)."""
