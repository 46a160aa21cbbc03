"""Log monitor, check of the access log, and plumbing verbs."""
