"""Knowledge graphs (JSON lines)."""
