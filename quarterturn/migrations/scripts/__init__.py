"""Alembic's scripts: how it reaches the database, all tables, and the revisions."""
