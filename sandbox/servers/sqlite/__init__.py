"""The SQLite server: everything about it."""
