"""State kind: SQLite database files."""
