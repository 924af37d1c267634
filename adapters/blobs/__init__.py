"""The blob store: the encrypted bytes of artifacts, in a directory or in a bucket of an S3-compatible server."""
