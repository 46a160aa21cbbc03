"""Runs a submission behind a wall, and scores it."""
