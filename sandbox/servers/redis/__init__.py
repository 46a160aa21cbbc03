"""The Redis server: everything about it."""
