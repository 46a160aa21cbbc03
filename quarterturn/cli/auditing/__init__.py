"""Verbs of the auditor, of witnesses, and plumbing."""
