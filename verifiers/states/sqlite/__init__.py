"""SQLite database files."""
