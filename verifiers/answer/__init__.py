"""Predicates over the text that the agent gave at the end."""
