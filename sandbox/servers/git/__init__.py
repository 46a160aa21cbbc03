"""The git server: everything about it."""
