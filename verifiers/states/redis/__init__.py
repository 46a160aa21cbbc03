"""Redis keys, as their reader wrote them down."""
