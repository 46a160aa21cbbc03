"""State kind: Redis keys, as a snapshot document."""
