"""The GitHub server: everything about it."""
