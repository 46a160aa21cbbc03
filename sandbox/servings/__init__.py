"""Servings: one task for one agent, as a runner is given it, plays it, and hands in what was left."""
