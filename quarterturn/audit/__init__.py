"""Following a log, checking the access log, and the plumbing verbs."""
