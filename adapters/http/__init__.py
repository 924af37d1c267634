"""The HTTP API: routes over one engine, and the server that runs them."""
