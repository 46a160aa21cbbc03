"""State kind: files and folders."""
