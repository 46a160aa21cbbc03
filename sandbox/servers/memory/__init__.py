"""The memory server: everything about it."""
