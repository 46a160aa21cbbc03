"""State kind: PostgreSQL databases, as a snapshot document."""
