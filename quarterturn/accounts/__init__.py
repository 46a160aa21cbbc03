"""Accounts, tokens and roles: who may call the service."""
