"""PostgreSQL databases, as their reader wrote them down."""
