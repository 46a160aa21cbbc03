"""Hostile agents, one per function; each is played like a submission, and judged from outside."""
