"""Verbs of set-up: the home, its keys, tokens, models, approvals, backups and the service."""
