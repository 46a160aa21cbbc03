"""Verbs `measure` and `ratings`."""
