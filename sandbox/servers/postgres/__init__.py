"""The PostgreSQL server: everything about it."""
