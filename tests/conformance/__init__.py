"""The official client conformance suite, and a client on the pool for it."""
