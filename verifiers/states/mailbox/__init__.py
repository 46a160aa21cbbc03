"""State kind: mail (Maildir)."""
