"""Predicates over the agent's final answer."""
