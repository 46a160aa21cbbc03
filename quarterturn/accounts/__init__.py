"""Accounts, tokens and roles: who may ask."""
