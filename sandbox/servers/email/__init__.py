"""The email server: everything about it."""
