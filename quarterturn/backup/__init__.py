"""Backups: taking them, restoring them, and all rows as one SQLite file."""
