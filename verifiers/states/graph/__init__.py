"""State kind: knowledge graphs (JSON lines)."""
