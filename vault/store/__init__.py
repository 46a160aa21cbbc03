"""Stored state of the vault: sealed tasks and secrets, the access log, and the rows of the public log."""
