"""State kind: git repositories."""
