"""The filesystem server: everything about it."""
