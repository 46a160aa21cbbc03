"""The spreadsheet server: everything about it."""
