"""The calendar server: everything about it."""
