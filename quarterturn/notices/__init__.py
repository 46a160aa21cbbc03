"""Notices to maintainers: the outbox and its channels."""
