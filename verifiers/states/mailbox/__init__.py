"""Mail (Maildir)."""
